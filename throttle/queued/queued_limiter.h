// QueuedLimiter: endpoints, found by path, each with a queue and a rate. A request becomes a ticket, waits, and is
// answered when its endpoint lets it through.
//
//   QueuedLimiter limiter({.rules = QueuedRules::Make({{.path = "/api", .rate = 10}}).value()});
//   limiter.Take({.path = "/api/users"}, caller);   // caller->OnAnswer: served, now or later, or why not
//   limiter.Leave(ticket);                          // whom nobody waits for any more
//
// A path that is not configured gets an endpoint of its own when it is first named, with all that its nearest
// configured ancestor has; it ends when nobody has named it for a while. Where there are too many of them, the ancestor
// itself serves.
//
// Threads: any, for every function. Endpoints are spread over shards; a shard is touched by one thread at a time,
// without a lock (Shards). So an answer comes before the call returns, or a moment later from the thread that is at the
// shard, or, to those who wait, from the thread that calls Tick. Nobody waits for a thread.
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
  std::shared_ptr<QueuedEvents> events;  // null: nobody watches
  size_t max_waiting = 100'000;          // at all endpoints
  // An endpoint that is not configured ends then, if nobody waits and a new one would let through no more.
  Duration idle_after = std::chrono::minutes(10);
  size_t shards = 25;
};

enum class QueuedCode : uint8_t {
  kServed,
  kInvalidPath,     // does not begin with /, or is longer than kMostPathBytes
  kUnknownPath,     // neither it nor an ancestor is configured
  kTooLarge,        // costs more tokens than a window has
  kTooLongWait,     // longer than its time-out, as predicted
  kQueueFull,       // and the endpoint does not let others wait before it
  kTooManyWaiting,  // nobody else can wait, at any endpoint
  kClosed,
};

struct QueuedAnswer {
  QueuedCode code = QueuedCode::kServed;
  // Which endpoint it was, and how it is configured: valid during the call, and none where there was none.
  std::string_view endpoint;
  const EndpointConfig* config = nullptr;
  bool dynamic = false;  // not configured itself
  Duration waited{};
  uint32_t waiting = 0;    // in line
  uint32_t tokens = 0;     // of token_window: consumed
  uint32_t left = 0;       // what can be let through at once, in requests or tokens
  Duration until_room{};   // until more can be let through
  Duration retry_after{};  // of a refusal that need not last
};

// What it waits by.
struct QueuedTicket {
  uint32_t shard = 0;
  uint32_t slot = 0;
  uint64_t number = 0;
};

// Called from whichever thread is at the endpoint's shard: must be quick, and must not throw. It may call the limiter.
class QueuedCaller {
 public:
  virtual ~QueuedCaller() = default;
  // It stands in line; OnAnswer follows.
  virtual void OnWaiting(QueuedTicket /*ticket*/) {}
  // Of one in line, before it is answered. False: it has left, consumes nothing and is not answered.
  virtual bool StillWaits() { return true; }
  // Once.
  virtual void OnAnswer(const QueuedAnswer& answer) = 0;
};

struct QueuedRequest {
  std::string_view path;
  int32_t priority = 0;             // the higher the sooner, at an endpoint whose scheduler is priority
  std::optional<uint64_t> tokens;   // of token_window; without them, or of 0, the endpoint's default_tokens
  std::optional<Duration> timeout;  // instead of the endpoint's; 0: no wait that is predicted
};
inline constexpr int32_t kMostPriority = 1'000'000'000;  // and as far below 0; what lies beyond counts as these

struct EndpointState {
  std::string path;
  std::shared_ptr<const EndpointConfig> config;
  bool dynamic = false;
  uint32_t queued = 0;
  uint32_t blocked = 0;  // before the queue
  uint32_t left = 0;     // what can be let through at once, in requests or tokens
  uint64_t served = 0;   // since it was made
  uint64_t rejected = 0;
};

struct QueuedCounts {
  uint64_t served = 0;  // at once or after waiting
  uint64_t rejected = 0;
  uint64_t waited = 0;     // stood in line, whatever came of it
  uint64_t left = 0;       // the line
  uint64_t waiting = 0;    // now
  uint64_t endpoints = 0;  // now
  uint64_t dynamic = 0;    // of them
};

class QueuedLimiter {
 public:
  // On the machine's clock, with a thread that calls Tick.
  explicit QueuedLimiter(QueuedConfig config);
  // Whoever makes it calls Tick. The clock must outlive it.
  QueuedLimiter(QueuedConfig config, const Clock& clock);
  // Whoever waits then is answered kClosed.
  ~QueuedLimiter();

  void Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  // Consumes nothing, and is not answered, unless it is no longer in line (QueuedCaller::StillWaits).
  void Leave(QueuedTicket ticket);

  // Those who wait go on to wait, by the new rules; where their path is no longer served, they are answered so.
  void SetRules(const std::shared_ptr<const QueuedRules>& rules);
  // Whoever waits, and whoever comes, is answered kClosed.
  void Close();

  // Serves those for whom there is room now, and ends endpoints that nobody names, a part of them each time. When it
  // wants to be called again.
  TimePoint Tick();

  QueuedCounts Counts() const;
  // Of the endpoint of that path, or nothing where there is none.
  void Describe(std::string_view path, std::function<void(std::optional<EndpointState>)> done);
  // Of some, from the place on.
  void DescribePage(PagePlace place, std::function<void(Page<EndpointState>)> done);
  // Of all, sorted by path.
  void DescribeAll(std::function<void(std::vector<EndpointState>)> done);

 private:
  Bound waiting_;
  Bound dynamic_;
  std::atomic<size_t> configured_;
  std::unique_ptr<Shards<QueuedShard>> shards_;
};

}  // namespace weir
