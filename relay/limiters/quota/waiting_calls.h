// WaitingCalls: runs calls that may block on the store, on four threads of its own. A call that has waited too long for
// a thread is refused without asking the store; so is a call whose client has left, and every call that has not begun
// when BeginStop is called. If the store were asked, it could charge quota for a client that never gets the answer.
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
#include "relay/net/http.h"

namespace weir {

class WaitingCalls {
 public:
  // The longest time that a call may wait for a thread. By default SQLite waits for a lock for the same time
  // (busy_timeout). So while the file is locked, waiting calls are refused at about the time when the running calls
  // fail.
  static constexpr std::chrono::seconds kLongestInLine{5};

  // The clock must outlive this object.
  explicit WaitingCalls(const Clock& clock = Clock::System());
  ~WaitingCalls();

  // Makes the answer to a call that is refused; `message` says why. BusyAsJson makes a 503 in JSON with Retry-After.
  using Busy = std::function<HttpResponse(std::string message)>;
  static HttpResponse BusyAsJson(std::string message);

  // Queues a call. One of the threads will run `call`, which must reply before it returns, or will refuse the call with
  // the answer that `busy` makes. `address` is the client's address; clients (NetworkOf in relay/net/client_address.h)
  // take turns.
  void Submit(const std::string& address, HttpReply reply, std::function<void(HttpReply)> call, Busy busy = BusyAsJson);
  // From now on, the threads refuse the calls that still wait.
  void BeginStop() { stopping_.store(true, std::memory_order_relaxed); }
  // Calls BeginStop and waits until every call is answered. Submit must not be called during Stop or after it. The
  // destructor calls Stop.
  void Stop();

 private:
  // Returns null if the call may run, else the reason to refuse it.
  const char* WhyNot(TimePoint arrival, const HttpReply& reply) const;

  const Clock& clock_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<WorkPool> pool_;  // destroyed first
};

}  // namespace weir
