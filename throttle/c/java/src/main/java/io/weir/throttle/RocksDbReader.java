package io.weir.throttle;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.MutableColumnFamilyOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** Reads the properties, and sets the options, of a database of rocksdbjni, of any version. */
final class RocksDbReader implements PropertyReader, OptionSetter {
  private final RocksDB db;
  private final Map<String, ColumnFamilyHandle> families = new LinkedHashMap<>();

  RocksDbReader(RocksDB db, ColumnFamilyHandle... families) {
    this.db = db;
    try {
      for (ColumnFamilyHandle family : families) this.families.put(new String(family.getName(), UTF_8), family);
    } catch (RocksDBException e) {
      throw new IllegalArgumentException("a column family has no name: " + e.getMessage(), e);
    }
  }

  Set<String> families() {
    return families.keySet();
  }

  /** Returns null if the database was closed: rocksdbjni itself would then crash. */
  @Override
  public String read(String family, String property) throws RocksDBException {
    if (!db.isOwningHandle()) return null;
    ColumnFamilyHandle handle = families.get(family);
    if (handle != null) return handle.isOwningHandle() ? db.getProperty(handle, property) : null;
    return family.equals("default") ? db.getProperty(property) : null;
  }

  @Override
  public boolean set(String family, Map<String, String> options) throws RocksDBException {
    if (!db.isOwningHandle()) return false;
    ColumnFamilyHandle handle = families.get(family);
    if (handle != null && !handle.isOwningHandle()) return false;
    StringBuilder text = new StringBuilder();
    options.forEach((name, value) -> text.append(name).append('=').append(value).append(';'));
    MutableColumnFamilyOptions parsed = MutableColumnFamilyOptions.parse(text.toString()).build();
    if (handle != null) {
      db.setOptions(handle, parsed);
    } else {
      db.setOptions(parsed);
    }
    return true;
  }
}
