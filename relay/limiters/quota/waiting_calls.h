// Runs calls that may wait for the store, in threads of their own. A call that waits in line for too long, whose client
// is gone, or that comes to the front after BeginStop is answered without the store: a charge that no client learns of
// would only be lost.
//
// Threads: any; Stop once.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "config/clock.h"
#include "relay/account/work_pool.h"
#include "relay/server/http.h"

namespace weir {

class WaitingCalls {
 public:
  // The longest time from a call's arrival until the store is asked. It is as long as SQLite itself waits for a lock:
  // with a file that is locked, the calls behind the first are answered when the first is.
  static constexpr std::chrono::seconds kLongestInLine{5};

  explicit WaitingCalls(const Clock& clock = Clock::System());
  ~WaitingCalls();

  // Makes the answer that says that the store was not asked.
  using Busy = std::function<HttpResponse(std::string message)>;
  static HttpResponse BusyAsJson(std::string message);

  // Addresses take turns. `call` gives the reply.
  void Submit(const std::string& address, HttpReply reply, std::function<void(HttpReply)> call, Busy busy = BusyAsJson);
  // From here on no call begins any more.
  void BeginStop() { stopping_.store(true, std::memory_order_relaxed); }
  // The same, and waits for the calls that have begun.
  void Stop();

 private:
  // Returns null if the call is made, else why it is not.
  const char* WhyNot(TimePoint arrival, const HttpReply& reply) const;

  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<WorkPool> pool_;  // destroyed first
};

}  // namespace weir
