package io.weir.throttle.streams;

import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers.RocksDBDslStoreSuppliers;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;

/**
 * The value of {@code dsl.store.suppliers.class} with which every table of the DSL is in a RocksDB that does not stall.
 * Stores of windows, of sessions and of headers are those of Kafka Streams.
 */
public final class ThrottledStoreSuppliers extends RocksDBDslStoreSuppliers {
  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return switch (params.dslStoreFormat()) {
      case PLAIN -> ThrottledStores.persistentKeyValueStore(params.name());
      case TIMESTAMPED -> ThrottledStores.persistentTimestampedKeyValueStore(params.name());
      default -> super.keyValueStore(params);
    };
  }
}
