import io.weir.throttle.BusyException;
import io.weir.throttle.RefusedException;
import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import io.weir.throttle.WorkClass;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.rocksdb.CompressionType;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * A bulk load beside interactive reads and writes of one RocksDB, without weir and then with it.
 *
 * <p>{@code java BulkLoad.java [SECONDS]} prints how much the load wrote, how long the slowest interactive write took, and
 * for how long RocksDB made writers wait. Flushes and compactions may write 8 MiB/s, as on a slow disk.
 */
public final class BulkLoad {
  private static final int VALUE_BYTES = 1000, BATCH = 16;

  private final RocksDB db;
  private final Throttle throttle; // null: none
  private final AtomicLong bulkBytes = new AtomicLong();
  private volatile boolean over;

  private BulkLoad(RocksDB db, Throttle throttle) {
    this.db = db;
    this.throttle = throttle;
  }

  public static void main(String[] arguments) throws Exception {
    double seconds = arguments.length > 0 ? Double.parseDouble(arguments[0]) : 20;
    for (boolean withWeir : new boolean[] {false, true}) {
      Path directory = Files.createTempDirectory("bulk-load");
      try (Options options = slowEngine()) {
        run(directory, options, withWeir, seconds);
        RocksDB.destroyDB(directory.toString(), options);
      }
      Files.deleteIfExists(directory);
    }
  }

  private static void run(Path directory, Options options, boolean withWeir, double seconds) throws Exception {
    try (RocksDB db = RocksDB.open(options, directory.toString());
        Throttle throttle = withWeir ? Throttle.attach(db, new Settings().moveBrakes()) : null) {
      BulkLoad load = new BulkLoad(db, throttle);
      Thread bulk = Thread.ofPlatform().start(load::writeBulk);
      double slowestMs;
      try {
        slowestMs = load.interactive(seconds);
      } finally {
        load.over = true;
        bulk.join();
      }
      System.out.printf(
          Locale.ROOT,
          "%s weir: bulk %.1f MB/s, slowest interactive write %.0f ms, RocksDB stalled writers for %d ms%n",
          withWeir ? "with" : "without",
          1e-6 * load.bulkBytes.get() / seconds,
          slowestMs,
          options.statistics().getTickerCount(TickerType.STALL_MICROS) / 1000);
    }
  }

  private static Options slowEngine() {
    return new Options()
        .setCreateIfMissing(true)
        .setCompressionType(CompressionType.NO_COMPRESSION)
        .setWriteBufferSize(4 << 20)
        .setMaxWriteBufferNumber(8)
        .setLevel0FileNumCompactionTrigger(4)
        .setLevel0SlowdownWritesTrigger(12)
        .setLevel0StopWritesTrigger(20)
        .setMaxBytesForLevelBase(32 << 20)
        .setTargetFileSizeBase(4 << 20)
        .setRateLimiter(new RateLimiter(8 << 20))
        .setStatistics(new Statistics());
  }

  /** Writes and reads one value every 5 ms. Returns how long the slowest write took. */
  private double interactive(double seconds) throws Exception {
    Random random = new Random(2);
    long slowest = 0;
    for (long begin = System.nanoTime(); System.nanoTime() - begin < 1e9 * seconds; Thread.sleep(5)) {
      long asked = System.nanoTime();
      write(random, 1, WorkClass.INTERACTIVE);
      slowest = Math.max(slowest, System.nanoTime() - asked);
      db.get(key(random));
    }
    return 1e-6 * slowest;
  }

  private void writeBulk() {
    Random random = new Random(1);
    try {
      while (!over) bulkBytes.addAndGet(write(random, BATCH, WorkClass.BULK));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns how many bytes it wrote: none if it was refused. */
  private long write(Random random, int values, WorkClass workClass) throws RocksDBException, RefusedException {
    try (WriteBatch batch = new WriteBatch();
        WriteOptions options = new WriteOptions()) {
      byte[] value = new byte[VALUE_BYTES];
      for (int i = 0; i < values; ++i) {
        random.nextBytes(value);
        batch.put(key(random), value);
      }
      if (throttle != null) throttle.admit(batch.getDataSize(), workClass);
      db.write(options, batch);
      return (long) values * VALUE_BYTES;
    } catch (BusyException e) {
      return 0; // refused: a program would try again after e.retryAfter()
    }
  }

  private static byte[] key(Random random) {
    return ByteBuffer.allocate(4).putInt(random.nextInt()).array();
  }
}
