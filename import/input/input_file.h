// InputFile: reads one input of an import; waits for what a stream has not yet, and can be told to stop that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/status.h"

namespace weir {

// A descriptor that becomes readable when somebody says so.
class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  void Call() const;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Not thread-safe.
class InputFile {
 public:
  // As messages call it.
  static std::string NameOf(const std::string& path);
  // Whether it is there and can be read; its size, nothing where it is no regular file. Reads nothing.
  static Result<std::optional<uint64_t>> Look(const std::string& path);
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // No regular file: it may have nothing for now.
  bool is_stream() const { return is_stream_; }

  struct Got {
    enum class What : uint8_t { kBytes, kEnd, kNothingYet, kWoken } what = What::kEnd;
    size_t size = 0;
  };
  // Waits `longest_ms` for a stream to have something (-1: for ever), but not when `wake_up` was called.
  Result<Got> Read(std::span<char> into, const WakeUp& wake_up, int longest_ms);

  // Of a plain file that has a name: bytes that stand somewhere, and where to go on reading.
  bool can_seek() const { return can_seek_; }
  Result<std::string> ReadAt(uint64_t offset, size_t size) const;
  Status Seek(uint64_t offset);

 private:
  InputFile(int descriptor, bool is_stream, bool can_seek)
      : descriptor_(descriptor), is_stream_(is_stream), can_seek_(can_seek) {}

  int descriptor_;
  bool is_stream_;
  bool can_seek_;
};

}  // namespace weir
