// EngineLog: RocksDB's own log, for its warnings: the file LOG beside the database, renamed to LOG.old when it is
// large.
//
// RocksDB 7.8 as Debian builds it, with assertions, aborts the program if its logger writes again after a write that
// failed, as on a full disk. This logger loses the line instead.
#pragma once

#include <rocksdb/env.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "config/clock.h"

namespace weir {

class EngineLog final : public rocksdb::Logger {
 public:
  // Writes into this directory; into no file if `directory` is empty.
  explicit EngineLog(const std::string& directory);
  ~EngineLog() override;

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

  // Returns the first line in which RocksDB said that it did not read a write-ahead log to its end, although more than
  // an unfinished record was there; empty if there was none. May be called from any thread.
  std::string cut_replay() const;

 private:
  void Append(const std::string& line);
  bool OpenFile();
  void CloseFile();

  const std::string path_;
  mutable std::mutex mutex_;
  std::FILE* file_ = nullptr;
  std::string cut_replay_;
};

// Returns the newest line of a directory's log about a file that does not read as it was written; empty if there is
// none of the last thirty days. Older damage was repaired, or does no harm.
std::string NewestCorruption(const std::string& directory, WallTime now);

}  // namespace weir
