#include "throttle/limits/keyed/keyed_limiter.h"

#include <utility>

#include "throttle/limits/by_name/shards.h"
#include "throttle/limits/keyed/keyed_shard.h"

namespace weir {
namespace {

// A copy of a request that outlives the call of Take.
struct OwnRequest {
  OwnRequest(const KeyedRequest& from, std::shared_ptr<KeyedCaller> asker)
      : key(from.key), request(from), caller(std::move(asker)) {}

  std::string key;
  KeyedRequest request;
  std::shared_ptr<KeyedCaller> caller;
};

}  // namespace

KeyedLimiter::KeyedLimiter(KeyedConfig config, std::unique_ptr<SharedWindows> shared)
    : KeyedLimiter(std::move(config), Clock::System(), std::move(shared)) {
  shards_->StartTicking();
}

KeyedLimiter::KeyedLimiter(KeyedConfig config, const Clock& clock, std::unique_ptr<SharedWindows> shared)
    : overrides_(config.overrides),
      keys_(config.max_keys, kUsualKeyBytes),
      waiting_(config.max_waiting),
      shared_(std::move(shared)) {
  shards_ = std::make_unique<Shards<KeyedShard>>(config.shards, [&](size_t, Shards<KeyedShard>::WantsTick wants_tick) {
    KeyedShard::Ask ask;
    if (shared_ != nullptr) ask = [this](uint64_t number, const LeaseWish& wish) { Ask(number, wish); };
    return KeyedShard({clock, keys_, waiting_, std::move(wants_tick), std::move(ask), config.when_away}, config.rules);
  });
}

KeyedLimiter::~KeyedLimiter() {
  Close();
  shards_->Stop();
  shared_.reset();  // passes its last answers to the shards
}

void KeyedLimiter::Ask(uint64_t ask, const LeaseWish& wish) {
  shared_->Ask(wish, [this, ask, key = std::string(wish.key)](const LeaseAnswer& answer) {
    const HashedName name(key);
    shards_->DoAt(
        name.hash, [&](KeyedShard& shard) { shard.OnLease(name, ask, answer); },
        [&] { return [key, ask, answer](KeyedShard& shard) { shard.OnLease(HashedName(key), ask, answer); }; });
  });
}

void KeyedLimiter::Take(const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller) {
  if (request.key.empty() || request.key.size() > kMostKeyBytes)
    return caller->OnAnswer({.code = KeyedCode::kInvalidKey});
  if (!overrides_ && (request.max_requests || request.max_waiting))
    return caller->OnAnswer({.code = KeyedCode::kOverridesOff});
  const HashedName name(request.key);
  shards_->DoAt(
      name.hash, [&](KeyedShard& shard) { shard.Take(name, request, caller); },
      [&] {
        return [own = OwnRequest(request, caller)](KeyedShard& shard) mutable {
          own.request.key = own.key;
          shard.Take(HashedName(own.key), own.request, own.caller);
        };
      });
}

void KeyedLimiter::GiveBack(std::string_view key, uint64_t grant, std::function<void(bool)> done) {
  const HashedName name(key);
  shards_->DoAt(
      name.hash, [&](KeyedShard& shard) { done(shard.GiveBack(name, grant)); },
      [&] {
        return
            [own = std::string(key), grant, done](KeyedShard& shard) { done(shard.GiveBack(HashedName(own), grant)); };
      });
}

void KeyedLimiter::Leave(std::string_view key, KeyedTicket ticket) {
  const HashedName name(key);
  shards_->DoAt(
      name.hash, [&](KeyedShard& shard) { shard.Leave(name, ticket); },
      [&] { return [own = std::string(key), ticket](KeyedShard& shard) { shard.Leave(HashedName(own), ticket); }; });
}

void KeyedLimiter::SetRules(std::shared_ptr<const KeyedRules> rules) {
  shards_->DoAtAll([rules = std::move(rules)](KeyedShard& shard) { shard.SetRules(rules); });
}

void KeyedLimiter::Close() {
  shards_->DoAtAll([](KeyedShard& shard) { shard.Close(); });
}

TimePoint KeyedLimiter::Tick() { return shards_->Tick(); }

KeyedCounts KeyedLimiter::Counts() const {
  KeyedCounts counts{.keys = keys_.names(), .waiting = waiting_.held()};
  for (size_t i = 0; i < shards_->size(); ++i) (*shards_)[i].AddTo(&counts);
  return counts;
}

std::optional<SharedWindowsHealth> KeyedLimiter::SharedHealth() const {
  if (shared_ == nullptr) return std::nullopt;
  return shared_->Health();
}

void KeyedLimiter::Describe(std::string_view key, std::function<void(std::optional<KeyState>)> done) {
  const HashedName name(key);
  shards_->DoAt(
      name.hash, [&](KeyedShard& shard) { done(shard.Describe(name)); },
      [&] { return [own = std::string(key), done](KeyedShard& shard) { done(shard.Describe(HashedName(own))); }; });
}

void KeyedLimiter::DescribePage(PagePlace place, std::function<void(Page<KeyState>)> done) {
  shards_->PageFrom<KeyState>(
      place, [](const KeyedShard& shard, size_t number, Page<KeyState>* page) { return shard.AddTo(number, page); },
      std::move(done));
}

void KeyedLimiter::DescribeAll(size_t most, std::function<void(std::vector<KeyState>)> done) {
  const size_t share = (most + shards_->size() - 1) / shards_->size();
  shards_->GatherFromAll<KeyState>([share](const KeyedShard& shard) { return shard.DescribeSome(share); },
                                   std::move(done));
}

}  // namespace weir
