// WaitingCalls: runs calls that may block on the store, on four threads of its own. A call is refused, and the store is
// not asked, if it waited too long for a thread, if its client is gone, or if it gets its thread after BeginStop.
// Otherwise quota could be charged for a call whose client never gets the answer.
//
// Threads: any thread may call Submit and BeginStop; one thread calls Stop, not from within a call.
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
  // The longest time that a call waits for a thread. SQLite waits for a lock for the same time by default
  // (busy_timeout), so while its file is locked, the waiting calls are refused at about the time when the running ones
  // fail.
  static constexpr std::chrono::seconds kLongestInLine{5};

  // The clock must outlive this object.
  explicit WaitingCalls(const Clock& clock = Clock::System());
  ~WaitingCalls();

  // Makes the answer to a call for which the store was not asked; `message` says why. BusyAsJson makes a 503 with
  // Retry-After.
  using Busy = std::function<HttpResponse(std::string message)>;
  static HttpResponse BusyAsJson(std::string message);

  // Runs a call soon, on one of the threads: calls `call`, which must reply before it returns, or replies with what
  // `busy` makes. Calls of different addresses take turns.
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
