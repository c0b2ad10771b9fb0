import io.weir.throttle.BusyException;
import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import io.weir.throttle.WorkClass;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.RateLimiter;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * Runs a bulk load beside a client on one RocksDB, alone or with weir. {@code matrix} has the same program in other languages.
 *
 * <p>{@code java BulkBesideClient DIRECTORY alone|weir SECONDS VALUE_BYTES BATCH_VALUES FAMILIES} prints the milliseconds of
 * each write of the client, what else was counted, and RocksDB's own counters. Flushes and compactions may write 12 MiB/s, as
 * on a slow disk, and the load brings more.
 */
public final class BulkBesideClient {
  private static final int MIB = 1 << 20, KEY_BYTES = 16, MOST_CLIENT_BYTES = 1000;
  private static final long CLIENT_PERIOD_NS = 5_000_000;
  private static final double WARM_SECONDS = 1; // the client works for so long before the load begins, and this does not count

  private final RocksDB db;
  private final List<ColumnFamilyHandle> families;
  private final Throttle throttle; // null: none
  private final int valueBytes;
  private volatile boolean over;
  private volatile Exception loadFailed;
  private long bulkBytes;
  private int refused;

  private BulkBesideClient(RocksDB db, List<ColumnFamilyHandle> families, Throttle throttle, int valueBytes) {
    this.db = db;
    this.families = families;
    this.throttle = throttle;
    this.valueBytes = valueBytes;
  }

  public static void main(String[] arguments) throws Exception {
    double seconds = Double.parseDouble(arguments[2]);
    int batchValues = Integer.parseInt(arguments[4]);
    try (ColumnFamilyOptions small = smallEngine();
        DBOptions options = slowDisk()) {
      List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
      descriptors.add(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, small));
      for (int i = 1; i < Integer.parseInt(arguments[5]); ++i)
        descriptors.add(new ColumnFamilyDescriptor(("family" + i).getBytes(), small));
      List<ColumnFamilyHandle> families = new ArrayList<>();
      try (RocksDB db = RocksDB.open(options, arguments[0], descriptors, families)) {
        try (Throttle throttle = arguments[1].equals("weir") ? attach(db, families) : null) {
          new BulkBesideClient(db, families, throttle, Integer.parseInt(arguments[3])).run(seconds, batchValues);
        }
        families.forEach(ColumnFamilyHandle::close);
      }
    }
  }

  private static Throttle attach(RocksDB db, List<ColumnFamilyHandle> families) {
    return Throttle.attach(db, new Settings().moveBrakes(), families.toArray(new ColumnFamilyHandle[0]));
  }

  private static DBOptions slowDisk() {
    return new DBOptions()
        .setCreateIfMissing(true)
        .setCreateMissingColumnFamilies(true)
        .setRateLimiter(new RateLimiter(12 * MIB));
  }

  private static ColumnFamilyOptions smallEngine() {
    return new ColumnFamilyOptions()
        .setCompressionType(CompressionType.NO_COMPRESSION)
        .setWriteBufferSize(4 * MIB)
        .setMaxWriteBufferNumber(8)
        .setLevel0FileNumCompactionTrigger(4)
        .setLevel0SlowdownWritesTrigger(12)
        .setLevel0StopWritesTrigger(20)
        .setMaxBytesForLevelBase(32 * MIB)
        .setTargetFileSizeBase(4 * MIB);
  }

  private void run(double seconds, int batchValues) throws Exception {
    serveClient(System.nanoTime(), WARM_SECONDS);
    long begin = System.nanoTime();
    Thread load = Thread.ofPlatform().start(() -> loadInBulk(batchValues));
    List<Double> waitsMs;
    try {
      waitsMs = serveClient(begin, seconds);
    } finally {
      over = true;
      load.join();
    }
    double elapsed = 1e-9 * (System.nanoTime() - begin);
    if (loadFailed != null) throw loadFailed;
    StringBuilder line = new StringBuilder("waits_ms");
    for (double ms : waitsMs) line.append(String.format(Locale.ROOT, " %.3f", ms));
    System.out.println(line);
    System.out.printf(Locale.ROOT, "refused %d%nbulk_bytes %d%nseconds %.3f%n", refused, bulkBytes, elapsed);
    System.out.print(db.getProperty("rocksdb.dbstats"));
  }

  private void loadInBulk(int batchValues) {
    try (WriteOptions options = new WriteOptions()) {
      Noise noise = new Noise();
      int value = 0;
      while (!over) {
        try (WriteBatch batch = new WriteBatch()) {
          for (int i = 0; i < batchValues; ++i)
            batch.put(families.get(value++ % families.size()), noise.next(KEY_BYTES), noise.next(valueBytes));
          if (throttle != null) throttle.admit(batch.getDataSize(), WorkClass.BULK);
          db.write(options, batch);
          bulkBytes += (long) batchValues * valueBytes;
        } catch (BusyException e) {
          Thread.sleep(e.retryAfter().toMillis());
        }
      }
    } catch (Exception e) {
      loadFailed = e;
    }
  }

  /** Writes and reads two hundred values a second. Returns the wait of each write, which counts from when it was due. */
  private List<Double> serveClient(long begin, double seconds) throws Exception {
    Noise noise = new Noise();
    List<Double> waitsMs = new ArrayList<>();
    for (long due = begin; Math.max(due, System.nanoTime()) - begin < 1e9 * seconds; due += CLIENT_PERIOD_NS) {
      long early = due - System.nanoTime();
      if (early > 0) Thread.sleep(early / 1_000_000, (int) (early % 1_000_000));
      byte[] key = noise.next(KEY_BYTES);
      byte[] value = noise.next(Math.min(valueBytes, MOST_CLIENT_BYTES));
      try {
        if (throttle != null) throttle.admit(key.length + value.length, WorkClass.INTERACTIVE);
        db.put(key, value);
      } catch (BusyException e) {
        ++refused;
      }
      waitsMs.add(1e-6 * (System.nanoTime() - due));
      db.get(key);
    }
    return waitsMs;
  }

  /** Bytes that do not compress, and cost little to make. */
  private static final class Noise {
    private final Random random = new Random();
    private final byte[] bytes = new byte[4 * MIB];

    Noise() {
      random.nextBytes(bytes);
    }

    byte[] next(int length) {
      int begin = random.nextInt(bytes.length - length);
      return Arrays.copyOfRange(bytes, begin, begin + length);
    }
  }
}
