#include "throttle/keyed/keyed_shard.h"

#include <algorithm>
#include <random>

namespace weir {
namespace {

constexpr int kIdleWindows = 3;
// In one turn; the rest is granted in the next, which comes at once.
constexpr size_t kMostGrantsInTurn = 1024;

// Nobody can guess a grant's number who has seen none of the key's.
uint64_t FirstGrant() {
  thread_local std::mt19937_64 random(uint64_t{std::random_device()()} << 32 | std::random_device()());
  return random() >> 1;
}

}  // namespace

KeyedShard::KeyedShard(Surroundings surroundings, std::shared_ptr<const KeyedRules> rules)
    : surroundings_(std::move(surroundings)), rules_(std::move(rules)) {}

void KeyedShard::Take(const HashedName& name, const KeyedRequest& request, const std::shared_ptr<KeyedCaller>& caller) {
  if (closed_) return caller->OnAnswer({.code = KeyedCode::kClosed});
  const TimePoint now = surroundings_.clock.Now();
  Key* key = FindOrMake(name, now);
  if (key == nullptr) {
    refused_.Add(1);
    return caller->OnAnswer({.code = KeyedCode::kTooManyKeys});
  }
  if (request.max_requests || request.max_waiting) Override(key, request, now);
  key->window.Advance(now);
  if (key->line != nullptr) GrantThoseInLine(key, now);

  const bool line_forms = key->line != nullptr;
  if (!line_forms && key->window.used() < key->limits.max_requests) return Grant(key, *caller, Duration{}, now);
  if (!request.may_wait || key->limits.max_requests == 0) return Refuse(key, KeyedCode::kNoRoom, *caller, now);
  if ((line_forms ? key->line->size() : 0) >= key->limits.max_waiting)
    return Refuse(key, KeyedCode::kLineFull, *caller, now);
  if (!surroundings_.waiting.Take(1)) return Refuse(key, KeyedCode::kTooManyWaiting, *caller, now);
  Wait(key, caller, now);
}

bool KeyedShard::GiveBack(const HashedName& name, uint64_t grant) {
  const auto found = keys_.find(name);
  if (found == keys_.end()) return false;
  Key& key = found->second;
  const TimePoint now = surroundings_.clock.Now();
  key.window.Advance(now);
  const bool given_back = key.window.GiveBack(grant);
  if (given_back) given_back_.Add(1);
  if (key.line != nullptr) GrantThoseInLine(&key, now);
  return given_back;
}

void KeyedShard::Leave(const HashedName& name, KeyedTicket ticket) {
  const auto found = keys_.find(name);
  if (found == keys_.end() || found->second.line == nullptr || !found->second.line->Leave(ticket)) return;
  if (found->second.line->empty()) found->second.line.reset();
  surroundings_.waiting.GiveBack(1);
  left_.Add(1);
}

void KeyedShard::SetRules(std::shared_ptr<const KeyedRules> rules) {
  rules_ = std::move(rules);
  ++rules_version_;
  // Those who wait are granted by the new limits; the other keys learn of them when they are named.
  const TimePoint now = surroundings_.clock.Now();
  due_ = {};
  for (auto& [name, key] : keys_) {
    key.is_due = false;
    if (key.line == nullptr) continue;
    Refresh(name, &key, now);
    if (key.line != nullptr) MakeDue(&key, now);
  }
}

void KeyedShard::Close() {
  closed_ = true;
  for (auto& [name, key] : keys_) {
    if (key.line == nullptr) continue;
    while (!key.line->empty()) {
      surroundings_.waiting.GiveBack(1);
      key.line->Next().caller->OnAnswer({.code = KeyedCode::kClosed});
    }
  }
  surroundings_.keys.GiveBack(keys_.size());
  keys_.clear();
  due_ = {};
  next_sweep_ = TimePoint::max();
}

void KeyedShard::Tick() {
  const TimePoint now = surroundings_.clock.Now();
  const size_t granted_before = granted_.value();
  while (!due_.empty() && due_.top().first <= now && granted_.value() - granted_before < kMostGrantsInTurn) {
    Key* key = due_.top().second;
    due_.pop();
    key->is_due = false;
    if (key->line == nullptr) continue;
    key->window.Advance(now);
    GrantThoseInLine(key, now);
  }
  if (now >= next_sweep_) {
    surroundings_.keys.GiveBack(sweep_.Some(&keys_, [now](const auto& key) { return IsIdle(key.second, now); }));
    next_sweep_ = keys_.empty() ? TimePoint::max() : now + Sweep::kEvery;
  }
}

TimePoint KeyedShard::NextTick() const { return due_.empty() ? next_sweep_ : std::min(next_sweep_, due_.top().first); }

KeyedShard::Key* KeyedShard::FindOrMake(const HashedName& name, TimePoint now) {
  if (const auto found = keys_.find(name); found != keys_.end()) {
    Refresh(name.name, &found->second, now);
    return &found->second;
  }
  surroundings_.keys.GiveBack(sweep_.InPassing(&keys_, [now](const auto& key) { return IsIdle(key.second, now); }));
  if (!surroundings_.keys.Take(1)) return nullptr;
  if (next_sweep_ == TimePoint::max()) {
    next_sweep_ = now + Sweep::kEvery;
    surroundings_.wants_tick(next_sweep_);
  }
  const KeyedLimits& limits = rules_->Of(name.name);
  Key key{
      .window = GrantWindow(now, limits.window, limits.kind, FirstGrant()), .limits = limits, .rules = rules_version_};
  return &keys_.emplace(name.name, std::move(key)).first->second;
}

void KeyedShard::Refresh(std::string_view name, Key* key, TimePoint now) {
  if (key->rules == rules_version_) return;
  key->rules = rules_version_;
  if (!key->overridden) SetLimits(key, rules_->Of(name), now);
}

void KeyedShard::Override(Key* key, const KeyedRequest& request, TimePoint now) {
  KeyedLimits limits = key->limits;
  limits.max_requests = std::min(kMostKeyedRequests, request.max_requests.value_or(limits.max_requests));
  limits.max_waiting = std::min(kMostKeyedWaiting, request.max_waiting.value_or(limits.max_waiting));
  key->overridden = true;
  SetLimits(key, limits, now);
}

void KeyedShard::SetLimits(Key* key, const KeyedLimits& limits, TimePoint now) {
  key->window.Advance(now);
  if (limits.window != key->limits.window || limits.kind != key->limits.kind)
    key->window.Change(now, limits.window, limits.kind);
  key->limits = limits;
  if (key->line != nullptr) GrantThoseInLine(key, now);
}

void KeyedShard::Grant(Key* key, KeyedCaller& caller, Duration waited, TimePoint now) {
  const uint64_t grant = key->window.Add();
  KeyedAnswer answer = AnswerOf(*key, KeyedCode::kGranted, now);
  answer.grant = grant;
  answer.waited = waited;
  granted_.Add(1);
  caller.OnAnswer(answer);
}

void KeyedShard::Refuse(Key* key, KeyedCode code, KeyedCaller& caller, TimePoint now) {
  ++key->refused;
  refused_.Add(1);
  caller.OnAnswer(AnswerOf(*key, code, now));
}

void KeyedShard::Wait(Key* key, const std::shared_ptr<KeyedCaller>& caller, TimePoint now) {
  if (key->line == nullptr) key->line = std::make_unique<WaitingLine>();
  const KeyedTicket ticket = next_ticket_++;
  key->line->Join({.number = ticket, .since = now, .caller = caller});
  waited_.Add(1);
  MakeDue(key, now);
  caller->OnWaiting(ticket);
}

void KeyedShard::GrantThoseInLine(Key* key, TimePoint now) {
  const bool nobody = key->limits.max_requests == 0;  // since its limits are others
  for (size_t answered = 0; answered < kMostGrantsInTurn && !key->line->empty(); ++answered) {
    if (!nobody && key->window.used() >= key->limits.max_requests) break;
    const WaitingLine::Waiting next = key->line->Next();
    surroundings_.waiting.GiveBack(1);
    if (nobody) {
      Refuse(key, KeyedCode::kNoRoom, *next.caller, now);
    } else {
      Grant(key, *next.caller, now - next.since, now);
    }
  }
  if (key->line->empty()) {
    key->line.reset();
  } else {
    MakeDue(key, now);
  }
}

void KeyedShard::MakeDue(Key* key, TimePoint now) {
  if (key->is_due) return;
  key->is_due = true;
  const bool has_room = key->limits.max_requests == 0 || key->window.used() < key->limits.max_requests;
  const TimePoint due = has_room ? now : key->window.NextLeaves();
  due_.emplace(due, key);
  surroundings_.wants_tick(due);
}

bool KeyedShard::IsIdle(const Key& key, TimePoint now) {
  return !key.is_due && key.line == nullptr &&
         now - key.window.slice_end() >= kIdleWindows * Duration(key.limits.window);
}

KeyedAnswer KeyedShard::AnswerOf(const Key& key, KeyedCode code, TimePoint now) const {
  const uint32_t used = key.window.used();
  return {
      .code = code,
      .limits = key.limits,
      .used = used,
      .waiting = static_cast<uint32_t>(key.line != nullptr ? key.line->size() : 0),
      .until_room = used > 0 ? key.window.NextLeaves() - now : Duration{},
  };
}

KeyState KeyedShard::StateOf(const std::string& name, const Key& key, TimePoint now) const {
  const uint32_t used = key.window.UsedAt(now);
  return {
      .key = name,
      .limits = key.limits,
      .used = used,
      .waiting = static_cast<uint32_t>(key.line != nullptr ? key.line->size() : 0),
      .refused = key.refused,
      .until_room = used > 0 ? std::max(Duration{}, key.window.NextLeaves() - now) : Duration{},
  };
}

std::optional<KeyState> KeyedShard::Describe(const HashedName& name) const {
  const auto found = keys_.find(name);
  if (found == keys_.end()) return std::nullopt;
  return StateOf(found->first, found->second, surroundings_.clock.Now());
}

std::vector<KeyState> KeyedShard::DescribeSome(size_t most) const {
  const TimePoint now = surroundings_.clock.Now();
  std::vector<KeyState> states;
  for (auto at = keys_.begin(); at != keys_.end() && states.size() < most; ++at)
    states.push_back(StateOf(at->first, at->second, now));
  return states;
}

void KeyedShard::AddTo(KeyedCounts* counts) const {
  counts->granted += granted_.value();
  counts->refused += refused_.value();
  counts->waited += waited_.value();
  counts->left += left_.value();
  counts->given_back += given_back_.value();
}

}  // namespace weir
