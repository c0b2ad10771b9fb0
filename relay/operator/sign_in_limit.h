// SignInLimit: how often a client (GroupOf) may show a token or a signature that is wrong: five times at once, then
// once in twelve seconds. A token cannot be guessed; what is bounded is what guessing writes to the log, and the right
// one is never asked to wait. A signature costs what it takes to verify it, so a client that has to wait is not
// listened to. Its memory is bounded: of more clients than kMostClients the one that was last wrong longest ago is
// forgotten.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "config/clock.h"

namespace weir {

class SignInLimit {
 public:
  static constexpr int kAtOnce = 5;
  static constexpr Duration kEvery = std::chrono::seconds(12);
  static constexpr size_t kMostClients = 1024;

  // The clock must outlive it.
  explicit SignInLimit(const Clock& clock = Clock::System()) : clock_(clock) {}

  // How long the client has to wait before it may be wrong again; nothing: not at all.
  std::optional<Duration> Wait(uint64_t client) const;
  void NoteWrong(uint64_t client);
  size_t clients() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<uint64_t, TimePoint> good_again_;  // when all of a client's tries are there again
};

}  // namespace weir
