//! Cancellation: one flag that wakes everything that waits.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between a signal handler and the run. Once set it stays set.
#[derive(Clone, Debug)]
pub struct Cancel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    set: AtomicBool,
    event: OwnedFd,
}

impl Cancel {
    /// Not cancelled.
    pub fn new() -> std::io::Result<Self> {
        // SAFETY: eventfd takes no pointers; the result is checked before it is owned.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: `fd` is a fresh descriptor that nothing else owns.
        let event = unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) };
        Ok(Self { inner: Arc::new(Inner { set: AtomicBool::new(false), event }) })
    }

    /// Cancels. Safe to call from a signal handler: an atomic store and a `write`.
    pub fn cancel(&self) {
        self.inner.set.store(true, Ordering::SeqCst);
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes 8 bytes from a live buffer to a descriptor that this value owns.
        unsafe { libc::write(self.raw(), one.as_ptr().cast(), 8) };
    }

    /// Whether it was cancelled.
    pub fn is_set(&self) -> bool {
        self.inner.set.load(Ordering::SeqCst)
    }

    /// Readable once cancelled; never read, so it wakes every waiter.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.inner.event.as_fd()
    }

    fn raw(&self) -> RawFd {
        self.inner.event.as_raw_fd()
    }
}
