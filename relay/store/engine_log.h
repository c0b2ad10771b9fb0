// EngineLog: RocksDB's log of its warnings and errors, in the file LOG of the database's directory. When the file is
// larger than 4 MiB, it is renamed to LOG.old and a new one begins.
//
// RocksDB has a logger of its own. But in RocksDB 7.8 as Debian builds it, with assertions, that logger aborts the
// program if it writes again after a failed write, for example on a full disk. This logger loses the line instead.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <cstdio>
#include <string>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

class EngineLog final : public rocksdb::Logger {
 public:
  // Writes the file in `directory`. If `directory` is empty, it writes no file.
  explicit EngineLog(const std::string& directory);
  ~EngineLog() override;

  using rocksdb::Logger::Logv;
  // Writes a line. RocksDB calls it.
  void Logv(const char* format, va_list arguments) override;

  // Returns the first line in which RocksDB said that it did not read a write-ahead log to its end, because of damage.
  // An unfinished record at the end, as a crash leaves it, is no damage. Returns an empty string if there was no such
  // line.
  std::string cut_replay() const;

 private:
  void Append(const std::string& line) WEIR_REQUIRES(mutex_);
  bool OpenFile() WEIR_REQUIRES(mutex_);
  void CloseFile() WEIR_REQUIRES(mutex_);

  const std::string path_;
  mutable Mutex mutex_;
  std::FILE* file_ WEIR_GUARDED_BY(mutex_) = nullptr;
  std::string cut_replay_ WEIR_GUARDED_BY(mutex_);
};

// Returns the newest line in a directory's LOG about a corrupt file. Returns an empty string if there is none from the
// last thirty days; older damage is taken to be repaired or harmless. Looks only at the last 256 KiB of the file.
std::string NewestCorruption(const std::string& directory, WallTime now);

}  // namespace weir
