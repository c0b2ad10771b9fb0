import io.weir.throttle.streams.ThrottledStoreSuppliers;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

/**
 * A table of Kafka Streams that catches up with its topic, beside queries of the table, without weir and then with it.
 *
 * <p>{@code java Backfill.java [SECONDS]} prints how fast the table grew, how long the slowest query took, and for how long
 * RocksDB made the table wait. {@code BOOTSTRAP_SERVERS} names the Kafka; default: localhost:9092. Flushes and compactions may
 * write 4 MiB/s, as on a slow disk; the cache of records is off, and all else has Kafka Streams' own options.
 */
public final class Backfill {
  private static final int VALUE_BYTES = 8000;
  private static final String KAFKA = System.getenv().getOrDefault("BOOTSTRAP_SERVERS", "localhost:9092");
  private static final String TOPIC = "backfill-" + System.currentTimeMillis();
  private static final String TABLE = "table";

  /** The RocksDB of a slow disk, which counts how long writers are stalled. */
  public static final class SlowDisk implements RocksDBConfigSetter {
    private static Statistics statistics;

    @Override
    public void setConfig(String store, Options options, Map<String, Object> configuration) {
      options.setStatistics(statistics).setRateLimiter(new RateLimiter(4 << 20));
    }

    @Override
    public void close(String store, Options options) {}
  }

  private Backfill() {}

  public static void main(String[] arguments) throws Exception {
    int seconds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20;
    long backlogBytes = 60_000_000 + seconds * 8_000_000L; // more than the memtables and the disk can take in this time
    fillTopic(backlogBytes / VALUE_BYTES);
    run(false, seconds);
    run(true, seconds);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", KAFKA))) {
      var own = admin.listTopics().names().get().stream().filter(name -> name.startsWith(TOPIC)).toList();
      admin.deleteTopics(own).all().get();
    }
  }

  private static void fillTopic(long records) throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", KAFKA))) {
      admin.createTopics(List.of(new NewTopic(TOPIC, Optional.of(1), Optional.empty()))).all().get();
    }
    var bytes = new ByteArraySerializer();
    Random random = new Random(1);
    try (var producer = new KafkaProducer<byte[], byte[]>(Map.of("bootstrap.servers", KAFKA), bytes, bytes)) {
      for (long i = 0; i < records; ++i) {
        byte[] value = new byte[VALUE_BYTES];
        random.nextBytes(value);
        producer.send(new ProducerRecord<>(TOPIC, key(i), value));
      }
    }
  }

  private static void run(boolean withWeir, int seconds) throws Exception {
    Path directory = Files.createTempDirectory("backfill");
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, TOPIC + (withWeir ? "-with" : "-without"));
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, KAFKA);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, directory.toString());
    properties.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    properties.put(StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG, SlowDisk.class);
    properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    if (withWeir) properties.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, ThrottledStoreSuppliers.class);

    AtomicLong written = new AtomicLong();
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(TOPIC, Consumed.with(Serdes.Bytes(), Serdes.ByteArray()))
        .peek((key, value) -> written.addAndGet(value.length))
        .toTable(
            Materialized.<Bytes, byte[], KeyValueStore<Bytes, byte[]>>as(TABLE)
                .withKeySerde(Serdes.Bytes())
                .withValueSerde(Serdes.ByteArray()));

    try (Statistics statistics = new Statistics();
        KafkaStreams streams = new KafkaStreams(builder.build(), properties)) {
      SlowDisk.statistics = statistics;
      streams.start();
      for (int tries = 0; streams.state() != KafkaStreams.State.RUNNING; ++tries) {
        if (tries == 6000) throw new IllegalStateException("Kafka Streams is " + streams.state() + " after a minute");
        Thread.sleep(10);
      }
      long before = written.get();
      double slowestMs = query(streams, seconds, written);
      long bytes = written.get() - before;
      System.out.printf(
          Locale.ROOT,
          "%s weir: the table grew by %.1f MB/s, slowest query %.0f ms, RocksDB stalled writers for %d ms%n",
          withWeir ? "with" : "without",
          1e-6 * bytes / seconds,
          slowestMs,
          statistics.getTickerCount(TickerType.STALL_MICROS) / 1000);
    }
    Utils.delete(directory.toFile());
  }

  /** Queries one of the written records every 5 ms. Returns how long the slowest query took. */
  private static double query(KafkaStreams streams, int seconds, AtomicLong written) throws InterruptedException {
    ReadOnlyKeyValueStore<Bytes, byte[]> table =
        streams.store(StoreQueryParameters.fromNameAndType(TABLE, QueryableStoreTypes.keyValueStore()));
    Random random = new Random(1);
    long slowest = 0;
    for (long begin = System.nanoTime(); System.nanoTime() - begin < 1e9 * seconds; Thread.sleep(5)) {
      long asked = System.nanoTime();
      table.get(Bytes.wrap(key(random.nextLong(1 + written.get() / VALUE_BYTES))));
      slowest = Math.max(slowest, System.nanoTime() - asked);
    }
    return 1e-6 * slowest;
  }

  /** Returns the key of a record: keys of successive records are far apart. */
  private static byte[] key(long record) {
    return ByteBuffer.allocate(8).putLong(record * 0x9E3779B97F4A7C15L).array();
  }
}
