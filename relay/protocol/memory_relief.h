// MemoryRelief: frees memory while the process is short of it (LimiterView::emergency of throttle/adaptive_limiter.h).
// For this it ends requests and closes connections of the client address for which the relay holds the most memory, and
// sends the reason to the clients of this address. It leaves all other addresses alone.
//
// Also passes on grants of the byte budget that could not be passed on because memory had run out.
//
//   MemoryRelief relief(limiter, ledger, budget);
//   relief.Start(executor);   // checks the memory every kBeat from now on
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "config/clock.h"
#include "relay/account/byte_budget.h"
#include "relay/account/ledger.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class MemoryRelief {
 public:
  // The interval between two checks of the memory.
  static constexpr std::chrono::milliseconds kBeat{250};
  // The bytes that each check tries to free: it asks the accounts of the address with the most memory to free theirs,
  // the largest first, until the asked accounts hold this many bytes together (Ledger::AskHeaviest). The number is so
  // low that a check ends only a few connections. The next check shows whether that was enough.
  static constexpr uint64_t kAtOnce = 8 << 20;
  // If every address holds fewer bytes than this, clients are not the cause of the shortage, so the check ends no
  // connection.
  static constexpr uint64_t kWorthwhile = 1 << 20;

  // The shortest time between two calls of `tell`. Without it, each of several short emergencies in quick succession
  // would cause a call.
  static constexpr Duration kQuiet = std::chrono::minutes(10);
  // The callback `tell`, which reports an emergency to the operator. OnBeat calls it when an emergency begins, unless
  // the last call was less than kQuiet ago. `emergencies` is the number of emergencies that began since the last call,
  // including this one.
  using Tell = std::function<void(uint64_t emergencies)>;

  // `limiter`, `ledger`, `budget` and `clock` must outlive the object.
  MemoryRelief(const AdaptiveLimiter& limiter, Ledger& ledger, ByteBudget& budget, Tell tell = nullptr,
               const Clock& clock = Clock::System())
      : limiter_(limiter), ledger_(ledger), budget_(budget), tell_(std::move(tell)), clock_(clock) {}

  // Starts a timer that calls OnBeat every kBeat on `executor`, as long as the executor's io_context runs. This object
  // must outlive that io_context.
  void Start(const boost::asio::any_io_executor& executor);
  // Checks the memory once. In an emergency, asks the address with the most memory to free some, if it holds at least
  // kWorthwhile. Calls `tell` if an emergency has begun (see Tell), and ByteBudget::TellGranted.
  void OnBeat();

 private:
  void NoteEmergency(bool emergency);

  const AdaptiveLimiter& limiter_;
  Ledger& ledger_;
  ByteBudget& budget_;
  const Tell tell_;
  const Clock& clock_;
  // Only OnBeat uses the members below.
  bool was_emergency_ = false;
  uint64_t untold_ = 0;               // the number of emergencies that began since the last call of `tell`
  std::optional<TimePoint> told_at_;  // the time of the last call of `tell`
};

}  // namespace weir
