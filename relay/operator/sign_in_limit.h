// SignInLimit bounds how often a client (GroupOf) may show a wrong token or signature: five times at once, then once in
// twelve seconds. A token cannot be guessed: the limit bounds what guessing writes to the log, and a client with the
// right token never has to wait. A signature costs its verification, so a client that has to wait is refused before
// that. Memory is bounded: beyond kMostClients clients, the one that has all its tries again soonest is forgotten.
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

  // Returns how long the client has to wait before it may be wrong again; nullopt if it need not wait.
  std::optional<Duration> Wait(uint64_t client) const;
  void NoteWrong(uint64_t client);
  size_t clients() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<uint64_t, TimePoint> good_again_;  // when a client has all its tries again
};

}  // namespace weir
