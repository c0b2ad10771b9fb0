use crate::{ffi, last_error, Error};
use std::ffi::{c_int, CString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// All that a program says before it attaches a [`Throttle`](crate::Throttle).
///
/// ```
/// # use weir_throttle::Setup;
/// let setup = Setup::directory("/var/lib/my.db").set("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "1400");
/// ```
#[must_use]
pub struct Setup {
    options: Options,
    settings: Vec<(String, String)>,
    families: Vec<String>,
    pub(crate) log: Option<Log>,
    pub(crate) set_options: Option<SetOptions>,
}

pub(crate) type Log = Box<dyn Fn(&str) + Send>;
pub(crate) type SetOptions = Box<dyn Fn(&str, &[(&str, &str)]) -> bool + Send>;

enum Options {
    In(PathBuf),
    Text(String),
}

impl Setup {
    /// The open database is in this directory, whose newest OPTIONS file has its options.
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self::new(Options::In(path.into()))
    }

    /// The options are this text of an OPTIONS file, for a database whose directory cannot be read.
    pub fn options(text: impl Into<String>) -> Self {
        Self::new(Options::Text(text.into()))
    }

    fn new(options: Options) -> Self {
        Self { options, settings: Vec::new(), families: Vec::new(), log: None, set_options: None }
    }

    /// Sets a setting by its name in weir's config/SETTINGS.md. It takes precedence over the environment variable.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds a column family to those that are watched. Without this call, "default" is.
    pub fn family(mut self, name: impl Into<String>) -> Self {
        self.families.push(name.into());
        self
    }

    /// Gets sentences for the operator, such as that RocksDB brakes although writes are limited; default: stderr.
    pub fn log(mut self, log: impl Fn(&str) + Send + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    /// Lets weir move RocksDB's own brakes (level0_slowdown_writes_trigger and four more options) to higher loads until
    /// the throttle is dropped, because weir acts before them; bulk work then does more. `set` gets the name of a column
    /// family and its options, as `set_options_cf` does, and returns whether RocksDB took them.
    pub fn move_brakes(mut self, set: impl Fn(&str, &[(&str, &str)]) -> bool + Send + 'static) -> Self {
        self.set_options = Some(Box::new(set));
        self
    }
}

/// A setup of the library, which has all of a Setup but the functions of the program.
pub(crate) struct Said(pub(crate) u64);

impl Drop for Said {
    fn drop(&mut self) {
        unsafe { ffi::weir_setup_destroy(self.0) };
    }
}

impl Said {
    pub(crate) fn new(setup: &Setup) -> Result<Self, Error> {
        let said = Said(unsafe { ffi::weir_setup_create() });
        match &setup.options {
            Options::In(path) => {
                let path = c_string(path.clone().into_os_string().into_vec())?;
                check(unsafe { ffi::weir_setup_directory(said.0, path.as_ptr()) })?;
            }
            Options::Text(text) => {
                check(unsafe { ffi::weir_setup_options(said.0, text.as_ptr().cast(), text.len()) })?;
            }
        }
        for (name, value) in &setup.settings {
            let (name, value) = (c_string(name.as_str())?, c_string(value.as_str())?);
            check(unsafe { ffi::weir_setup_set(said.0, name.as_ptr(), value.as_ptr()) })?;
        }
        for name in &setup.families {
            let name = c_string(name.as_str())?;
            check(unsafe { ffi::weir_setup_family(said.0, name.as_ptr()) })?;
        }
        Ok(said)
    }
}

fn c_string(text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|e| Error(format!("a text has a zero byte, at {}", e.nul_position())))
}

fn check(code: c_int) -> Result<(), Error> {
    if code == ffi::OK {
        Ok(())
    } else {
        Err(Error(last_error()))
    }
}
