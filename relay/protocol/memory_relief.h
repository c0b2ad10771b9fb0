// MemoryRelief: while memory is short (the throttle's emergency), who makes the relay hold most gives first. Its
// requests end, its connections close with a reason; the others are served.
//
//   MemoryRelief relief(limiter, ledger);
//   relief.Start(executor);   // looks from now on, as long as its context runs
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>

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

  MemoryRelief(const AdaptiveLimiter& limiter, Ledger& ledger) : limiter_(limiter), ledger_(ledger) {}

  void Start(const boost::asio::any_io_executor& executor);
  void OnBeat();

 private:
  const AdaptiveLimiter& limiter_;
  Ledger& ledger_;
};

}  // namespace weir
