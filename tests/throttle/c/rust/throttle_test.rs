//! The crate against a planted database, and against the `rocksdb` crate.
use rocksdb::{Options, DB};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe::Receiver;
use weir_throttle::{Error, Refused, Setup, Throttle, WorkClass};

const OPTIONS: &str = "[CFOptions \"default\"]\n  write_buffer_size=1048576\n[CFOptions \"tags\"]\n";
const TARGET: &str = "WEIR_RATE_LIMIT_TARGET_MEMORY_MB";

/// A database that answers as the test says; an idle one until then.
#[derive(Clone, Default)]
struct Planted {
    answers: Arc<Mutex<HashMap<String, String>>>,
    calls: Arc<AtomicUsize>,
}

impl Planted {
    fn plant(&self, property: &str, answer: &str) {
        self.answers.lock().unwrap().insert(property.into(), answer.into());
    }

    fn read(&self, property: &str) -> Option<String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let planted = self.answers.lock().unwrap().get(property).cloned();
        let idle = if property.contains("stats") { "" } else { "0" };
        match planted.as_deref().unwrap_or(idle) {
            "none" => None,
            "panic" => panic!("the reader panics, as the test wants"),
            answer => Some(answer.into()),
        }
    }

    fn attach(&self, setup: Setup) -> Result<Throttle, Error> {
        let planted = self.clone();
        Throttle::attach(setup, move |_, property| planted.read(property))
    }
}

fn idle() -> Setup {
    Setup::options(OPTIONS).set(TARGET, "100000")
}

/// The memory of this process is an emergency: bulk writes wait.
fn emergency(setup: Setup) -> Throttle {
    Box::leak(vec![1u8; 8 << 20].into_boxed_slice()); // a process may have less than the target
    let throttle = Planted::default().attach(setup.set(TARGET, "1")).unwrap();
    eventually(|| throttle.view().contains("\"emergency\":true"));
    throttle
}

fn eventually(mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "did not come true in a minute");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the level of a signal in the view; 0 if there is none.
fn level(throttle: &Throttle, signal: &str) -> f64 {
    let view = throttle.view();
    let number = view.split(&format!("\"{signal}\":")).nth(1).and_then(|rest| rest.split([',', '}']).next());
    number.map_or(0.0, |number| number.parse().unwrap())
}

fn message<T>(result: Result<T, Error>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn admits_at_once_while_the_database_is_idle() {
    let throttle = Planted::default().attach(idle()).unwrap();
    for class in [WorkClass::Interactive, WorkClass::Bulk] {
        assert_eq!(throttle.admit(100, class), Ok(()));
        assert_eq!(throttle.try_admit(100, class), Ok(()));
        assert_eq!(throttle.admit_within(100, class, 7, Duration::from_secs(1)), Ok(()));
        assert_eq!(throttle.ask(100, class, 7).poll(), Some(Ok(())));
    }
}

#[test]
fn a_full_level_0_makes_bulk_work_wait() {
    let planted = Planted::default();
    let throttle = planted.attach(idle()).unwrap();
    planted.plant("rocksdb.num-files-at-level0", "30");
    eventually(|| level(&throttle, "l0") > 1.0 && throttle.view().contains("\"open\":false"));
    assert!(throttle.try_admit(1 << 20, WorkClass::Bulk).is_err());
    planted.plant("rocksdb.num-files-at-level0", "0");
    eventually(|| throttle.try_admit(100, WorkClass::Bulk).is_ok());
}

#[test]
fn refuses_work_that_would_wait_too_long_and_says_why() {
    let throttle = emergency(Setup::options(OPTIONS).set("WEIR_IMPORT_MAX_DELAY_MS", "200"));
    for refused in [throttle.admit(100, WorkClass::Bulk), throttle.try_admit(100, WorkClass::Bulk)] {
        let Err(Refused::Busy { reason, retry_after }) = refused else { panic!("{refused:?}") };
        assert_eq!(reason, "emergency");
        assert!(retry_after > Duration::ZERO);
    }
    let too_large = throttle.admit(u64::MAX, WorkClass::Interactive);
    assert!(matches!(too_large, Err(Refused::TooLarge { .. })), "{too_large:?}");
    assert_eq!(throttle.admit(100, WorkClass::Interactive), Ok(()));
}

#[test]
fn a_dropped_throttle_refuses_what_waits() {
    let throttle = emergency(Setup::options(OPTIONS));
    let asked_by_a_thread_that_ended =
        thread::scope(|scope| scope.spawn(|| throttle.ask(100, WorkClass::Bulk, 1)).join().unwrap());
    assert_eq!(asked_by_a_thread_that_ended.poll(), None);
    assert_eq!(asked_by_a_thread_that_ended.wait_for(Duration::from_millis(1)), None);
    let waits = throttle.ask(100, WorkClass::Bulk, 2);
    let waiting = thread::spawn(move || waits.wait());
    drop(throttle);
    assert!(matches!(waiting.join().unwrap(), Err(Refused::Busy { .. })));
    assert!(matches!(asked_by_a_thread_that_ended.wait(), Err(Refused::Busy { .. })), "a ticket outlives its throttle");
}

#[test]
fn many_threads_may_ask_at_once_and_end() {
    let throttle = emergency(Setup::options(OPTIONS).set("WEIR_IMPORT_MAX_DELAY_MS", "300"));
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                assert_eq!(throttle.admit(100, WorkClass::Interactive), Ok(()));
                refused.fetch_add(usize::from(throttle.admit(100, WorkClass::Bulk).is_err()), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(refused.load(Ordering::Relaxed), 20);
}

#[test]
fn a_reader_that_fails_or_panics_loses_the_sensor_and_no_more() {
    let planted = Planted::default();
    let throttle = planted.attach(idle()).unwrap();
    for answer in ["none", "panic", "soon", &"9".repeat(100_000)] {
        planted.plant("rocksdb.is-write-stopped", answer);
        eventually(|| throttle.view().contains("rocksdb.is-write-stopped"));
        assert_eq!(throttle.admit(100, WorkClass::Interactive), Ok(()));
        planted.plant("rocksdb.is-write-stopped", "0");
        eventually(|| throttle.view().contains("\"sensor_error\":\"\""));
    }
    planted.plant("rocksdb.is-write-stopped", "panic");
    assert!(message(planted.attach(idle())).contains("does not answer rocksdb.is-write-stopped"));
}

#[test]
fn the_reader_is_not_called_after_the_drop() {
    let planted = Planted::default();
    let throttle = planted.attach(idle()).unwrap();
    let before = planted.calls.load(Ordering::Relaxed);
    eventually(|| planted.calls.load(Ordering::Relaxed) > before);
    drop(throttle);
    assert_eq!(Arc::strong_count(&planted.calls), 1, "the reader is gone");
}

#[test]
fn tells_the_log_of_a_brake_and_survives_its_panic() {
    let (planted, heard) = (Planted::default(), Arc::new(AtomicUsize::new(0)));
    let told = Arc::clone(&heard);
    let setup = idle().log(move |sentence| {
        told.fetch_add(usize::from(sentence.contains("RocksDB stops writes")), Ordering::Relaxed);
        panic!("the log panics, as the test wants");
    });
    let throttle = planted.attach(setup).unwrap();
    eventually(|| throttle.view().contains("\"l0\""));
    planted.plant("rocksdb.is-write-stopped", "1");
    eventually(|| heard.load(Ordering::Relaxed) > 0);
    assert_eq!(throttle.admit(100, WorkClass::Interactive), Ok(()));
}

#[test]
fn a_mistake_in_the_setup_is_named() {
    let attach = |setup| message(Planted::default().attach(setup));
    assert!(attach(idle().set("WEIR_RATE_LIMIT_SETPONT", "0.5")).contains("WEIR_RATE_LIMIT_SETPOINT"));
    assert!(attach(idle().set("WEIR_RATE_LIMIT_SETPOINT", "hi\0gh")).contains("zero byte"));
    assert!(attach(idle().family("tags")).is_empty());
    assert!(attach(idle().family("none")).contains("no column family none"));
    assert!(attach(Setup::options("hello")).contains("CFOptions"));
    assert!(attach(Setup::directory("/nowhere/at/all")).contains("/nowhere/at/all"));
}

#[test]
fn a_runtime_waits_for_many_tickets_in_one_thread() {
    let throttle = emergency(Setup::options(OPTIONS).set("WEIR_IMPORT_MAX_DELAY_MS", "300"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let tickets: Vec<_> = (0..50).map(|client| throttle.ask(100, WorkClass::Bulk, client)).collect();
        for ticket in &tickets {
            let readable = ticket.ready_fd().unwrap().try_clone_to_owned().unwrap();
            Receiver::from_owned_fd(readable).unwrap().readable().await.unwrap();
            assert!(matches!(ticket.poll(), Some(Err(Refused::Busy { .. }))));
        }
    });
}

/// The test below runs this program again with this variable.
const WAITS: &str = "WEIR_TEST_WAITS";

#[test]
fn a_process_may_end_while_its_threads_wait() {
    if std::env::var_os(WAITS).is_some() {
        let throttle: &'static Throttle = Box::leak(Box::new(emergency(Setup::options(OPTIONS))));
        for _ in 0..3 {
            thread::spawn(|| throttle.admit(100, WorkClass::Bulk));
        }
        let ticket = throttle.ask(100, WorkClass::Bulk, 1);
        eventually(|| ticket.poll().is_none());
        std::process::exit(7);
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "a_process_may_end_while_its_threads_wait", "--nocapture"]).env(WAITS, "1");
    assert_eq!(again.status().unwrap().code(), Some(7));
}

/// A database of the `rocksdb` crate, with a column family beside the default one.
struct Real {
    db: Option<Arc<DB>>,
    path: PathBuf,
}

impl Real {
    fn open(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("weir-throttle-{name}-{}", std::process::id()));
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_write_buffer_size(1 << 20);
        options.set_max_write_buffer_number(8);
        options.set_ratelimiter(1 << 20, 100_000, 10); // so that memtables can be seen before they are flushed
        Self { db: Some(Arc::new(DB::open_cf(&options, &path, ["tags"]).unwrap())), path }
    }

    fn attach(&self, setup: Setup) -> Result<Throttle, Error> {
        let db = Arc::clone(self.db.as_ref().unwrap());
        Throttle::attach(setup, move |family, property| {
            db.property_value_cf(db.cf_handle(family)?, property).ok().flatten()
        })
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        self.db = None;
        let _ = DB::destroy(&Options::default(), &self.path);
    }
}

#[test]
fn watches_the_column_families_of_a_real_database() {
    let real = Real::open("families");
    let setup = || Setup::directory(&real.path).family("default").family("tags");
    let throttle = real.attach(setup()).unwrap();
    let db = real.db.as_ref().unwrap();
    let tags = db.cf_handle("tags").unwrap();
    eventually(|| {
        db.put_cf(tags, "key", vec![b'x'; 200 << 10]).unwrap();
        level(&throttle, "memtables") > 0.0
    });

    assert!(message(real.attach(setup())).contains("has a throttle already"));
    drop(throttle);
    assert_eq!(message(real.attach(setup())), "");
}

#[test]
fn moves_the_brakes_of_a_real_database_and_gives_them_back() {
    let real = Real::open("brakes");
    let trigger = || {
        let newest = std::fs::read_dir(&real.path).unwrap().map(|entry| entry.unwrap().path());
        let newest = newest.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-")).max();
        let options = std::fs::read_to_string(newest.unwrap()).unwrap();
        let line = options.lines().find(|line| line.contains("level0_slowdown_writes_trigger=")).unwrap();
        line.split('=').nth(1).unwrap().parse::<i32>().unwrap()
    };
    let own = trigger();
    let db = Arc::clone(real.db.as_ref().unwrap());
    let setup = Setup::directory(&real.path).move_brakes(move |_, options| db.set_options(options).is_ok());
    let throttle = real.attach(setup).unwrap();
    assert!(trigger() > own);
    drop(throttle);
    assert_eq!(trigger(), own);

    let panics = Setup::directory(&real.path).move_brakes(|_, _| panic!("the setter panics, as the test wants"));
    assert_ne!(message(real.attach(panics)), "");
}

#[test]
fn the_database_lives_as_long_as_the_reader_that_owns_it() {
    let mut real = Real::open("closed");
    let throttle = real.attach(Setup::directory(&real.path)).unwrap();
    let db = Arc::downgrade(&real.db.take().unwrap());
    assert!(db.upgrade().is_some());
    assert_eq!(throttle.admit(100, WorkClass::Bulk), Ok(()));
    drop(throttle);
    assert!(db.upgrade().is_none());
}
