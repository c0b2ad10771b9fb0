// MemoryRelief: makes the client address that holds the most of the relay's memory free some of it, while memory is
// short (LimiterView::emergency of throttle/adaptive_limiter.h). Requests of that address are ended and its connections
// closed, with a reason; the clients of all other addresses are served as before.
//
//   MemoryRelief relief(limiter, ledger);
//   relief.Start(executor);   // checks the memory every kBeat from now on, as long as the executor runs
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
  // The time from one check of the memory to the next.
  static constexpr std::chrono::milliseconds kBeat{250};
  // The bytes that the heaviest address is asked to free at each check, which are those of a few connections. The next
  // check shows whether that was enough.
  static constexpr uint64_t kAtOnce = 8 << 20;
  // If every address holds fewer bytes than this, clients are not the cause of the shortage, and no address is asked.
  static constexpr uint64_t kWorthwhile = 1 << 20;

  // The least time between two calls of `tell`, because emergencies may begin and end again and again.
  static constexpr Duration kQuiet = std::chrono::minutes(10);
  // Called on the executor of Start when an emergency begins, but not within kQuiet of the last call. `emergencies` is
  // the number of emergencies that began since the last call, this one included.
  using Tell = std::function<void(uint64_t emergencies)>;

  // `limiter`, `ledger` and `clock` must outlive the object.
  MemoryRelief(const AdaptiveLimiter& limiter, Ledger& ledger, Tell tell = nullptr,
               const Clock& clock = Clock::System())
      : limiter_(limiter), ledger_(ledger), tell_(std::move(tell)), clock_(clock) {}

  // Calls OnBeat every kBeat on `executor`, as long as the executor's context runs. The object must outlive the
  // context.
  void Start(const boost::asio::any_io_executor& executor);
  // Checks the memory once. In an emergency, asks the heaviest address to free memory, and calls `tell` if it is due.
  void OnBeat();

 private:
  void NoteEmergency(bool emergency);

  const AdaptiveLimiter& limiter_;
  Ledger& ledger_;
  const Tell tell_;
  const Clock& clock_;
  // Only OnBeat uses the members below.
  bool was_emergency_ = false;
  uint64_t untold_ = 0;               // emergencies that began since the last call of `tell`
  std::optional<TimePoint> told_at_;  // the time of the last call of `tell`
};

}  // namespace weir
