#include "throttle/limits/queued/queued_shard.h"

#include <algorithm>

namespace weir {
namespace {

// The least time between two ticks for an endpoint. More ticks would cost more than they gain: the allowance makes up
// for a late tick.
constexpr Duration kLeastBetweenTicks = std::chrono::microseconds(200);
// After about this many served requests, or this many removed endpoints, Tick leaves the rest to the next Tick, which
// follows at once.
constexpr size_t kMostServedInTurn = 1024;
constexpr size_t kMostEndedInTurn = 256;

}  // namespace

QueuedShard::QueuedShard(Surroundings surroundings, uint32_t number, const QueuedConfig& config)
    : surroundings_(std::move(surroundings)),
      events_(config.events),
      idle_after_(config.idle_after),
      rules_(config.rules),
      of_endpoints_{.waiting = surroundings_.waiting, .events = events_.get(), .shard = number} {
  MakeConfigured(surroundings_.clock.Now());
}

void QueuedShard::Take(const HashedName& path, const QueuedRequest& request,
                       const std::shared_ptr<QueuedCaller>& caller) {
  if (closed_) return caller->OnAnswer({.code = QueuedCode::kClosed});
  const TimePoint now = surroundings_.clock.Now();
  Held* held = nullptr;
  if (const auto found = endpoints_.find(path); found != endpoints_.end()) {
    held = &found->second;
  } else {
    const auto* ancestor = rules_->Nearest(path.name);
    if (ancestor == nullptr) {
      of_endpoints_.rejected.Add(1);
      return caller->OnAnswer({.code = QueuedCode::kUnknownPath});
    }
    if (!surroundings_.dynamic.Take(1)) return surroundings_.pass_on(ancestor->first, request, caller);
    held = &Make(path.name, ancestor->second, true, now);
  }
  held->endpoint.Take(request, caller, now);
  WatchOver(held, now);
}

void QueuedShard::Leave(QueuedTicket ticket) {
  if (!of_endpoints_.tickets.Has(ticket.slot, ticket.number)) return;
  of_endpoints_.tickets[ticket.slot].endpoint->Leave(ticket.slot, surroundings_.clock.Now());
}

void QueuedShard::SetRules(std::shared_ptr<const QueuedRules> rules) {
  if (closed_) return;
  rules_ = std::move(rules);
  const TimePoint now = surroundings_.clock.Now();
  due_ = {};
  idle_ = {};
  for (auto at = endpoints_.begin(); at != endpoints_.end();) {
    Held& held = at->second;
    Endpoint& endpoint = held.endpoint;
    held.is_due = false;
    const bool was_dynamic = endpoint.dynamic();
    const auto* nearest = rules_->Nearest(at->first);
    const bool dynamic = nearest != nullptr && nearest->first != at->first;
    if (dynamic && !was_dynamic) surroundings_.dynamic.TakeAnyway(1);
    if (was_dynamic && !dynamic) surroundings_.dynamic.GiveBack(1);
    if (nearest == nullptr) {
      endpoint.AnswerAll(QueuedCode::kUnknownPath, now);
      at = endpoints_.erase(at);
      continue;
    }
    endpoint.SetConfig(nearest->second, dynamic, now);
    if (dynamic) ExpectEnd(&held, endpoint.last_used() + idle_after_);
    WatchOver(&held, now);
    ++at;
  }
  MakeConfigured(now);
}

void QueuedShard::Close() {
  closed_ = true;
  const TimePoint now = surroundings_.clock.Now();
  for (auto& [path, held] : endpoints_) {
    held.endpoint.AnswerAll(QueuedCode::kClosed, now);
    if (held.endpoint.dynamic()) surroundings_.dynamic.GiveBack(1);
  }
  endpoints_.clear();
  due_ = {};
  idle_ = {};
}

void QueuedShard::Tick() {
  const TimePoint now = surroundings_.clock.Now();
  const uint64_t served_before = of_endpoints_.served.value();
  while (!due_.empty() && due_.top().first <= now && of_endpoints_.served.value() - served_before < kMostServedInTurn) {
    Held* held = due_.top().second;
    due_.pop();
    held->is_due = false;
    held->endpoint.Serve(now);
    WatchOver(held, now);
  }
  for (size_t i = 0; i < kMostEndedInTurn && !idle_.empty() && idle_.top().first <= now; ++i) {
    Held* held = idle_.top().second;
    idle_.pop();
    EndOrWait(held, now);
  }
}

TimePoint QueuedShard::NextTick() const {
  const TimePoint due = due_.empty() ? TimePoint::max() : due_.top().first;
  return idle_.empty() ? due : std::min(due, idle_.top().first);
}

QueuedShard::Held& QueuedShard::Make(std::string_view path, const std::shared_ptr<const EndpointConfig>& config,
                                     bool dynamic, TimePoint now) {
  std::string name(path);
  const auto made = endpoints_.try_emplace(name, of_endpoints_, name, config, dynamic, now).first;
  if (dynamic) ExpectEnd(&made->second, now + idle_after_);
  return made->second;
}

void QueuedShard::MakeConfigured(TimePoint now) {
  for (const auto& [path, config] : rules_->configs()) {
    const HashedName name(path);
    if (surroundings_.is_mine(name.hash) && !endpoints_.contains(name)) Make(path, config, false, now);
  }
}

void QueuedShard::WatchOver(Held* held, TimePoint now) {
  if (held->is_due || !held->endpoint.somebody_waits()) return;
  held->is_due = true;
  const TimePoint next = held->endpoint.NextServe(now);
  const TimePoint due = next > now ? std::max(next, now + kLeastBetweenTicks) : now;
  due_.emplace(due, held);
  surroundings_.wants_tick(due);
}

void QueuedShard::ExpectEnd(Held* held, TimePoint at) {
  idle_.emplace(at, held);
  surroundings_.wants_tick(at);
}

void QueuedShard::EndOrWait(Held* held, TimePoint now) {
  const TimePoint idle = held->endpoint.last_used() + idle_after_;
  if (idle > now || held->is_due || !held->endpoint.CanEnd(now))
    return ExpectEnd(held, std::max(idle, now + idle_after_ / 8));
  endpoints_.erase(endpoints_.find(HashedName(held->endpoint.path())));
  surroundings_.dynamic.GiveBack(1);
}

std::optional<EndpointState> QueuedShard::Describe(const HashedName& path) {
  const auto found = endpoints_.find(path);
  if (found == endpoints_.end()) return std::nullopt;
  return found->second.endpoint.State(surroundings_.clock.Now());
}

std::vector<EndpointState> QueuedShard::DescribeAll() {
  const TimePoint now = surroundings_.clock.Now();
  std::vector<EndpointState> states;
  for (auto& [path, held] : endpoints_) states.push_back(held.endpoint.State(now));
  return states;
}

bool QueuedShard::AddTo(size_t number, Page<EndpointState>* page) {
  const TimePoint now = surroundings_.clock.Now();
  return page->Add(number, endpoints_, [now](auto& named) { return named.second.endpoint.State(now); });
}

void QueuedShard::AddTo(QueuedCounts* counts) const {
  counts->served += of_endpoints_.served.value();
  counts->rejected += of_endpoints_.rejected.value();
  counts->waited += of_endpoints_.waited.value();
  counts->left += of_endpoints_.left.value();
}

}  // namespace weir
