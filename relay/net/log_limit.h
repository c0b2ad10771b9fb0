// LogLimit: permits at most ten log lines of one kind in a second, so that an attack does not fill the disk. The next
// line that is permitted says how many lines were left out.
//
//   if (const auto line = limit.Take(now)) spdlog::info("{} sent no request in time{}", address, line->Suffix());
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/mutex.h"

namespace weir {

class LogLimit {
 public:
  static constexpr int kLinesPerSecond = 10;

  // The permission to log one line.
  struct Line {
    uint64_t left_out = 0;  // the number of lines left out since the last permitted one
    // Returns the text to append to the line: " (and 7 more like it)", or nothing if no line was left out.
    std::string Suffix() const {
      return left_out == 0 ? std::string() : " (and " + std::to_string(left_out) + " more like it)";
    }
  };

  // Returns nullopt if the line must not be logged. `now` is the present time. May be called from any thread.
  std::optional<Line> Take(std::chrono::steady_clock::time_point now) {
    const MutexLock lock(mutex_);
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      lines_ = 0;
    }
    if (lines_ == kLinesPerSecond) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return Line{std::exchange(left_out_, 0)};
  }

 private:
  Mutex mutex_;
  std::chrono::steady_clock::time_point second_ WEIR_GUARDED_BY(mutex_){};
  int lines_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
