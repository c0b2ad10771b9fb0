#include "relay/store/engine_log.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "config/text/readable.h"
#include "config/text/rfc3339.h"

namespace weir {
namespace {

constexpr long kMostBytes = 4 << 20;
constexpr std::streamoff kTailBytes = 256 << 10;
constexpr std::chrono::hours kRecent{24 * 30};
// RocksDB writes this when it opens a database: "000015.log: dropping 4096 bytes; Corruption: checksum mismatch".
constexpr std::string_view kDropping = ".log: dropping ";
// RocksDB writes one of these for a log that a crash cut short, and for a log that a relay is still writing. The last
// write of such a log was never acknowledged as on disk.
constexpr std::string_view kTornEnds[] = {"truncated header", "truncated record body", "error reading trailing data"};

bool IsOfATornEnd(std::string_view line) {
  return std::ranges::any_of(kTornEnds, [line](std::string_view end) { return line.find(end) != line.npos; });
}

std::string Formatted(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int bytes = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(static_cast<size_t>(std::max(bytes, 0)) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  return text;
}

}  // namespace

EngineLog::EngineLog(const std::string& directory)
    : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(directory.empty() ? "" : directory + "/LOG") {}

EngineLog::~EngineLog() { CloseFile(); }

void EngineLog::Logv(const char* format, va_list arguments) {
  const std::string line = Formatted(format, arguments);
  const MutexLock lock(mutex_);
  if (cut_replay_.empty() && line.find(kDropping) != line.npos && !IsOfATornEnd(line)) cut_replay_ = line;
  Append(line);
}

std::string EngineLog::cut_replay() const {
  const MutexLock lock(mutex_);
  return cut_replay_;
}

void EngineLog::Append(const std::string& line) {
  if (path_.empty() || !OpenFile()) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  std::fprintf(file_, "%s %s\n", FormatTime(now).c_str(), line.c_str());
  // After a failure the next line begins with a new stream, so no half-written line stays in the buffer.
  if (std::fflush(file_) != 0 || std::ftell(file_) > kMostBytes) CloseFile();
}

bool EngineLog::OpenFile() {
  if (file_ != nullptr) return true;
  file_ = std::fopen(path_.c_str(), "ae");
  if (file_ == nullptr) return false;
  std::fseek(file_, 0, SEEK_END);
  if (std::ftell(file_) <= kMostBytes) return true;
  CloseFile();
  std::rename(path_.c_str(), (path_ + ".old").c_str());
  file_ = std::fopen(path_.c_str(), "ae");
  return file_ != nullptr;
}

void EngineLog::CloseFile() {
  if (file_ != nullptr) std::fclose(file_);
  file_ = nullptr;
}

std::string NewestCorruption(const std::string& directory, WallTime now) {
  std::ifstream log(directory + "/LOG", std::ios::binary);
  log.seekg(0, std::ios::end);
  log.seekg(std::max<std::streamoff>(0, log.tellg() - kTailBytes));
  std::string newest;
  for (std::string line; std::getline(log, line);) {
    if (line.find("Corruption") == line.npos || IsOfATornEnd(line)) continue;
    const auto time = ParseTime(line.substr(0, line.find(' ')));
    if (time && now - *time < kRecent) newest = line.substr(0, 300);
  }
  return AsText(newest);
}

}  // namespace weir
