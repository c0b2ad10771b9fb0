//! The functions of weir.h that this crate uses.
use std::ffi::{c_char, c_int, c_void};

pub const OK: c_int = 0;
pub const TOO_LARGE: c_int = 2;
pub const WAITING: c_int = 3;

pub const WRITE: c_int = 1;
pub const PATIENT: i64 = -1;

pub type Read = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *mut c_char, usize) -> i64;
pub type Log = unsafe extern "C" fn(*mut c_void, *const c_char);
pub type SetOptions =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const *const c_char, *const *const c_char) -> c_int;

#[link(name = "weir")]
extern "C" {
    pub fn weir_error() -> *const c_char;
    pub fn weir_retry_ms() -> i64;

    pub fn weir_setup_create() -> u64;
    pub fn weir_setup_destroy(setup: u64) -> c_int;
    pub fn weir_setup_set(setup: u64, name: *const c_char, value: *const c_char) -> c_int;
    pub fn weir_setup_directory(setup: u64, path: *const c_char) -> c_int;
    pub fn weir_setup_options(setup: u64, text: *const c_char, length: usize) -> c_int;
    pub fn weir_setup_family(setup: u64, name: *const c_char) -> c_int;
    pub fn weir_setup_log(setup: u64, log: Log, context: *mut c_void) -> c_int;
    pub fn weir_setup_set_options(setup: u64, set: SetOptions, context: *mut c_void) -> c_int;
    pub fn weir_attach(setup: u64, read: Read, context: *mut c_void) -> u64;
    pub fn weir_close(throttle: u64) -> c_int;

    pub fn weir_admit(throttle: u64, operation: c_int, class: c_int, bytes: u64, party: u64, timeout_ms: i64) -> c_int;
    pub fn weir_ask(throttle: u64, operation: c_int, class: c_int, bytes: u64, party: u64) -> u64;
    pub fn weir_ticket_poll(ticket: u64) -> c_int;
    pub fn weir_ticket_wait(ticket: u64, timeout_ms: i64) -> c_int;
    pub fn weir_ticket_fd(ticket: u64) -> c_int;
    pub fn weir_ticket_end(ticket: u64) -> c_int;
    pub fn weir_view(throttle: u64, buffer: *mut c_char, capacity: usize) -> usize;
}
