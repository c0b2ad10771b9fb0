package io.weir.throttle;

/**
 * Reads the properties of a RocksDB, as {@code RocksDB.getProperty} does.
 *
 * <p>Threads: the library calls it from one thread of its own, one call at a time, and never after {@link
 * Throttle#close} has returned. It must not call {@code close} of its throttle.
 */
@FunctionalInterface
public interface PropertyReader {
  /**
   * Returns the text of a property, such as {@code rocksdb.num-files-at-level0}, of a column family; null if the
   * database does not answer or is closed. An exception counts as null.
   */
  String read(String family, String property) throws Exception;
}
