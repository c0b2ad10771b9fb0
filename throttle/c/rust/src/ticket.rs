use crate::{ffi, Refused};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

/// A request for admission, for loops that must not wait. To drop it gives the wait up. It may outlive its throttle.
#[must_use = "to drop it gives the wait up"]
#[derive(Debug)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// Returns the outcome; `None` while it waits.
    pub fn poll(&self) -> Option<Result<(), Refused>> {
        Self::outcome(unsafe { ffi::weir_ticket_poll(self.0) })
    }

    /// Waits for the outcome, at most for the longest wait of its class.
    pub fn wait(&self) -> Result<(), Refused> {
        Refused::check(unsafe { ffi::weir_ticket_wait(self.0, ffi::PATIENT) })
    }

    /// Waits for the outcome, at most this time; then returns `None`, and the request still waits.
    pub fn wait_for(&self, timeout: Duration) -> Option<Result<(), Refused>> {
        Self::outcome(unsafe { ffi::weir_ticket_wait(self.0, crate::milliseconds(timeout)) })
    }

    /// Returns a descriptor that can be read once the request is settled. Do not read it, and do not close it.
    pub fn ready_fd(&self) -> io::Result<BorrowedFd<'_>> {
        let descriptor: RawFd = unsafe { ffi::weir_ticket_fd(self.0) };
        if descriptor < 0 {
            return Err(io::Error::other(crate::last_error()));
        }
        // The ticket closes it, not before this borrow ends.
        Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
    }

    fn outcome(code: std::ffi::c_int) -> Option<Result<(), Refused>> {
        (code != ffi::WAITING).then(|| Refused::check(code))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        unsafe { ffi::weir_ticket_end(self.0) };
    }
}
