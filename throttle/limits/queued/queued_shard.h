// QueuedShard: stores some of the endpoints of a QueuedLimiter, with their waiting requests. A function that has the
// same name in QueuedLimiter does the same here, for one shard.
//
// Threads: only one at a time may use a QueuedShard, unless a comment says otherwise. Shards (by_name/shards.h) ensures
// that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/text/name_hash.h"
#include "throttle/limits/queued/endpoint.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {

class QueuedShard {
 public:
  // The objects that a shard shares with the other shards. Those that are references must outlive the shard.
  struct Surroundings {
    const Clock& clock;
    Bound& waiting;                              // bounds the number of waiting requests
    Bound& dynamic;                              // bounds the number of dynamic endpoints
    std::function<void(TimePoint)> wants_tick;   // called with the time at which the shard needs a call of Tick
    std::function<bool(uint64_t hash)> is_mine;  // returns true if this shard has the paths with that hash
    // Passes a request to the endpoint of the configured path `ancestor`, which may be in another shard.
    std::function<void(std::string_view ancestor, const QueuedRequest&, const std::shared_ptr<QueuedCaller>&)> pass_on;
  };
  QueuedShard(Surroundings surroundings, uint32_t number, const QueuedConfig& config);

  void Take(const HashedName& path, const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  void Leave(QueuedTicket ticket);
  void SetRules(std::shared_ptr<const QueuedRules> rules);
  void Close();

  // Serves the waiting requests that may pass now, and removes some of the dynamic endpoints that no request has named
  // for a long time.
  void Tick();
  // Returns the time at which Tick has to be called; TimePoint::max() if no request waits and no endpoint is dynamic.
  TimePoint NextTick() const;

  std::optional<EndpointState> Describe(const HashedName& path);
  std::vector<EndpointState> DescribeAll();
  // Adds endpoints of this shard, whose number is `number`, to the page. Returns what Page::Add returns.
  bool AddTo(size_t number, Page<EndpointState>* page);
  // Adds the shard's counts to *counts, except `endpoints`, `dynamic` and `waiting`. May be called from any thread.
  void AddTo(QueuedCounts* counts) const;

 private:
  struct Held {
    template <typename... Args>
    explicit Held(Args&&... args) : endpoint(std::forward<Args>(args)...) {}

    Endpoint endpoint;
    bool is_due = false;  // true if due_ points to this endpoint, so that it must not be removed
  };
  using Endpoints = std::unordered_map<std::string, Held, HashName, SameName>;
  using Due = std::pair<TimePoint, Held*>;
  using DueFirst = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  // Makes an endpoint for the path. If the endpoint is dynamic, calls ExpectEnd.
  Held& Make(std::string_view path, const std::shared_ptr<const EndpointConfig>& config, bool dynamic, TimePoint now);
  // Makes the endpoints of the configured paths of this shard that do not exist yet.
  void MakeConfigured(TimePoint now);
  // Adds the endpoint to due_ if requests wait at it.
  void WatchOver(Held* held, TimePoint now);
  // Adds a dynamic endpoint to idle_, so that Tick calls EndOrWait for it at that time.
  void ExpectEnd(Held* held, TimePoint at);
  // Removes a dynamic endpoint if it has not been used for idle_after_ and may be removed; else calls ExpectEnd again.
  void EndOrWait(Held* held, TimePoint now);

  Surroundings surroundings_;
  const std::shared_ptr<QueuedEvents> events_;
  const Duration idle_after_;
  std::shared_ptr<const QueuedRules> rules_;
  EndpointSurroundings of_endpoints_;
  bool closed_ = false;
  Endpoints endpoints_;
  DueFirst due_;   // endpoints at which requests wait, by the time of their next Serve
  DueFirst idle_;  // dynamic endpoints, each once, by the time of their next EndOrWait
};

}  // namespace weir
