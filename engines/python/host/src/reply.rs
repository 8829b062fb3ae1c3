//! Where a call leaves what it has to say. Calls and replies happen on one thread.

use std::cell::RefCell;

thread_local! {
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn put(bytes: &[u8]) {
    REPLY.with_borrow_mut(|reply| {
        reply.clear();
        reply.extend_from_slice(bytes);
    });
}

pub(crate) fn take() -> Vec<u8> {
    REPLY.take()
}
