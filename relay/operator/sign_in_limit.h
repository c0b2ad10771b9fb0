// SignInLimit: limits how often a client (GroupOf in relay/server/client_address.h) may send a wrong token or
// signature: five times at once, then once in twelve seconds.
//
// A token cannot be guessed. For tokens the limit keeps guesses from filling the log, and a client with the right token
// never has to wait. A signature takes time to verify, so a client that has to wait is refused before its signature is
// verified. Memory is bounded: if there are more than kMostClients clients, the limit forgets the client whose wait
// would end first.
//
// Threads: any thread may call any function.
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

  // The clock must outlive this object.
  explicit SignInLimit(const Clock& clock = Clock::System()) : clock_(clock) {}

  // Returns how long the client has to wait before its next try; nullopt if it need not wait.
  std::optional<Duration> Wait(uint64_t client) const;
  // Notes that the client sent a wrong token or signature.
  void NoteWrong(uint64_t client);
  size_t clients() const;  // number of clients that are remembered

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<uint64_t, TimePoint> good_again_;  // when each client has all five tries again
};

}  // namespace weir
