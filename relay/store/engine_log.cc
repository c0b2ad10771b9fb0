#include "relay/store/engine_log.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "config/text/rfc3339.h"

namespace weir {
namespace {

class EngineLog final : public rocksdb::Logger {
 public:
  explicit EngineLog(const std::string& directory)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(directory + "/LOG") {}
  ~EngineLog() override { CloseFile(); }

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    const std::lock_guard lock(mutex_);
    if (!OpenFile()) return;
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    std::fprintf(file_, "%s ", FormatTime(now).c_str());
    std::vfprintf(file_, format, arguments);
    std::fputc('\n', file_);
    // After a failure the next line begins with a new stream, so nothing half-written stays in its buffer.
    if (std::fflush(file_) != 0 || std::ftell(file_) > kMostBytes) CloseFile();
  }

 private:
  static constexpr long kMostBytes = 4 << 20;

  bool OpenFile() {
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

  void CloseFile() {
    if (file_ != nullptr) std::fclose(file_);
    file_ = nullptr;
  }

  const std::string path_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> MakeEngineLog(const std::string& directory) {
  return std::make_shared<EngineLog>(directory);
}

}  // namespace weir
