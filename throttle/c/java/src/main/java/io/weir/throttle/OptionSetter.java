package io.weir.throttle;

import java.util.Map;

/**
 * Sets options of an open RocksDB, as {@code RocksDB.setOptions} does.
 *
 * <p>Threads: it is called in {@link Throttle#attachReader} and in {@link Throttle#close}.
 */
@FunctionalInterface
public interface OptionSetter {
  /** Returns true if RocksDB took the options of the column family. An exception counts as false. */
  boolean set(String family, Map<String, String> options) throws Exception;
}
