// QueuedLimiter: gives each path an endpoint, which has a queue and a rate. A request is served (let through) at once,
// is refused, or waits in the queue of its endpoint until it may pass.
//
//   QueuedLimiter limiter({.rules = QueuedRules::Make({{.path = "/api", .rate = 10}}).value()});
//   limiter.Take({.path = "/api/users"}, caller);   // calls caller->OnAnswer: served, or refused and why
//   limiter.Leave(ticket);                          // if the caller has stopped waiting
//
// A path that is not configured, but lies below a configured path, gets an endpoint of its own (a dynamic endpoint)
// when a request first names it. This endpoint has the configuration of the nearest configured path above it, and is
// removed when no request has named its path for a while. If there are max_dynamic such endpoints already
// (QueuedRules), the endpoint of that configured path serves the request instead.
//
// Threads: any thread may call any function, and none blocks, except the destructor. Endpoints are spread over shards,
// and one thread at a time works on a shard: if a shard is busy, a call queues its work for the thread that works there
// (by_name/shards.h). So callbacks run in the calling thread before the call returns, or a moment later in the other
// thread. A waiting request is answered in a thread that calls the limiter for the same endpoint, or calls Tick.
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
#include "throttle/limits/by_name/page.h"
#include "throttle/limits/queued/endpoint_config.h"
#include "throttle/limits/queued/queued_events.h"

namespace weir {

class QueuedShard;
template <typename Shard>
class Shards;

struct QueuedConfig {
  std::shared_ptr<const QueuedRules> rules = std::make_shared<QueuedRules>();
  std::shared_ptr<QueuedEvents> events;  // null: the limiter records no events
  size_t max_waiting = 100'000;          // the most waiting requests, at all endpoints together
  // The time from the last use of a dynamic endpoint to its removal. The endpoint stays longer if requests wait there,
  // or if a new endpoint for the path would let more requests pass.
  Duration idle_after = std::chrono::minutes(10);
  size_t shards = 25;
};

enum class QueuedCode : uint8_t {
  kServed,
  kInvalidPath,     // the path does not begin with /, or is longer than kMostPathBytes
  kUnknownPath,     // neither the path nor any path above it is configured
  kTooLarge,        // the request costs more tokens than a whole window has
  kTooLongWait,     // the predicted wait is longer than the time-out
  kQueueFull,       // the queue is full, and the configuration does not let requests wait outside it
  kTooManyWaiting,  // max_waiting requests wait, or this queue is full and too many requests wait outside it
  kClosed,          // Close was called
};

struct QueuedAnswer {
  QueuedCode code = QueuedCode::kServed;
  // The path and the configuration of the endpoint, valid until OnAnswer returns. They are empty and null, and only the
  // code is set, for kInvalidPath; also for kUnknownPath and kClosed, unless the request was waiting in line.
  std::string_view endpoint;
  const EndpointConfig* config = nullptr;
  bool dynamic = false;    // true if the path of the endpoint is not configured itself
  Duration waited{};       // how long the request waited in line
  uint32_t waiting = 0;    // requests that wait at the endpoint now
  uint32_t tokens = 0;     // if kServed with token_window: the tokens that the request consumed
  uint32_t left = 0;       // the requests (with token_window: tokens) that can pass at once now
  Duration until_room{};   // the time until more can pass than now
  Duration retry_after{};  // if kTooLongWait, kQueueFull or kTooManyWaiting: the time until another try; else 0
};

// Identifies a waiting request. Leave needs it.
struct QueuedTicket {
  uint32_t shard = 0;
  uint32_t slot = 0;
  uint64_t number = 0;
};

// Receives the answer to one request. The limiter calls these functions in the thread that works on the endpoint's
// shard, so they must be quick, and they must not throw. They may call the limiter, but must not destroy it.
class QueuedCaller {
 public:
  virtual ~QueuedCaller() = default;
  // Called when the request begins to wait in line, before OnAnswer. Not called for a request that is answered at once.
  virtual void OnWaiting(QueuedTicket /*ticket*/) {}
  // Called for a waiting request just before its answer. If it returns false, the limiter removes the request from the
  // line without calling OnAnswer, and the request consumes nothing.
  virtual bool StillWaits() { return true; }
  // Called once, with the answer. Not called if the request left the line (QueuedLimiter::Leave, StillWaits).
  virtual void OnAnswer(const QueuedAnswer& answer) = 0;
};

struct QueuedRequest {
  std::string_view path;
  int32_t priority = 0;             // with kPriority, requests of higher priority are served first
  std::optional<uint64_t> tokens;   // the cost, for token_window; nullopt or 0: the endpoint's default_tokens
  std::optional<Duration> timeout;  // used instead of queue_timeout; 0: refused if the predicted wait is above 0
};
inline constexpr int32_t kMostPriority = 1'000'000'000;  // priorities are clamped to ±kMostPriority

struct EndpointState {
  std::string path;
  std::shared_ptr<const EndpointConfig> config;
  bool dynamic = false;   // true if the path is not configured itself
  uint32_t queued = 0;    // requests in the queue, or set aside from it (endpoint.h)
  uint32_t blocked = 0;   // requests that wait outside the queue
  uint32_t left = 0;      // the requests (with token_window: tokens) that can pass at once now
  uint64_t served = 0;    // requests served since the endpoint was made
  uint64_t rejected = 0;  // requests refused since the endpoint was made
};

// Numbers of requests since the limiter was made, unless a comment says otherwise.
struct QueuedCounts {
  uint64_t served = 0;     // served, at once or after waiting
  uint64_t rejected = 0;   // refused, except with kInvalidPath; with kClosed only if they were waiting
  uint64_t waited = 0;     // requests that waited in line, served or not
  uint64_t left = 0;       // requests that left the line (Leave, StillWaits)
  uint64_t waiting = 0;    // requests that wait now
  uint64_t endpoints = 0;  // endpoints that exist now
  uint64_t dynamic = 0;    // dynamic endpoints that exist now
};

class QueuedLimiter {
 public:
  // Uses the system's clock, and starts a thread that calls Tick.
  explicit QueuedLimiter(QueuedConfig config);
  // Starts no thread: the caller has to call Tick. The clock must outlive the limiter.
  QueuedLimiter(QueuedConfig config, const Clock& clock);
  // Calls Close.
  ~QueuedLimiter();

  // Decides on a request, and keeps `caller` until the answer. Calls caller->OnAnswer; if the request has to wait in
  // line, calls caller->OnWaiting first, and caller->OnAnswer later.
  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  // Removes a request from the line. The request then consumes nothing, and OnAnswer is not called. Does nothing if the
  // request is not in line any more.
  void Leave(QueuedTicket ticket);

  // Replaces the rules, also for existing endpoints. Waiting requests keep waiting under the new rules, and cost
  // the new default_tokens if they state no tokens. The limiter refuses them if neither their path nor any path above
  // it is configured any more (kUnknownPath), or if they cost more tokens than a whole window has now (kTooLarge).
  void SetRules(const std::shared_ptr<const QueuedRules>& rules);
  // Answers all waiting requests, and all later requests, with kClosed. Removes all endpoints.
  void Close();

  // Serves the waiting requests that may pass now, and removes dynamic endpoints that no request has named for a long
  // time. Returns the time at which Tick has to be called again; a later request may need an earlier call.
  TimePoint Tick();

  QueuedCounts Counts() const;
  // Calls `done` once with the state of the endpoint of that path, or with nullopt if there is no such endpoint.
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
