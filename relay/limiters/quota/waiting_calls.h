// Calls that may wait for the store, in threads of their own. Who waits in line for too long, or is gone, or comes to
// the front when all stops, is answered without the store: a charge that nobody learns of would only be lost.
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
  // From its arrival until the store is asked. As long as SQLite itself waits for a lock: with a file that is locked,
  // what stands behind the first is answered when the first is.
  static constexpr std::chrono::seconds kLongestInLine{5};

  explicit WaitingCalls(const Clock& clock = Clock::System());
  ~WaitingCalls();

  // How is said that the store was not asked.
  using Busy = std::function<HttpResponse(std::string message)>;
  static HttpResponse BusyAsJson(std::string message);

  // Addresses take turns. `call` gives the reply.
  void Submit(const std::string& address, HttpReply reply, std::function<void(HttpReply)> call, Busy busy = BusyAsJson);
  // From here on nothing more is begun.
  void BeginStop() { stopping_.store(true, std::memory_order_relaxed); }
  // The same, and waits for what was begun.
  void Stop();

 private:
  // Null: it is called.
  const char* WhyNot(TimePoint arrival, const HttpReply& reply) const;

  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<WorkPool> pool_;  // ends first
};

}  // namespace weir
