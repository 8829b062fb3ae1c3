//! The supervisor: the process between sim-pipe and an action's program. It reaps, and when the
//! program ends it kills everything the program left behind, so nothing outlives its action. The
//! kernel tells it when sim-pipe dies.

use std::os::fd::RawFd;

/// The supervisor: waits for the program, kills what it left, reports, ends. When its own parent dies
/// it does not wait for the program.
///
/// # Safety
/// Only in a forked child that will never return.
pub(crate) unsafe fn supervise(main: libc::pid_t, report: RawFd, parent: libc::pid_t) -> ! {
    // SAFETY: plain system calls; nothing is allocated.
    unsafe {
        // The program may signal its whole process group, which the supervisor is in.
        for signal in (1..=libc::SIGRTMAX()).filter(|s| *s != libc::SIGCHLD) {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Both events are waited for in one place, so neither can slip by between a look and a wait.
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if parent != 0 {
            libc::sigaddset(&raw mut set, libc::SIGUSR1);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        // In a pid namespace the kernel's own SIGKILL does all that is needed, and more surely.
        if parent != 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR1);
        }
        let mut orphaned = parent != 0 && libc::getppid() != parent;
        // Holding any other descriptor would keep pipes open that others wait on.
        libc::dup2(report, 0);
        libc::close_range(1, libc::c_uint::MAX, 0);
        // Until its end is seen, it counts as killed.
        let mut main_status = libc::SIGKILL;
        'wait: while !orphaned {
            loop {
                let mut status = 0;
                let pid = libc::waitpid(-1, &raw mut status, libc::WNOHANG);
                if pid == main {
                    main_status = status;
                    break 'wait;
                }
                if pid < 0 && *libc::__errno_location() != libc::EINTR {
                    break 'wait;
                }
                if pid == 0 {
                    break;
                }
            }
            libc::sigwaitinfo(&raw const set, std::ptr::null_mut());
            // Anybody can send the signal; the kernel sends it when there is another parent.
            orphaned = parent != 0 && libc::getppid() != parent;
        }
        let mut left = 0u32;
        loop {
            if libc::getpid() == 1 {
                libc::kill(-1, libc::SIGKILL);
            } else {
                kill_children();
            }
            let pid = libc::waitpid(-1, std::ptr::null_mut(), 0);
            if pid > 0 {
                left += 1;
            } else if *libc::__errno_location() != libc::EINTR {
                break;
            }
        }
        let message = [main_status.cast_unsigned(), left];
        libc::write(0, message.as_ptr().cast(), size_of_val(&message));
        libc::_exit(0);
    }
}

/// Kills every direct child of this thread. Their children become ours as they die.
///
/// # Safety
/// Async-signal-safe.
unsafe fn kill_children() {
    // SAFETY: reads into a buffer on the stack.
    unsafe {
        let fd = libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY);
        if fd < 0 {
            return;
        }
        let mut buffer = [0u8; 4096];
        let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(fd);
        let mut pid: libc::pid_t = 0;
        for byte in &buffer[..n.max(0) as usize] {
            if byte.is_ascii_digit() {
                pid = pid * 10 + libc::pid_t::from(byte - b'0');
            } else if pid > 0 {
                libc::kill(pid, libc::SIGKILL);
                pid = 0;
            }
        }
    }
}
