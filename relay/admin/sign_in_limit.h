// SignInLimit: limits how often a client (GroupOf in relay/net/client_address.h) may send a wrong token or
// signature: five times at once, then once in twelve seconds.
//
// A token is too long to guess, so the limit only keeps wrong tokens from filling the log, and the caller accepts the
// right token even from a client that has to wait. A signature takes time to verify, so while a client has to wait, the
// caller refuses its signatures without verifying them. Memory is bounded: if there would be more than kMostClients
// clients, a SignInLimit forgets the one that will be the first to have all its tries again.
//
// Threads: any thread may call any function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

class SignInLimit {
 public:
  static constexpr int kAtOnce = 5;
  static constexpr Duration kEvery = std::chrono::seconds(12);
  static constexpr size_t kMostClients = 1024;

  // The clock must outlive this object.
  explicit SignInLimit(const Clock& clock = Clock::System()) : clock_(clock) {}

  // Returns how long the client has to wait before its next try; nullopt if it does not have to wait.
  std::optional<Duration> Wait(uint64_t client) const;
  // Counts a wrong token or signature of the client.
  void NoteWrong(uint64_t client);
  size_t clients() const;  // number of clients that are remembered

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  // The time at which each client will have all five tries again.
  std::map<uint64_t, TimePoint> good_again_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
