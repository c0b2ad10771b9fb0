import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import io.weir.throttle.WorkClass;
import java.util.ArrayList;
import java.util.List;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.RateLimiter;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** The package on a database of rocksdbjni. */
public final class RocksDbJniTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  // Flushes are slow, so that memtables can be seen before.
  private final DBOptions options =
      new DBOptions()
          .setCreateIfMissing(true)
          .setCreateMissingColumnFamilies(true)
          .setRateLimiter(new RateLimiter(1 << 20));
  private final ColumnFamilyOptions small =
      new ColumnFamilyOptions().setWriteBufferSize(1 << 20).setMaxWriteBufferNumber(8);
  private final List<ColumnFamilyHandle> families = new ArrayList<>();
  private RocksDB db;

  @Before
  public void open() throws Exception {
    var descriptors =
        List.of(
            new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, small),
            new ColumnFamilyDescriptor("tags".getBytes(), small));
    db = RocksDB.open(options, folder.getRoot().getPath(), descriptors, families);
  }

  @After
  public void close() {
    for (ColumnFamilyHandle family : families) family.close();
    db.close();
    small.close();
    options.close();
  }

  private void writeUntilItShows(Throttle throttle, ColumnFamilyHandle family) {
    ThrottleTest.eventually(
        () -> {
          try {
            db.put(family, "key".getBytes(), new byte[200 << 10]);
          } catch (RocksDBException e) {
            throw new AssertionError(e);
          }
          return ThrottleTest.level(throttle, "memtables") > 0;
        });
  }

  @Test
  public void watchesTheDefaultColumnFamily() throws Exception {
    try (Throttle throttle = Throttle.attach(db, new Settings())) {
      writeUntilItShows(throttle, families.get(0));
    }
  }

  @Test
  public void watchesTheColumnFamiliesThatAreGiven() throws Exception {
    try (Throttle throttle = Throttle.attach(db, new Settings(), families.toArray(new ColumnFamilyHandle[0]))) {
      writeUntilItShows(throttle, families.get(1));
    }
  }

  @Test
  public void oneDatabaseHasOneThrottle() {
    Throttle first = Throttle.attach(db, new Settings());
    var thrown = assertThrows(IllegalStateException.class, () -> Throttle.attach(db, new Settings()));
    assertTrue(thrown.getMessage(), thrown.getMessage().contains("has a throttle already"));
    first.close();
    Throttle.attach(db, new Settings()).close();
  }

  @Test
  public void movesTheBrakesOfTheDatabaseAndGivesThemBack() throws Exception {
    int own = small.level0SlowdownWritesTrigger();
    try (Throttle throttle = Throttle.attach(db, new Settings().moveBrakes(), families.get(0), families.get(1))) {
      for (ColumnFamilyHandle family : families) assertTrue(slowdownTrigger(family) > own);
      throttle.admit(100, WorkClass.BULK);
    }
    for (ColumnFamilyHandle family : families) assertEquals(own, slowdownTrigger(family));
  }

  @Test
  public void aSetterThatFailsIsNamed() {
    Settings settings =
        new Settings()
            .moveBrakes(
                (family, options) -> {
                  throw new Exception("the setter fails");
                });
    assertThrows(IllegalStateException.class, () -> Throttle.attach(db, settings));
  }

  private int slowdownTrigger(ColumnFamilyHandle family) throws Exception {
    return db.getOptions(family).level0SlowdownWritesTrigger();
  }

  @Test
  public void aDatabaseThatIsClosedFirstIsALostSensor() throws Exception {
    try (Throttle throttle = Throttle.attach(db, new Settings())) {
      close();
      ThrottleTest.eventually(() -> throttle.view().contains("is the database closed?"));
      throttle.admit(100, WorkClass.INTERACTIVE);
    }
  }

  @Test
  public void aColumnFamilyThatIsClosedFirstIsALostSensor() throws Exception {
    try (Throttle throttle = Throttle.attach(db, new Settings(), families.get(1))) {
      families.get(1).close();
      ThrottleTest.eventually(() -> throttle.view().contains("is the database closed?"));
      throttle.admit(100, WorkClass.INTERACTIVE);
    }
  }
}
