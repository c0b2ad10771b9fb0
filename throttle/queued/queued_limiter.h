// QueuedLimiter: endpoints, found by path, each with a queue and a rate. A request becomes a ticket, waits, and is
// answered when its endpoint lets it through.
//
//   QueuedLimiter limiter({.rules = QueuedRules::Make({{.path = "/api", .rate = 10}}).value()});
//   limiter.Take({.path = "/api/users"}, caller);   // caller->OnAnswer: served, now or later, or why not
//   limiter.Leave(ticket);                          // if its caller no longer waits
//
// A path that is not configured gets an endpoint of its own when it is first named, with the configuration of its
// nearest configured ancestor; it ends when it was not named for a while. If there are too many of them, the ancestor
// itself serves.
//
// Threads: any, for every function. Endpoints are spread over shards; a shard is touched by one thread at a time,
// without a lock (Shards). So an answer comes before the call returns, or a moment later from the thread that is at the
// shard; a request in line may also be answered by the thread that calls Tick. No thread waits for another.
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
  size_t max_waiting = 100'000;          // at all endpoints
  // How long after its last use an endpoint ends that is not configured, if no request waits and a new one would let
  // through no more.
  Duration idle_after = std::chrono::minutes(10);
  size_t shards = 25;
};

enum class QueuedCode : uint8_t {
  kServed,
  kInvalidPath,     // does not begin with /, or is longer than kMostPathBytes
  kUnknownPath,     // neither it nor an ancestor is configured
  kTooLarge,        // costs more tokens than a window has
  kTooLongWait,     // the predicted wait is longer than the time-out
  kQueueFull,       // the queue is full, and the request may not wait before it
  kTooManyWaiting,  // no further request can wait, at any endpoint or before this queue
  kClosed,
};

struct QueuedAnswer {
  QueuedCode code = QueuedCode::kServed;
  // The endpoint, and its configuration: valid during the call; empty and null if there was none.
  std::string_view endpoint;
  const EndpointConfig* config = nullptr;
  bool dynamic = false;  // not configured itself
  Duration waited{};
  uint32_t waiting = 0;    // in line
  uint32_t tokens = 0;     // with token_window: consumed
  uint32_t left = 0;       // can be let through at once, in requests or tokens
  Duration until_room{};   // until more can be let through
  Duration retry_after{};  // for a refusal that need not last
};

// Identifies a request in line, for Leave.
struct QueuedTicket {
  uint32_t shard = 0;
  uint32_t slot = 0;
  uint64_t number = 0;
};

// Gets the answer to a request, from the thread that is at the endpoint's shard: must be quick, and must not throw. It
// may call the limiter.
class QueuedCaller {
 public:
  virtual ~QueuedCaller() = default;
  // The request stands in line; OnAnswer follows.
  virtual void OnWaiting(QueuedTicket /*ticket*/) {}
  // Called for a request in line, before it is answered. False: it has left, consumes nothing and is not answered.
  virtual bool StillWaits() { return true; }
  // Called once.
  virtual void OnAnswer(const QueuedAnswer& answer) = 0;
};

struct QueuedRequest {
  std::string_view path;
  int32_t priority = 0;             // the higher the sooner, at an endpoint whose scheduler is priority
  std::optional<uint64_t> tokens;   // for token_window; without them, or if 0, the endpoint's default_tokens
  std::optional<Duration> timeout;  // replaces the endpoint's; 0: refused if a wait is predicted
};
inline constexpr int32_t kMostPriority = 1'000'000'000;  // and as far below 0; values beyond count as these

struct EndpointState {
  std::string path;
  std::shared_ptr<const EndpointConfig> config;
  bool dynamic = false;
  uint32_t queued = 0;
  uint32_t blocked = 0;  // before the queue
  uint32_t left = 0;     // can be let through at once, in requests or tokens
  uint64_t served = 0;   // since the endpoint was made
  uint64_t rejected = 0;
};

struct QueuedCounts {
  uint64_t served = 0;  // at once or after waiting
  uint64_t rejected = 0;
  uint64_t waited = 0;     // stood in line, served or not
  uint64_t left = 0;       // left the line
  uint64_t waiting = 0;    // now
  uint64_t endpoints = 0;  // now
  uint64_t dynamic = 0;    // endpoints that are not configured
};

class QueuedLimiter {
 public:
  // Uses the machine's clock, and a thread that calls Tick.
  explicit QueuedLimiter(QueuedConfig config);
  // The owner calls Tick. The clock must outlive the limiter.
  QueuedLimiter(QueuedConfig config, const Clock& clock);
  // Answers all requests in line with kClosed.
  ~QueuedLimiter();

  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  // Takes the request out of line: it consumes nothing and is not answered. Does nothing if it is no longer in line
  // (see QueuedCaller::StillWaits).
  void Leave(QueuedTicket ticket);

  // Requests in line go on waiting, by the new rules, or are answered kUnknownPath if their path is no longer served.
  void SetRules(const std::shared_ptr<const QueuedRules>& rules);
  // Answers all requests in line, and all later ones, with kClosed.
  void Close();

  // Serves the requests in line for which there is room now, and ends endpoints that are no longer named, a part of
  // them each time. Returns when it wants to be called again.
  TimePoint Tick();

  QueuedCounts Counts() const;
  // Describes the endpoint of that path; nullopt if there is none.
  void Describe(std::string_view path, std::function<void(std::optional<EndpointState>)> done);
  // Describes some endpoints, from the place on.
  void DescribePage(PagePlace place, std::function<void(Page<EndpointState>)> done);
  // Describes all endpoints, sorted by path.
  void DescribeAll(std::function<void(std::vector<EndpointState>)> done);

 private:
  Bound waiting_;
  Bound dynamic_;
  std::atomic<size_t> configured_;
  std::unique_ptr<Shards<QueuedShard>> shards_;
};

}  // namespace weir
