// LogReader: reads a file or a pipe line by line, in memory that does not grow with its length.
//
//   LogReader reader(descriptor.number());
//   while (const auto line = reader.Next()) history.Add(*line);
//   if (reader.error() != 0) …
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace weir {

class LogReader {
 public:
  // The rest of a longer line is dropped. RocksDB itself cuts what it logs to this length.
  static constexpr size_t kLongestLine = 64 << 10;

  // `file` is a descriptor, which the caller closes later.
  explicit LogReader(int file);

  // Returns the next line, without its end; nullopt at the end of the file, and if reading fails. A last line without
  // an end is left out: if a log is cut within a number, the rest is another number. The text is valid until the next
  // call.
  std::optional<std::string_view> Next();

  uint64_t bytes() const { return bytes_; }  // bytes read so far
  int error() const { return error_; }       // errno of a read that failed; 0 if none did

 private:
  bool Fill();

  const int file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // the bytes from begin_ to end_ are not returned yet
  size_t searched_ = 0;  // there is no line end between begin_ and searched_
  size_t end_ = 0;
  bool skipping_ = false;  // begin_ is within a line of which the first part was returned
  uint64_t bytes_ = 0;
  int error_ = 0;
};

}  // namespace weir
