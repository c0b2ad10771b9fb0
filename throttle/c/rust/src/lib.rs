#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod ffi;
mod refused;
mod setup;
mod ticket;

pub use refused::Refused;
pub use setup::Setup;
pub use ticket::Ticket;

use std::ffi::{c_char, c_int, c_void, CStr};
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Says how long work may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum WorkClass {
    /// A client awaits the result: waits at most a second, unless a setting says otherwise.
    Interactive = 0,
    /// An import, a backfill: waits at most a minute, and so leaves the database to the others.
    Bulk = 1,
}

/// Says why no throttle could be attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Keeps a RocksDB from slowing its writers down: each write asks first, and waits just long enough.
///
/// Any thread may call any function. To drop the throttle ends all waits by a refusal, and waits for a call of the
/// reader that runs; after that the reader and the function for the log are not called any more.
pub struct Throttle {
    handle: u64,
    callbacks: *mut Callbacks,
}

// The callbacks are called by one thread of the library at a time, and no function of Throttle touches them.
unsafe impl Send for Throttle {}
unsafe impl Sync for Throttle {}

struct Callbacks {
    reader: Reader,
    log: Option<setup::Log>,
    set_options: Option<setup::SetOptions>,
}
type Reader = Box<dyn Fn(&str, &str) -> Option<String> + Send>;

impl Throttle {
    /// Attaches a throttle to the open database whose properties `reader` reads: by the name of a column family and
    /// that of a property, such as `rocksdb.num-files-at-level0`, as `property_value_cf` does. `None` means that the
    /// database does not answer, and so does a panic. The reader is called by a thread of the library, one call at a
    /// time. It must not drop the throttle.
    ///
    /// Returns an error if a setting is wrong, if the database or its options cannot be read, or if the database has
    /// a throttle already.
    pub fn attach(
        mut setup: Setup,
        reader: impl Fn(&str, &str) -> Option<String> + Send + 'static,
    ) -> Result<Self, Error> {
        let said = setup::Said::new(&setup)?;
        let (log, set_options) = (setup.log.take(), setup.set_options.take());
        let callbacks = Box::into_raw(Box::new(Callbacks { reader: Box::new(reader), log, set_options }));
        let context: *mut c_void = callbacks.cast();
        let handle = unsafe {
            if (*callbacks).log.is_some() {
                ffi::weir_setup_log(said.0, tell, context);
            }
            if (*callbacks).set_options.is_some() {
                ffi::weir_setup_set_options(said.0, set_options_of, context);
            }
            ffi::weir_attach(said.0, read, context)
        };
        if handle == 0 {
            let error = Error(last_error());
            drop(unsafe { Box::from_raw(callbacks) });
            return Err(error);
        }
        Ok(Self { handle, callbacks })
    }

    /// Asks for the admission of a write of so many bytes, and waits for it, at most for the longest wait of its class.
    /// Threads that wait get equal shares.
    pub fn admit(&self, bytes: u64, class: WorkClass) -> Result<(), Refused> {
        self.ask_library(bytes, class, this_thread(), ffi::PATIENT)
    }

    /// Does the same for one of the clients of the program, and waits at most this time.
    pub fn admit_within(&self, bytes: u64, class: WorkClass, client: u64, timeout: Duration) -> Result<(), Refused> {
        self.ask_library(bytes, class, client, milliseconds(timeout))
    }

    /// Admits the write at once, or refuses it if it would wait.
    pub fn try_admit(&self, bytes: u64, class: WorkClass) -> Result<(), Refused> {
        self.ask_library(bytes, class, this_thread(), 0)
    }

    fn ask_library(&self, bytes: u64, class: WorkClass, client: u64, timeout_ms: i64) -> Result<(), Refused> {
        Refused::check(unsafe { ffi::weir_admit(self.handle, ffi::WRITE, class as c_int, bytes, client, timeout_ms) })
    }

    /// Asks without waiting, for one of the clients of the program. Clients that wait get equal shares.
    pub fn ask(&self, bytes: u64, class: WorkClass, client: u64) -> Ticket {
        Ticket(unsafe { ffi::weir_ask(self.handle, ffi::WRITE, class as c_int, bytes, client) })
    }

    /// Returns the state of the throttle as a JSON object: the levels of the database, the limits and their reasons.
    pub fn view(&self) -> String {
        let mut buffer = vec![0u8; 4096];
        loop {
            let length = unsafe { ffi::weir_view(self.handle, buffer.as_mut_ptr().cast(), buffer.len()) };
            if length < buffer.len() {
                buffer.truncate(length);
                return String::from_utf8_lossy(&buffer).into_owned();
            }
            buffer.resize(2 * length, 0);
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        unsafe {
            ffi::weir_close(self.handle);
            drop(Box::from_raw(self.callbacks));
        }
    }
}

impl fmt::Debug for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Throttle").field(&self.view()).finish()
    }
}

// A panic that left one of these functions would end the process.
unsafe extern "C" fn read(
    context: *mut c_void,
    family: *const c_char,
    property: *const c_char,
    buffer: *mut c_char,
    capacity: usize,
) -> i64 {
    let callbacks = &*context.cast::<Callbacks>();
    let (family, property) = (text(family), text(property));
    let Ok(Some(value)) = catch_unwind(AssertUnwindSafe(|| (callbacks.reader)(&family, &property))) else {
        return -1;
    };
    std::ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len().min(capacity));
    value.len() as i64
}

unsafe extern "C" fn tell(context: *mut c_void, sentence: *const c_char) {
    let callbacks = &*context.cast::<Callbacks>();
    let sentence = text(sentence);
    let _ = catch_unwind(AssertUnwindSafe(|| callbacks.log.as_ref().map(|log| log(&sentence))));
}

unsafe extern "C" fn set_options_of(
    context: *mut c_void,
    family: *const c_char,
    count: usize,
    names: *const *const c_char,
    values: *const *const c_char,
) -> c_int {
    let callbacks = &*context.cast::<Callbacks>();
    let family = text(family);
    let texts: Vec<_> = (0..count).map(|n| (text(*names.add(n)), text(*values.add(n)))).collect();
    let options: Vec<_> = texts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let set = || callbacks.set_options.as_ref().is_some_and(|set| set(&family, &options));
    c_int::from(!catch_unwind(AssertUnwindSafe(set)).unwrap_or(false))
}

unsafe fn text(string: *const c_char) -> String {
    CStr::from_ptr(string).to_string_lossy().into_owned()
}

/// Returns why the last call of this thread did not return OK.
fn last_error() -> String {
    unsafe { text(ffi::weir_error()) }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a number for this thread.
fn this_thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local!(static OWN: u64 = LAST.fetch_add(1, Ordering::Relaxed) + 1);
    OWN.with(|own| *own)
}
