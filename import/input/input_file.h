// InputFile: reads one input of an import, which is a file, standard input ("-") or a FIFO. If a stream has no data
// yet, Read waits for data; a WakeUp ends the wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/status.h"

namespace weir {

// A file descriptor that becomes readable, and stays readable, when Call is called. Any thread may call Call.
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
  // Returns the input's name for messages: the path, or "standard input".
  static std::string NameOf(const std::string& path);
  // Returns the size of a regular file, nullopt for anything else, and an error for a directory, or for a file that
  // does not exist or may not be read. Does not open the file.
  static Result<std::optional<uint64_t>> Look(const std::string& path);
  // Opens the input; does not wait for the writer of a FIFO.
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Returns true if the input is a stream, that is, not a regular file. A stream may have no data at present.
  bool is_stream() const { return is_stream_; }

  struct Got {
    // kBytes: Read has read `size` bytes. kEnd: the input has ended. kNothingYet: no data came within `longest_ms`.
    // kWoken: `wake_up` was called.
    enum class What : uint8_t { kBytes, kEnd, kNothingYet, kWoken } what = What::kEnd;
    size_t size = 0;
  };
  // Reads bytes into `into`. If a stream has no bytes yet, waits for them at most `longest_ms` milliseconds (-1:
  // without limit), or until `wake_up` is called. After that call reads nothing more from a stream. Reads a regular
  // file at once, even after `wake_up` was called.
  Result<Got> Read(std::span<char> into, const WakeUp& wake_up, int longest_ms);

  // Returns true for a regular file that was opened by its name. ReadAt and Seek require this.
  bool can_seek() const { return can_seek_; }
  // Returns `size` bytes from `offset` on, or fewer at the end of the file. Does not move the place of the next Read.
  Result<std::string> ReadAt(uint64_t offset, size_t size) const;
  // Makes the next Read begin at `offset`.
  Status Seek(uint64_t offset);

 private:
  InputFile(int descriptor, bool is_stream, bool can_seek)
      : descriptor_(descriptor), is_stream_(is_stream), can_seek_(can_seek) {}

  int descriptor_;
  bool is_stream_;
  bool can_seek_;
};

}  // namespace weir
