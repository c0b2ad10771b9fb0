// InputFile: reads one input of an import. Waits for data that a stream does not have yet, until it is told to stop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/status.h"

namespace weir {

// A descriptor that becomes readable when Call is called.
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
  // Returns the name that messages use.
  static std::string NameOf(const std::string& path);
  // Returns the size, or nothing if it is no regular file; an error if it is not there or cannot be read. Reads
  // nothing.
  static Result<std::optional<uint64_t>> Look(const std::string& path);
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // True if it is no regular file. A stream may have nothing for now.
  bool is_stream() const { return is_stream_; }

  struct Got {
    enum class What : uint8_t { kBytes, kEnd, kNothingYet, kWoken } what = What::kEnd;
    size_t size = 0;
  };
  // Waits up to `longest_ms` for a stream to have something (-1: for ever), but not once `wake_up` was called.
  Result<Got> Read(std::span<char> into, const WakeUp& wake_up, int longest_ms);

  // True for a regular file with a name: then ReadAt and Seek work.
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
