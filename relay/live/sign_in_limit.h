// SignInLimit: how often an address may show a token that is wrong: five times at once, then once in twelve seconds. A
// token cannot be guessed; what is bounded is what guessing costs, and what it writes to the log. Its memory is
// bounded: of more addresses than kMostAddresses the one that was last wrong longest ago is forgotten.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "config/clock.h"

namespace weir {

class SignInLimit {
 public:
  static constexpr int kAtOnce = 5;
  static constexpr Duration kEvery = std::chrono::seconds(12);
  static constexpr size_t kMostAddresses = 1024;

  // The clock must outlive it.
  explicit SignInLimit(const Clock& clock = Clock::System()) : clock_(clock) {}

  // How long the address has to wait before it may try; nothing: not at all.
  std::optional<Duration> Wait(const std::string& address) const;
  void NoteWrong(const std::string& address);
  size_t addresses() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, TimePoint> good_again_;  // when all of an address's tries are there again
};

}  // namespace weir
