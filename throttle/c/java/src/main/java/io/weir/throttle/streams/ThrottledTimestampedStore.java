package io.weir.throttle.streams;

import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.internals.RocksDBTimestampedStore;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatchInterface;

/** A store of keys, values and timestamps in a RocksDB that does not stall. */
final class ThrottledTimestampedStore extends RocksDBTimestampedStore {
  final StoreThrottle throttle = new StoreThrottle();

  ThrottledTimestampedStore(String name, String metricsScope) {
    super(name, metricsScope);
  }

  @Override
  protected List<ColumnFamilyHandle> openRocksDB(
      DBOptions options, ColumnFamilyDescriptor defaultFamily, ColumnFamilyDescriptor... families) {
    return throttle.opened(super.openRocksDB(options, defaultFamily, families));
  }

  @Override
  public void init(StateStoreContext context, StateStore root) {
    super.init(context, root);
    throttle.attach(this, context.appConfigs());
  }

  // Each function that writes asks before it takes the lock of the store, because queries need that lock, too.

  @Override
  public void put(Bytes key, byte[] value) {
    if (!Thread.holdsLock(this)) throttle.admit(key, value); // delete and putIfAbsent have asked, and call this
    super.put(key, value);
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    throttle.admit(key, value);
    return super.putIfAbsent(key, value);
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    throttle.admit(entries);
    super.putAll(entries);
  }

  @Override
  public byte[] delete(Bytes key) {
    throttle.admit(key, null);
    return super.delete(key);
  }

  /** Writes the batches of a restoration. */
  @Override
  public void write(WriteBatchInterface batch) throws RocksDBException {
    throttle.admit(batch.getWriteBatch().getDataSize());
    super.write(batch);
  }

  @Override
  public void close() {
    throttle.close();
    super.close();
  }
}
