package io.weir.throttle.streams;

import java.util.function.BiFunction;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/** Makes stores like {@code org.apache.kafka.streams.state.Stores}, in a RocksDB that does not stall. */
public final class ThrottledStores {
  private ThrottledStores() {}

  /** Takes the place of {@code Stores.persistentKeyValueStore}. */
  public static KeyValueBytesStoreSupplier persistentKeyValueStore(String name) {
    return new Supplier(name, ThrottledKeyValueStore::new);
  }

  /** Takes the place of {@code Stores.persistentTimestampedKeyValueStore}. */
  public static KeyValueBytesStoreSupplier persistentTimestampedKeyValueStore(String name) {
    return new Supplier(name, ThrottledTimestampedStore::new);
  }

  private record Supplier(String name, BiFunction<String, String, KeyValueStore<Bytes, byte[]>> maker)
      implements KeyValueBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return maker.apply(name, metricsScope());
    }

    @Override
    public String metricsScope() {
      return "rocksdb";
    }
  }
}
