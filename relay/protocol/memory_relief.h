// MemoryRelief: while memory is short (the throttle's emergency), who makes the relay hold most gives first. Its
// requests end, its connections close with a reason; the others are served. Whoever wants to know is told when it
// begins.
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
  // Of the heaviest address, on a beat: a few connections, then it is seen whether that was enough.
  static constexpr uint64_t kAtOnce = 8 << 20;
  // What an address holds is not why memory is short where none holds more.
  static constexpr uint64_t kWorthwhile = 1 << 20;

  // Memory that swings about the mark is told of once in this time.
  static constexpr Duration kQuiet = std::chrono::minutes(10);
  // `emergencies`: that began since it was last told, with this one.
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
  bool was_emergency_ = false;  // the beat's own, as those that follow
  uint64_t untold_ = 0;
  std::optional<TimePoint> told_at_;
};

}  // namespace weir
