// QueuedShard: some of the endpoints of a QueuedLimiter, and the requests that wait at them.
//
// Threads: one at a time, unless a comment says otherwise.
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
#include "throttle/queued/endpoint.h"
#include "throttle/queued/queued_limiter.h"

namespace weir {

class QueuedShard {
 public:
  // All of these must outlive the shard.
  struct Surroundings {
    const Clock& clock;
    Bound& waiting;
    Bound& dynamic;
    std::function<void(TimePoint)> wants_tick;  // at that time
    std::function<bool(uint64_t hash)> is_mine;
    // Passes a request on to the endpoint of an ancestor, which may be another shard's.
    std::function<void(std::string_view ancestor, const QueuedRequest&, const std::shared_ptr<QueuedCaller>&)> pass_on;
  };
  QueuedShard(Surroundings surroundings, uint32_t number, const QueuedConfig& config);

  void Take(const HashedName& path, const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller);
  void Leave(QueuedTicket ticket);
  void SetRules(std::shared_ptr<const QueuedRules> rules);
  void Close();

  // Serves the requests in line for which there is room now, and ends endpoints that are no longer named.
  void Tick();
  // Returns when it wants to be called.
  TimePoint NextTick() const;

  std::optional<EndpointState> Describe(const HashedName& path);
  std::vector<EndpointState> DescribeAll();
  // Adds endpoints to the page, as Page::Add does.
  bool AddTo(size_t number, Page<EndpointState>* page);
  // May be called from any thread. Adds the counts of what happened, not of what is there.
  void AddTo(QueuedCounts* counts) const;

 private:
  struct Held {
    template <typename... Args>
    explicit Held(Args&&... args) : endpoint(std::forward<Args>(args)...) {}

    Endpoint endpoint;
    bool is_due = false;  // it stands in due_, and does not end
  };
  using Endpoints = std::unordered_map<std::string, Held, HashName, SameName>;
  using Due = std::pair<TimePoint, Held*>;
  using DueFirst = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  Held& Make(std::string_view path, const std::shared_ptr<const EndpointConfig>& config, bool dynamic, TimePoint now);
  void MakeConfigured(TimePoint now);
  // These plan when an endpoint is served, and when it ends.
  void WatchOver(Held* held, TimePoint now);
  void ExpectEnd(Held* held, TimePoint at);
  void EndOrWait(Held* held, TimePoint now);

  Surroundings surroundings_;
  const std::shared_ptr<QueuedEvents> events_;
  const Duration idle_after_;
  std::shared_ptr<const QueuedRules> rules_;
  EndpointSurroundings of_endpoints_;
  bool closed_ = false;
  Endpoints endpoints_;
  DueFirst due_;   // endpoints at which requests wait
  DueFirst idle_;  // endpoints that are not configured, each once
};

}  // namespace weir
