#include "throttle/limits/queued/queued_limiter.h"

#include <algorithm>
#include <utility>

#include "throttle/limits/by_name/shards.h"
#include "throttle/limits/queued/queued_shard.h"

namespace weir {
namespace {

// A copy of a request that outlives the call of Take.
struct OwnTake {
  OwnTake(std::string_view name, const QueuedRequest& from, std::shared_ptr<QueuedCaller> asker)
      : path(name), request(from), caller(std::move(asker)) {}

  std::string path;
  QueuedRequest request;  // its `path` is not valid; use the `path` above
  std::shared_ptr<QueuedCaller> caller;
};

}  // namespace

QueuedLimiter::QueuedLimiter(QueuedConfig config) : QueuedLimiter(std::move(config), Clock::System()) {
  shards_->StartTicking();
}

QueuedLimiter::QueuedLimiter(QueuedConfig config, const Clock& clock)
    : waiting_(config.max_waiting), dynamic_(config.rules->max_dynamic()), configured_(config.rules->configs().size()) {
  const size_t count = std::max<size_t>(1, config.shards);
  shards_ = std::make_unique<Shards<QueuedShard>>(count, [&](size_t number, auto wants_tick) {
    return QueuedShard(
        {
            .clock = clock,
            .waiting = waiting_,
            .dynamic = dynamic_,
            .wants_tick = std::move(wants_tick),
            .is_mine = [count, number](uint64_t hash) { return Shards<QueuedShard>::NumberOf(hash, count) == number; },
            .pass_on =
                [this](std::string_view ancestor, const QueuedRequest& request,
                       const std::shared_ptr<QueuedCaller>& caller) {
                  QueuedRequest passed_on = request;
                  passed_on.path = ancestor;
                  Take(passed_on, caller);
                },
        },
        static_cast<uint32_t>(number), config);
  });
}

QueuedLimiter::~QueuedLimiter() { Close(); }

void QueuedLimiter::Take(const QueuedRequest& request, const std::shared_ptr<QueuedCaller>& caller) {
  if (!request.path.starts_with('/') || request.path.size() > kMostPathBytes)
    return caller->OnAnswer({.code = QueuedCode::kInvalidPath});
  const HashedName path(CanonicalPath(request.path));
  shards_->DoAt(
      path.hash, [&](QueuedShard& shard) { shard.Take(path, request, caller); },
      [&] {
        return [own = OwnTake(path.name, request, caller)](QueuedShard& shard) {
          shard.Take(HashedName(own.path), own.request, own.caller);
        };
      });
}

void QueuedLimiter::Leave(QueuedTicket ticket) {
  if (ticket.shard >= shards_->size()) return;
  const auto leave = [ticket](QueuedShard& shard) { shard.Leave(ticket); };
  shards_->Do(ticket.shard, leave, [&] { return leave; });
}

void QueuedLimiter::SetRules(const std::shared_ptr<const QueuedRules>& rules) {
  dynamic_.SetMost(rules->max_dynamic());
  configured_.store(rules->configs().size(), std::memory_order_relaxed);
  shards_->DoAtAll([rules](QueuedShard& shard) { shard.SetRules(rules); });
}

void QueuedLimiter::Close() {
  shards_->DoAtAll([](QueuedShard& shard) { shard.Close(); });
}

TimePoint QueuedLimiter::Tick() { return shards_->Tick(); }

QueuedCounts QueuedLimiter::Counts() const {
  const size_t dynamic = dynamic_.held();
  QueuedCounts counts{.waiting = waiting_.held(),
                      .endpoints = configured_.load(std::memory_order_relaxed) + dynamic,
                      .dynamic = dynamic};
  for (size_t i = 0; i < shards_->size(); ++i) (*shards_)[i].AddTo(&counts);
  return counts;
}

void QueuedLimiter::Describe(std::string_view path, std::function<void(std::optional<EndpointState>)> done) {
  const HashedName name(CanonicalPath(path));
  shards_->DoAt(
      name.hash, [&](QueuedShard& shard) { done(shard.Describe(name)); },
      [&] {
        return [own = std::string(name.name), done](QueuedShard& shard) { done(shard.Describe(HashedName(own))); };
      });
}

void QueuedLimiter::DescribePage(PagePlace place, std::function<void(Page<EndpointState>)> done) {
  shards_->PageFrom<EndpointState>(
      place, [](QueuedShard& shard, size_t number, Page<EndpointState>* page) { return shard.AddTo(number, page); },
      std::move(done));
}

void QueuedLimiter::DescribeAll(std::function<void(std::vector<EndpointState>)> done) {
  shards_->GatherFromAll<EndpointState>([](QueuedShard& shard) { return shard.DescribeAll(); },
                                        [done = std::move(done)](std::vector<EndpointState> states) {
                                          std::ranges::sort(states, {}, &EndpointState::path);
                                          done(std::move(states));
                                        });
}

}  // namespace weir
