#include "bench/advise/log_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

LogReader::LogReader(int file) : file_(file), buffer_(kBufferBytes) {}

std::optional<std::string_view> LogReader::Next() {
  while (true) {
    const void* const found =
        searched_ == end_ ? nullptr : std::memchr(buffer_.data() + searched_, '\n', end_ - searched_);
    if (found != nullptr) {
      const auto at = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
      std::string_view line(buffer_.data() + begin_, at - begin_);
      begin_ = searched_ = at + 1;
      if (skipping_) {
        skipping_ = false;
        continue;
      }
      if (line.ends_with('\r')) line.remove_suffix(1);
      return line.substr(0, kLongestLine);
    }
    searched_ = end_;
    if (skipping_) {
      begin_ = end_;
    } else if (end_ - begin_ > kLongestLine) {
      const std::string_view line(buffer_.data() + begin_, kLongestLine);
      begin_ = end_;
      skipping_ = true;
      return line;
    }
    if (!Fill()) return std::nullopt;
  }
}

// Moves the bytes that are left to the front and reads more behind them. Returns false if there are no more.
bool LogReader::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  searched_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
  ssize_t got = 0;
  do {
    got = read(file_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  if (got <= 0) return false;
  end_ += static_cast<size_t>(got);
  bytes_ += static_cast<uint64_t>(got);
  return true;
}

}  // namespace weir
