//! A bulk load beside interactive reads and writes of one RocksDB, without weir and then with it.
//!
//! `cargo run --example bulk_load [SECONDS]` prints how much the load wrote, how long the slowest interactive write took,
//! and for how long RocksDB made writers wait. Flushes and compactions may write 8 MiB/s, as on a slow disk.
use rocksdb::{DBCompressionType, Options, WriteBatch, DB};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use weir_throttle::{Setup, Throttle, WorkClass};

const VALUE_BYTES: usize = 1000;
const BATCH: usize = 16;

/// Writes random values under random keys.
struct Writer {
    db: Arc<DB>,
    throttle: Option<Arc<Throttle>>,
    class: WorkClass,
    random: u64,
    noise: Vec<u8>, // has the values
}

impl Writer {
    fn new(db: &Arc<DB>, throttle: &Option<Arc<Throttle>>, class: WorkClass, random: u64) -> Self {
        let mut writer = Self { db: Arc::clone(db), throttle: throttle.clone(), class, random, noise: Vec::new() };
        writer.noise = (0..1 << 17).flat_map(|_| writer.next().to_ne_bytes()).collect();
        writer
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Returns how many bytes it wrote: none if it was refused.
    fn write(&mut self, values: usize) -> Result<usize, rocksdb::Error> {
        let mut batch = WriteBatch::default();
        for _ in 0..values {
            let begin = self.next() as usize % (self.noise.len() - VALUE_BYTES);
            batch.put(self.next().to_be_bytes(), &self.noise[begin..begin + VALUE_BYTES]);
        }
        if let Some(throttle) = &self.throttle {
            if throttle.admit(batch.size_in_bytes() as u64, self.class).is_err() {
                return Ok(0); // a program would try again after Refused::Busy::retry_after
            }
        }
        self.db.write(batch)?;
        Ok(values * VALUE_BYTES)
    }
}

fn slow_engine() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(4 << 20);
    options.set_max_write_buffer_number(8);
    options.set_level_zero_file_num_compaction_trigger(4);
    options.set_level_zero_slowdown_writes_trigger(12);
    options.set_level_zero_stop_writes_trigger(20);
    options.set_max_bytes_for_level_base(32 << 20);
    options.set_target_file_size_base(4 << 20);
    options.set_ratelimiter(8 << 20, 100_000, 10);
    options.enable_statistics();
    options
}

/// Returns for how many milliseconds RocksDB made writers wait, by its own counter.
fn stalled_ms(options: &Options) -> u64 {
    let statistics = options.get_statistics().unwrap_or_default();
    let counter = statistics.lines().find_map(|line| line.strip_prefix("rocksdb.stall.micros COUNT : "));
    counter.and_then(|count| count.parse::<u64>().ok()).map_or(0, |micros| micros / 1000)
}

fn run(with_weir: bool, duration: Duration) -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("bulk-load-{}", std::process::id()));
    let options = slow_engine();
    let db = Arc::new(DB::open(&options, &directory)?);
    let throttle = if with_weir {
        let (read, set) = (Arc::clone(&db), Arc::clone(&db));
        let reader = move |_: &str, property: &str| read.property_value(property).ok().flatten();
        let setup = Setup::directory(&directory).move_brakes(move |_, options| set.set_options(options).is_ok());
        Some(Arc::new(Throttle::attach(setup, reader)?))
    } else {
        None
    };

    let over = Arc::new(AtomicBool::new(false));
    let bulk = thread::spawn({
        let (over, mut writer) = (Arc::clone(&over), Writer::new(&db, &throttle, WorkClass::Bulk, 1));
        move || -> Result<usize, rocksdb::Error> {
            let mut bytes = 0;
            while !over.load(Ordering::Relaxed) {
                bytes += writer.write(BATCH)?;
            }
            Ok(bytes)
        }
    });

    let mut interactive = Writer::new(&db, &throttle, WorkClass::Interactive, 2);
    let mut slowest = Duration::ZERO;
    let begin = Instant::now();
    while begin.elapsed() < duration {
        let asked = Instant::now();
        interactive.write(1)?;
        slowest = slowest.max(asked.elapsed());
        db.get(interactive.next().to_be_bytes())?;
        thread::sleep(Duration::from_millis(5));
    }
    over.store(true, Ordering::Relaxed);
    let bulk_bytes = bulk.join().expect("the bulk load does not panic")?;
    println!(
        "{} weir: bulk {:.1} MB/s, slowest interactive write {} ms, RocksDB stalled writers for {} ms",
        if with_weir { "with" } else { "without" },
        1e-6 * bulk_bytes as f64 / duration.as_secs_f64(),
        slowest.as_millis(),
        stalled_ms(&options)
    );
    drop((interactive, throttle, db));
    DB::destroy(&options, &directory)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(20.0), |argument| argument.parse())?;
    for with_weir in [false, true] {
        run(with_weir, Duration::from_secs_f64(seconds))?;
    }
    Ok(())
}
