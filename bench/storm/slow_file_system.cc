#include "bench/storm/slow_file_system.h"

#include <rocksdb/file_system.h>

#include <string>
#include <string_view>
#include <utility>

namespace weir {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class SlowFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SlowFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<rocksdb::RateLimiter> disk)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(std::move(disk)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    WaitForDisk(data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    WaitForDisk(data.size());
    return FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
  }

 private:
  void WaitForDisk(size_t bytes) {
    while (bytes > 0)
      bytes -= disk_->RequestToken(bytes, 0, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kWrite);
  }

  const std::shared_ptr<rocksdb::RateLimiter> disk_;
};

class SlowFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit SlowFileSystem(std::shared_ptr<rocksdb::RateLimiter> disk)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(std::move(disk)) {}

  const char* Name() const override { return "SlowFileSystem"; }

  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    IOStatus status = FileSystemWrapper::NewWritableFile(name, options, file, debug);
    const std::string_view view = name;
    if (status.ok() && (view.ends_with(".sst") || view.ends_with(".blob")))
      *file = std::make_unique<SlowFile>(std::move(*file), disk_);
    return status;
  }

 private:
  const std::shared_ptr<rocksdb::RateLimiter> disk_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> SlowEnv(std::shared_ptr<rocksdb::RateLimiter> disk) {
  return rocksdb::NewCompositeEnv(std::make_shared<SlowFileSystem>(std::move(disk)));
}

}  // namespace weir
