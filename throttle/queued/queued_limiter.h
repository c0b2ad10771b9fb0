// QueuedLimiter: gives each path an endpoint, which has a queue and a rate. A request is served at once, is refused, or
// waits in the queue of its endpoint until the endpoint lets it through.
//
//   QueuedLimiter limiter({.rules = QueuedRules::Make({{.path = "/api", .rate = 10}}).value()});
//   limiter.Take({.path = "/api/users"}, caller);   // calls caller->OnAnswer: served, or refused and why
//   limiter.Leave(ticket);                          // if the caller no longer waits
//
// A path that is not configured gets an endpoint of its own (a dynamic one) when a request first names it, with the
// configuration of the nearest configured path above it. The endpoint is removed when no request has named its path for
// a while. If there are max_dynamic such endpoints already (QueuedRules), the endpoint of that configured path serves
// the request.
//
// Threads: every function may be called from any thread, and none blocks. Endpoints are spread over shards, and one
// thread at a time works on a shard: if the shard is busy, a call leaves its work to the thread that is there
// (by_name/shards.h). So callbacks run in the calling thread before the call returns, or a moment later in the other
// thread. A request in line may also be answered in the thread that calls Tick.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/by_name/page.h"
#include "throttle/queued/endpoint_config.h"
#include "throttle/queued/queued_events.h"

namespace weir {

class QueuedShard;
template <typename Shard>
class Shards;

struct QueuedConfig {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  std::shared_ptr<QueuedEvents> events;  // null: events are not kept
  size_t max_waiting = 100'000;          // requests in line, at all endpoints together
  // How long after its last use a dynamic endpoint is removed, if no request waits then and a new endpoint would not
  // let more through.
  Duration idle_after = std::chrono::minutes(10);
  size_t shards = 25;
};

enum class QueuedCode : uint8_t {
  kServed,
  kInvalidPath,     // the path does not begin with /, or is longer than kMostPathBytes
  kUnknownPath,     // neither the path nor one above it is configured
  kTooLarge,        // the request costs more tokens than a window has
  kTooLongWait,     // the predicted wait is longer than the time-out
  kQueueFull,       // the queue is full, and requests may not wait before it
  kTooManyWaiting,  // no further request can wait, at any endpoint of the limiter or before this queue
  kClosed,          // the limiter was closed
};

struct QueuedAnswer {
  QueuedCode code = QueuedCode::kServed;
  // The path and the configuration of the endpoint, valid during the call of OnAnswer. They are empty and null, and
  // only the code is set, for kInvalidPath, and also for kUnknownPath and kClosed unless the request stood in line.
  std::string_view endpoint;
  const EndpointConfig* config = nullptr;
  bool dynamic = false;    // the path of the endpoint itself is not configured
  Duration waited{};       // how long the request stood in line
  uint32_t waiting = 0;    // requests in line at the endpoint now
  uint32_t tokens = 0;     // if kServed with token_window: the tokens that the request consumed
  uint32_t left = 0;       // requests, or with token_window tokens, that can pass at once now
  Duration until_room{};   // the time until more can pass than now
  Duration retry_after{};  // if kTooLongWait, kQueueFull or kTooManyWaiting: the time before a new try; else 0
};

// Identifies a request in line, for Leave.
struct QueuedTicket {
  uint32_t shard = 0;
  uint32_t slot = 0;
  uint64_t number = 0;
};

// Gets the answer to one request. The limiter calls these functions in the thread that works on the endpoint's shard,
// so they must be quick, and they must not throw. They may call the limiter, but must not destroy it.
class QueuedCaller {
 public:
  virtual ~QueuedCaller() = default;
  // Called when the request begins to stand in line, before OnAnswer; not called if it is answered at once.
  virtual void OnWaiting(QueuedTicket /*ticket*/) {}
  // Called for a request in line just before its answer. If it returns false, the request leaves the line and consumes
  // nothing, and OnAnswer is not called.
  virtual bool StillWaits() { return true; }
  // Called once, but not if the request left the line (QueuedLimiter::Leave, StillWaits).
  virtual void OnAnswer(const QueuedAnswer& answer) = 0;
};

struct QueuedRequest {
  std::string_view path;
  int32_t priority = 0;             // requests of higher priority are served sooner, if the scheduler is kPriority
  std::optional<uint64_t> tokens;   // the cost, for token_window; nullopt or 0: the endpoint's default_tokens
  std::optional<Duration> timeout;  // replaces queue_timeout; 0: the request is refused if any wait is predicted
};
inline constexpr int32_t kMostPriority = 1'000'000'000;  // priorities are clamped to this and its negative

struct EndpointState {
  std::string path;
  std::shared_ptr<const EndpointConfig> config;
  bool dynamic = false;   // the path itself is not configured
  uint32_t queued = 0;    // requests in the queue
  uint32_t blocked = 0;   // requests that wait before the queue
  uint32_t left = 0;      // requests, or with token_window tokens, that can pass at once now
  uint64_t served = 0;    // requests served since the endpoint was made
  uint64_t rejected = 0;  // requests refused since the endpoint was made
};

// Counts of requests since the limiter was made, unless a comment says otherwise.
struct QueuedCounts {
  uint64_t served = 0;     // served at once, or after waiting
  uint64_t rejected = 0;   // refused, but not with kInvalidPath; with kClosed only if in line
  uint64_t waited = 0;     // that stood in line, served or not
  uint64_t left = 0;       // that left the line (Leave, StillWaits)
  uint64_t waiting = 0;    // requests in line now
  uint64_t endpoints = 0;  // endpoints that exist now
  uint64_t dynamic = 0;    // dynamic ones among them
};

class QueuedLimiter {
 public:
  // Uses the system's clock, and starts a thread that calls Tick.
  explicit QueuedLimiter(QueuedConfig config);
  // Starts no thread: the caller has to call Tick. The clock must outlive the limiter.
  QueuedLimiter(QueuedConfig config, const Clock& clock);
  // Calls Close.
  ~QueuedLimiter();

  // Decides on a request, and keeps `caller` until the answer. Calls caller->OnAnswer; if the request has to stand in
  // line, calls caller->OnWaiting first, and caller->OnAnswer later.
  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  // Takes a request out of line. The request then consumes nothing and is not answered. Does nothing if the request is
  // not in line any more.
  void Leave(QueuedTicket ticket);

  // Replaces the rules, also for the endpoints that exist. Requests in line go on waiting under the new rules. They are
  // answered with kUnknownPath if their path is not served any more, and with kTooLarge if they cost more tokens than a
  // window has now.
  void SetRules(const std::shared_ptr<const QueuedRules>& rules);
  // Answers all requests in line, and all later ones, with kClosed. Removes all endpoints.
  void Close();

  // Serves the requests in line that may pass now, and removes dynamic endpoints that no request has named for long.
  // Returns when Tick has to be called again; a later request may need an earlier call.
  TimePoint Tick();

  QueuedCounts Counts() const;
  // Calls `done` once with the state of the endpoint of that path, or with nullopt if there is none.
  void Describe(std::string_view path, std::function<void(std::optional<EndpointState>)> done);
  // Calls `done` once with a page of endpoints that begins at `place` (by_name/page.h).
  void DescribePage(PagePlace place, std::function<void(Page<EndpointState>)> done);
  // Calls `done` once with the states of all endpoints, sorted by path.
  void DescribeAll(std::function<void(std::vector<EndpointState>)> done);

 private:
  Bound waiting_;
  Bound dynamic_;
  std::atomic<size_t> configured_;
  std::unique_ptr<Shards<QueuedShard>> shards_;
};

}  // namespace weir
