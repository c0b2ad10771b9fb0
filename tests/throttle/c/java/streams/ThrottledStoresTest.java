package io.weir.throttle.streams;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.RocksDBStore;
import org.apache.kafka.streams.state.internals.WrappedStateStore;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Stores of Kafka Streams, in a topology without a Kafka. */
public final class ThrottledStoresTest {
  private static final byte[] KEY = {1}, VALUE = {2};

  @Rule public final TemporaryFolder folder = new TemporaryFolder();
  private final Properties properties = new Properties();
  private TopologyTestDriver driver;

  /** Starts a table, in a store of the supplier, or else of the class that the configuration names. */
  private void start(KeyValueBytesStoreSupplier supplier) {
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, "app");
    properties.put(StreamsConfig.STATE_DIR_CONFIG, folder.getRoot().getPath());
    properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, ThrottledStoreSuppliers.class);
    StreamsBuilder builder = new StreamsBuilder();
    Materialized<Bytes, byte[], KeyValueStore<Bytes, byte[]>> stored =
        supplier == null ? Materialized.as("table") : Materialized.as(supplier);
    builder.table("topic", Consumed.with(Serdes.Bytes(), Serdes.ByteArray()), stored.withCachingDisabled());
    driver = new TopologyTestDriver(builder.build(), properties);
  }

  /** The memory of this process is an emergency, in which bulk work waits for a minute. */
  private void startInAnEmergency() {
    properties.put("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "1");
    start(null);
    eventually(() -> attached().view().contains("\"emergency\":true"));
  }

  @After
  public void close() {
    if (driver != null) driver.close();
    driver = null;
  }

  private void put() {
    driver.createInputTopic("topic", new ByteArraySerializer(), new ByteArraySerializer()).pipeInput(KEY, VALUE);
  }

  private byte[] get() {
    return driver.<Bytes, byte[]>getKeyValueStore("table").get(Bytes.wrap(KEY));
  }

  private RocksDBStore store() {
    StateStore store = driver.getTimestampedKeyValueStore("table");
    while (store instanceof WrappedStateStore<?, ?, ?> wrapper) store = wrapper.wrapped();
    return (RocksDBStore) store;
  }

  private boolean hasThrottle() {
    Path database = folder.getRoot().toPath().resolve("app/0_0/rocksdb/table");
    try {
      Throttle.attachReader((family, property) -> "0", new Settings().directory(database)).close();
      return false;
    } catch (IllegalStateException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("has a throttle already"));
      return true;
    }
  }

  @Test
  public void aTableHasAThrottleUntilItIsClosed() {
    start(null);
    assertTrue(hasThrottle());
    put();
    assertArrayEquals(VALUE, get());

    Throttle attached = attached();
    attached.view();
    close();
    assertThrows(IllegalStateException.class, attached::view);
  }

  @Test
  public void aStoreWithoutTimestampsHasAThrottleToo() {
    start(ThrottledStores.persistentKeyValueStore("table"));
    assertTrue(hasThrottle());
    put();
    assertArrayEquals(VALUE, get());
  }

  @Test
  public void aQueryDoesNotWaitForAPutThatWaits() throws Exception {
    startInAnEmergency();
    Thread writer = Thread.ofPlatform().start(this::put);
    eventually(() -> asks(writer));
    assertNull(get());
    assertTrue(asks(writer));

    attached().close(); // refuses what waits
    writer.join();
    assertArrayEquals(VALUE, get());
  }

  @Test
  public void everyFunctionThatWritesAsksWithoutTheLockOfQueries() throws Exception {
    startInAnEmergency();
    RocksDBStore store = store();
    Bytes key = Bytes.wrap(KEY);
    List<Runnable> writes =
        List.of(
            () -> store.put(key, VALUE),
            () -> store.putIfAbsent(key, VALUE),
            () -> store.putAll(List.of(KeyValue.pair(key, VALUE))),
            () -> store.delete(key));
    List<Thread> writers = writes.stream().map(Thread.ofPlatform()::start).toList();
    for (Thread writer : writers) eventually(() -> asks(writer));
    assertNull(store.get(key));
    for (Thread writer : writers) assertTrue(asks(writer));

    attached().close(); // refuses what waits
    for (Thread writer : writers) writer.join();
  }

  @Test
  public void aRecordThatIsRefusedIsWrittenAllTheSame() {
    properties.put("WEIR_IMPORT_MAX_DELAY_MS", "1");
    startInAnEmergency();
    put();
    assertArrayEquals(VALUE, get());
  }

  @Test
  public void aRestorationAsks() throws Exception {
    startInAnEmergency();
    var record = new ConsumerRecord<>("changelog", 0, 0, KEY, new byte[100]);
    Method restore = RocksDBStore.class.getDeclaredMethod("restoreBatch", Collection.class);
    restore.setAccessible(true);
    FutureTask<Object> restoration = new FutureTask<>(() -> restore.invoke(store(), List.of(record)));
    Thread restorer = Thread.ofPlatform().start(restoration);
    eventually(() -> asks(restorer));
    attached().close();
    restoration.get();
  }

  @Test
  public void aWrongSettingIsNamed() {
    properties.put("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "much");
    var thrown = assertThrows(RuntimeException.class, () -> start(null));
    assertTrue(thrown.toString(), thrown.toString().contains("WEIR_RATE_LIMIT_TARGET_MEMORY_MB"));
  }

  private Throttle attached() {
    return ((ThrottledTimestampedStore) store()).throttle.throttle;
  }

  private static boolean asks(Thread thread) {
    return Arrays.stream(thread.getStackTrace()).anyMatch(frame -> frame.getClassName().equals(Throttle.class.getName()));
  }

  private static void eventually(BooleanSupplier holds) {
    for (long begin = System.nanoTime(); !holds.getAsBoolean(); Thread.onSpinWait())
      if (System.nanoTime() - begin > 60e9) throw new AssertionError("did not come true in a minute");
  }
}
