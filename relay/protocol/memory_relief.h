// MemoryRelief: while memory is short (the throttle's emergency), the address that makes the relay hold most gives
// first. Its requests end and its connections close with a reason; the others are served. `tell` is called when an
// emergency begins.
//
//   MemoryRelief relief(limiter, ledger);
//   relief.Start(executor);   // looks from now on, as long as its context runs
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "config/clock.h"
#include "relay/account/ledger.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class MemoryRelief {
 public:
  static constexpr std::chrono::milliseconds kBeat{250};
  // Bytes that the heaviest address gives per beat: a few connections; the next beat sees whether that was enough.
  static constexpr uint64_t kAtOnce = 8 << 20;
  // If no address holds more than this, the addresses are not why memory is short.
  static constexpr uint64_t kWorthwhile = 1 << 20;

  // Least time between two calls of `tell`: memory may swing about the mark.
  static constexpr Duration kQuiet = std::chrono::minutes(10);
  // `emergencies`: how many began since the last call, this one included.
  using Tell = std::function<void(uint64_t emergencies)>;

  MemoryRelief(const AdaptiveLimiter& limiter, Ledger& ledger, Tell tell = nullptr,
               const Clock& clock = Clock::System())
      : limiter_(limiter), ledger_(ledger), tell_(std::move(tell)), clock_(clock) {}

  void Start(const boost::asio::any_io_executor& executor);
  void OnBeat();

 private:
  void NoteEmergency(bool emergency);

  const AdaptiveLimiter& limiter_;
  Ledger& ledger_;
  const Tell tell_;
  const Clock& clock_;
  bool was_emergency_ = false;  // this and the members below: used on the beat only
  uint64_t untold_ = 0;
  std::optional<TimePoint> told_at_;
};

}  // namespace weir
