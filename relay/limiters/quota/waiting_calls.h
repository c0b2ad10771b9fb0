// WaitingCalls: runs calls that may wait for the store on four threads of their own. The store is not asked for a call
// that has waited for a thread too long, whose client is gone, or that gets its thread after BeginStop: a charge of
// which no client learns would only be lost.
//
// Threads: any, except for Stop.
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
  // The longest time from the arrival of a call until the store is asked. SQLite waits as long for a lock. So if its
  // file is locked, the calls that wait are answered when those that have begun are.
  static constexpr std::chrono::seconds kLongestInLine{5};

  // The clock must outlive this object.
  explicit WaitingCalls(const Clock& clock = Clock::System());
  ~WaitingCalls();

  // Makes the answer to a call for which the store was not asked; `message` says why. BusyAsJson makes a 503 with
  // Retry-After.
  using Busy = std::function<HttpResponse(std::string message)>;
  static HttpResponse BusyAsJson(std::string message);

  // Runs a call soon, on one of the threads: calls `call`, which must give the reply, or replies with the answer of
  // `busy`. Calls of different addresses take turns.
  void Submit(const std::string& address, HttpReply reply, std::function<void(HttpReply)> call, Busy busy = BusyAsJson);
  // From now on, calls that wait for a thread are answered by `busy`.
  void BeginStop() { stopping_.store(true, std::memory_order_relaxed); }
  // Calls BeginStop and waits until every call is answered. Submit must not be called any more. The destructor calls
  // Stop.
  void Stop();

 private:
  // Returns null if the call shall run, else why not.
  const char* WhyNot(TimePoint arrival, const HttpReply& reply) const;

  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<WorkPool> pool_;  // destroyed first
};

}  // namespace weir
