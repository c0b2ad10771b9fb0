use crate::{ffi, last_error};
use std::ffi::c_int;
use std::fmt;
use std::time::Duration;

/// Work was not admitted: do not do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It would wait, or has waited, longer than it may. Try again after that time.
    Busy {
        /// Says why it waits.
        reason: String,
        /// The time after which to try again.
        retry_after: Duration,
    },
    /// Its size cannot be admitted within the longest wait. Split it.
    TooLarge {
        /// Says how much could be admitted.
        reason: String,
    },
}

impl Refused {
    /// Returns what the code of this thread's last call means.
    pub(crate) fn check(code: c_int) -> Result<(), Self> {
        match code {
            ffi::OK => Ok(()),
            ffi::TOO_LARGE => Err(Self::TooLarge { reason: last_error() }),
            _ => {
                let retry_ms = unsafe { ffi::weir_retry_ms() }.max(0);
                Err(Self::Busy { reason: last_error(), retry_after: Duration::from_millis(retry_ms as u64) })
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { reason, retry_after } => write!(f, "busy: {reason}; try again after {retry_after:?}"),
            Self::TooLarge { reason } => write!(f, "too large: {reason}; split it"),
        }
    }
}

impl std::error::Error for Refused {}
