package io.weir.throttle.streams;

import io.weir.throttle.RefusedException;
import io.weir.throttle.Settings;
import io.weir.throttle.Throttle;
import io.weir.throttle.WorkClass;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.internals.RocksDBStore;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.RocksDB;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The throttle of one store, while its database is open. Before and after, it admits everything.
 *
 * <p>Threads: those of Kafka Streams, one at a time.
 */
final class StoreThrottle {
  private static final Logger LOG = LoggerFactory.getLogger(StoreThrottle.class);

  private List<ColumnFamilyHandle> families = List.of();
  volatile Throttle throttle;

  /** Takes note of the column families of the database, and returns them. */
  List<ColumnFamilyHandle> opened(List<ColumnFamilyHandle> handles) {
    families = handles;
    return handles;
  }

  /** Attaches to the database of an open store. The settings are the values of the configuration that begin with WEIR_. */
  void attach(RocksDBStore store, Map<String, Object> configuration) {
    Settings settings = new Settings().moveBrakes().log(sentence -> LOG.warn("store {}: {}", store.name(), sentence));
    configuration.forEach(
        (name, value) -> {
          if (name.startsWith("WEIR_")) settings.set(name, value.toString());
        });
    // A store of timestamps closes the handle of the default family at once, unless there is data of an old version in it.
    ColumnFamilyHandle[] open = families.stream().filter(ColumnFamilyHandle::isOwningHandle).toArray(ColumnFamilyHandle[]::new);
    throttle = Throttle.attach(databaseOf(store), settings, open);
  }

  void admit(Bytes key, byte[] value) {
    admit(bytesOf(key, value));
  }

  void admit(List<KeyValue<Bytes, byte[]>> entries) {
    admit(entries.stream().mapToLong(entry -> bytesOf(entry.key, entry.value)).sum());
  }

  private static long bytesOf(Bytes key, byte[] value) {
    return key.get().length + (value == null ? 0 : value.length);
  }

  /** Waits until the database can take the bytes. A store cannot refuse a record, so RocksDB gets a refused one all the same. */
  void admit(long bytes) {
    Throttle attached = throttle;
    if (attached == null) return;
    try {
      attached.admit(bytes, WorkClass.BULK);
    } catch (RefusedException e) {
      LOG.debug("RocksDB has to brake a write by itself", e);
    }
  }

  void close() {
    Throttle attached = throttle;
    throttle = null;
    if (attached != null) attached.close();
  }

  /** Returns the database of a store by reflection, because Kafka Streams has no function for that. */
  private static RocksDB databaseOf(RocksDBStore store) {
    try {
      Field db = RocksDBStore.class.getDeclaredField("db");
      db.setAccessible(true);
      return (RocksDB) db.get(store);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Kafka Streams hides its RocksDB", e);
    }
  }
}
