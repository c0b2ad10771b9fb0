// RocksDB's own log, for its warnings: the file LOG beside the database, LOG.old once it has grown large.
//
// RocksDB 7.8 as Debian builds it, with assertions, aborts the program when its logger writes again after a write that
// failed, as on a full disk. This one loses the line instead.
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
  // Writes into the directory; into no file where it is empty.
  explicit EngineLog(const std::string& directory);
  ~EngineLog() override;

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

  // The first line in which RocksDB told that it did not read a write-ahead log to its end, although more than an
  // unfinished record was there; empty: there was none. From any thread.
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

// The newest line of the log in a directory that tells of a file which does not read as it was written; empty: there is
// none of the last thirty days. What is older was seen to, or does no harm.
std::string NewestCorruption(const std::string& directory, WallTime now);

}  // namespace weir
