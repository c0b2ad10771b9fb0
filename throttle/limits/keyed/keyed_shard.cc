#include "throttle/limits/keyed/keyed_shard.h"

#include <algorithm>
#include <random>

namespace weir {
namespace {

constexpr int kIdleWindows = 3;
// Bytes of a key without its name, but with its part of the hash table. Waiting requests are bounded separately.
constexpr size_t kBareKeyBytes = 176;
// The most grants in one call. The shard asks for a tick at once, which grants the rest.
constexpr size_t kMostGrantsInTurn = 1024;

// Returns the number of the first grant of a new key. It is random, so that a key that is removed and made again does
// not use its old numbers again. Later grants get consecutive numbers from there on, so a program that shows them to
// untrusted clients must encrypt them.
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
  Named* named = FindOrMake(name, request.client, now);
  if (named == nullptr) {
    refused_.Add(1);
    return caller->OnAnswer({.code = KeyedCode::kTooManyKeys});
  }
  Key* key = &named->second;
  if (request.max_requests || request.max_waiting) Override(named, request, now);
  key->window.Advance(now);
  if (key->line != nullptr) GrantThoseInLine(key, now);

  if (key->line == nullptr && key->HasRoom(now)) {
    Grant(key, *caller, Duration{}, now);
    return GoBackToSharing(key, now);
  }
  if (!request.may_wait && key->shared == nullptr) return Refuse(key, KeyedCode::kNoRoom, *caller, now);
  if (const auto why = WhyNotWait(*key, request.may_wait, now)) {
    Refuse(key, *why, *caller, now);
    return GoBackToSharing(key, now);
  }
  if (!surroundings_.waiting.Take(1)) return Refuse(key, KeyedCode::kTooManyWaiting, *caller, now);
  Wait(key, request.may_wait, caller, now);
}

std::optional<KeyedCode> KeyedShard::WhyNotWait(const Key& key, bool may_wait, TimePoint now) const {
  if (key.limits.max_requests == 0) return KeyedCode::kNoRoom;
  size_t places = may_wait ? key.limits.max_waiting : 0;
  if (key.shared != nullptr && !key.shared->lease.IsFull(now)) {
    if (key.shared->lease.IsAway(now)) {
      if (!may_wait) return KeyedCode::kStoreAway;
    } else {
      places += key.limits.max_requests;  // the store may lease up to this many
    }
  }
  if ((key.line != nullptr ? key.line->size() : 0) < places) return std::nullopt;
  return may_wait ? KeyedCode::kLineFull : KeyedCode::kNoRoom;
}

bool KeyedShard::GiveBack(const HashedName& name, uint64_t grant) {
  const auto found = keys_.find(name);
  if (found == keys_.end()) return false;
  Key& key = found->second;
  const TimePoint now = surroundings_.clock.Now();
  key.window.Advance(now);
  const bool given_back = key.window.GiveBack(grant, surroundings_.keys.HasRoom(key.party, GrantWindow::kMostGrowth));
  if (given_back) {
    given_back_.Add(1);
    Recount(&*found);
    if (key.shared != nullptr) key.shared->lease.GiveBack();
  }
  if (key.line != nullptr) GrantThoseInLine(&key, now);
  return given_back;
}

void KeyedShard::Leave(const HashedName& name, KeyedTicket ticket) {
  const auto found = keys_.find(name);
  if (found == keys_.end() || found->second.line == nullptr || !found->second.line->Leave(ticket)) return;
  if (found->second.line->empty()) EndLine(&found->second);
  surroundings_.waiting.GiveBack(1);
  left_.Add(1);
}

void KeyedShard::OnLease(const HashedName& name, uint64_t ask, const LeaseAnswer& answer) {
  leased_.Add(answer.granted);
  if (!answer.answered) leases_unanswered_.Add(1);
  const auto found = keys_.find(name);
  if (found == keys_.end() || found->second.shared == nullptr || !found->second.shared->lease.IsAnswerTo(ask))
    return unspent_.Add(answer.granted);
  Key& key = found->second;
  SharedLease& lease = key.shared->lease;
  const TimePoint now = surroundings_.clock.Now();
  key.window.Advance(now);
  const SharedLease::Change change = lease.OnAnswer(answer, now, key.window.used(), key.limits.max_requests,
                                                    key.limits.window, surroundings_.when_away);
  unspent_.Add(change.unspent);
  // The window gets its whole length, even if a part of it has passed, because later windows get the same length.
  const Duration window = key.limits.window;
  if (change.begins) key.window.Restart(lease.end() - window, window);
  if (change.moves) key.window.Change(lease.end() - window, window, WindowKind::kFixed);
  if (key.line != nullptr) GrantThoseInLine(&key, now);
}

void KeyedShard::SetRules(std::shared_ptr<const KeyedRules> rules) {
  rules_ = std::move(rules);
  ++rules_version_;
  // Keys with waiting requests get their new limits now; the others when the next request names them.
  const TimePoint now = surroundings_.clock.Now();
  for (Named& named : keys_)
    if (named.second.line != nullptr) Refresh(&named, now);
}

void KeyedShard::Close() {
  closed_ = true;
  for (auto& [name, key] : keys_) {
    surroundings_.keys.GiveBack(key.party, key.bytes);
    if (key.line == nullptr) continue;
    while (!key.line->empty()) {
      surroundings_.waiting.GiveBack(1);
      key.line->Next().caller->OnAnswer({.code = KeyedCode::kClosed});
    }
  }
  keys_.clear();
  due_.clear();
  next_sweep_ = TimePoint::max();
}

void KeyedShard::Tick() {
  const TimePoint now = surroundings_.clock.Now();
  const size_t granted_before = granted_.value();
  while (!due_.empty() && due_.begin()->first <= now && granted_.value() - granted_before < kMostGrantsInTurn) {
    Key* key = due_.begin()->second;
    due_.erase(due_.begin());
    key->line->due = TimePoint::max();
    key->window.Advance(now);
    GrantThoseInLine(key, now);
  }
  if (now >= next_sweep_) {
    sweep_.Some(&keys_, [&](const auto& key) { return Forgets(key.second, now); });
    next_sweep_ = keys_.empty() ? TimePoint::max() : now + Sweep::kEvery;
  }
}

TimePoint KeyedShard::NextTick() const {
  return due_.empty() ? next_sweep_ : std::min(next_sweep_, due_.begin()->first);
}

KeyedShard::Named* KeyedShard::FindOrMake(const HashedName& name, std::optional<uint64_t> client, TimePoint now) {
  if (const auto found = keys_.find(name); found != keys_.end()) {
    if (found->second.rules != rules_version_) Refresh(&*found, now);
    return &*found;
  }
  sweep_.InPassing(&keys_, [&](const auto& key) { return Forgets(key.second, now); });
  const uint16_t party = NameRoom::PartyOf(client);
  if (!surroundings_.keys.Take(party, kUsualKeyBytes)) return nullptr;
  if (next_sweep_ == TimePoint::max()) {
    next_sweep_ = now + Sweep::kEvery;
    surroundings_.wants_tick(next_sweep_);
  }
  const KeyedLimits& limits = rules_->Of(name.name);
  Key key{.window = GrantWindow(now, limits.window, limits.kind, FirstGrant()),
          .limits = limits,
          .bytes = kUsualKeyBytes,
          .party = party,
          .rules = rules_version_};
  Named* named = &*keys_.emplace(name.name, std::move(key)).first;
  Recount(named);
  ShareOrNot(named);
  return named;
}

void KeyedShard::Recount(Named* named) {
  Key& key = named->second;
  const size_t bytes = std::max(kUsualKeyBytes, kBareKeyBytes + named->first.size() + key.window.more_bytes());
  surroundings_.keys.Change(key.party, key.bytes, bytes);
  key.bytes = static_cast<uint32_t>(bytes);
}

void KeyedShard::Refresh(Named* named, TimePoint now) {
  Key& key = named->second;
  key.rules = rules_version_;
  if (!key.overridden) SetLimits(named, rules_->Of(named->first), now);
}

void KeyedShard::Override(Named* named, const KeyedRequest& request, TimePoint now) {
  KeyedLimits limits = named->second.limits;
  limits.max_requests = std::min(kMostKeyedRequests, request.max_requests.value_or(limits.max_requests));
  limits.max_waiting = std::min(kMostKeyedWaiting, request.max_waiting.value_or(limits.max_waiting));
  named->second.overridden = true;
  SetLimits(named, limits, now);
}

void KeyedShard::SetLimits(Named* named, const KeyedLimits& limits, TimePoint now) {
  Key& key = named->second;
  if (limits == key.limits) return;
  key.window.Advance(now);
  if (limits.window != key.limits.window || limits.kind != key.limits.kind) {
    key.window.Change(now, limits.window, limits.kind);
    Recount(named);
    if (key.shared != nullptr) unspent_.Add(key.shared->lease.unspent());
    key.shared.reset();
  }
  key.limits = limits;
  ShareOrNot(named);
  if (key.line != nullptr) GrantThoseInLine(&key, now);
}

void KeyedShard::ShareOrNot(Named* named) {
  Key& key = named->second;
  if (surroundings_.ask == nullptr) return;
  if (!key.limits.shared || !CanBeShared(key.limits)) {
    if (key.shared != nullptr) unspent_.Add(key.shared->lease.unspent());
    key.shared.reset();
  } else if (key.shared == nullptr) {
    key.shared = std::make_unique<Shared>(named->first);
  } else {
    key.shared->lease.ForgetFull();
  }
}

void KeyedShard::Grant(Key* key, KeyedCaller& caller, Duration waited, TimePoint now) {
  const uint64_t grant = key->window.Add();
  if (key->shared != nullptr) key->shared->lease.Spend();
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

void KeyedShard::Wait(Key* key, bool may_wait, const std::shared_ptr<KeyedCaller>& caller, TimePoint now) {
  if (key->line == nullptr) key->line = std::make_unique<Line>();
  const KeyedTicket ticket = next_ticket_++;
  key->line->Join({.number = ticket, .may_wait = may_wait, .since = now, .caller = caller});
  waited_.Add(1);
  MakeDue(key, now);
  caller->OnWaiting(ticket);
}

void KeyedShard::GrantThoseInLine(Key* key, TimePoint now) {
  const bool nobody = key->limits.max_requests == 0;  // the limits changed while requests waited
  for (size_t answered = 0; answered < kMostGrantsInTurn && !key->line->empty(); ++answered) {
    if (!nobody && !key->HasRoom(now)) break;
    const WaitingLine::Waiting next = key->line->Next();
    surroundings_.waiting.GiveBack(1);
    if (nobody) {
      Refuse(key, KeyedCode::kNoRoom, *next.caller, now);
    } else {
      Grant(key, *next.caller, now - next.since, now);
    }
  }
  if (key->shared != nullptr && !key->HasRoom(now)) LetGoThoseInLine(key, now);
  if (key->line->empty()) {
    EndLine(key);
  } else {
    MakeDue(key, now);
  }
}

// If it is known now that there is no room, refuses the requests that waited in line only until this is known, plus the
// requests for which the line has no place any more.
void KeyedShard::LetGoThoseInLine(Key* key, TimePoint now) {
  const bool is_full = key->shared->lease.IsFull(now);
  if (!is_full && !key->shared->lease.IsAway(now)) return;
  for (const WaitingLine::Waiting& gone : key->line->LetGo(key->limits.max_waiting)) {
    surroundings_.waiting.GiveBack(1);
    const KeyedCode code = gone.may_wait ? KeyedCode::kLineFull : is_full ? KeyedCode::kNoRoom : KeyedCode::kStoreAway;
    Refuse(key, code, *gone.caller, now);
  }
}

void KeyedShard::GoBackToSharing(Key* key, TimePoint now) {
  if (key->shared != nullptr && key->shared->lease.WantsBack(now)) AskFor(key, now);
}

void KeyedShard::AskFor(Key* key, TimePoint now) {
  Shared& shared = *key->shared;
  const auto waiting = static_cast<uint32_t>(key->line != nullptr ? key->line->size() : 0);
  const uint64_t ask = next_ask_++;
  const uint32_t grants =
      shared.lease.Ask(now, ask, waiting, key->window.used(), key->limits.max_requests, key->limits.window);
  leases_.Add(1);
  surroundings_.ask(
      ask, {.key = shared.key, .window = key->limits.window, .limit = key->limits.max_requests, .grants = grants});
}

void KeyedShard::MakeDue(Key* key, TimePoint now) {
  TimePoint due = now;
  if (key->limits.max_requests > 0 && !key->HasRoom(now)) {
    if (key->shared == nullptr) {
      due = key->window.NextLeaves();
    } else {
      if (key->shared->lease.on_its_way()) return;
      if (key->shared->lease.WantsToAsk(now)) return AskFor(key, now);
      due = key->shared->lease.LookAgainAt(now);
    }
  }
  if (due >= key->line->due) return;
  due_.erase({key->line->due, key});
  key->line->due = due;
  due_.emplace(due, key);
  surroundings_.wants_tick(due);
}

void KeyedShard::EndLine(Key* key) {
  due_.erase({key->line->due, key});
  key->line.reset();
}

bool KeyedShard::Forgets(const Key& key, TimePoint now) {
  const bool in_use = key.line != nullptr || (key.shared != nullptr && key.shared->lease.on_its_way());
  if (in_use || now - key.window.slice_end() < kIdleWindows * Duration(key.limits.window)) return false;
  if (key.shared != nullptr) unspent_.Add(key.shared->lease.unspent());
  surroundings_.keys.GiveBack(key.party, key.bytes);
  return true;
}

KeyedAnswer KeyedShard::AnswerOf(const Key& key, KeyedCode code, TimePoint now) const {
  const uint32_t used = key.window.used();
  KeyedAnswer answer{
      .code = code,
      .limits = key.limits,
      .used = used,
      .waiting = static_cast<uint32_t>(key.line != nullptr ? key.line->size() : 0),
      .until_room = used > 0 ? key.window.NextLeaves() - now : Duration{},
  };
  if (key.shared != nullptr) TellOfAll(key.shared->lease, now, &answer);
  return answer;
}

void KeyedShard::TellOfAll(const SharedLease& lease, TimePoint now, KeyedAnswer* answer) {
  answer->used = std::min(lease.UsedByAll(answer->used), answer->limits.max_requests);
  answer->until_room = (answer->code == KeyedCode::kStoreAway ? lease.retry_at() : std::max(now, lease.end())) - now;
}

KeyState KeyedShard::StateOf(const std::string& name, const Key& key, TimePoint now) const {
  KeyState state{
      .key = name,
      .limits = key.limits,
      .used = key.window.UsedAt(now),
      .waiting = static_cast<uint32_t>(key.line != nullptr ? key.line->size() : 0),
      .refused = key.refused,
  };
  if (key.shared != nullptr) {
    const SharedLease& lease = key.shared->lease;
    const bool runs = now < lease.end();
    state.used = runs ? lease.UsedByAll(state.used) : 0;
    if (runs) state.until_room = lease.end() - now;
    state.lease = {.left = runs ? lease.left() : 0,
                   .batch = lease.batch(),
                   .on_its_way = lease.on_its_way(),
                   .alone = lease.alone()};
  } else if (state.used > 0) {
    state.until_room = std::max(Duration{}, key.window.NextLeaves() - now);
  }
  return state;
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

bool KeyedShard::AddTo(size_t number, Page<KeyState>* page) const {
  const TimePoint now = surroundings_.clock.Now();
  return page->Add(number, keys_, [&](const Named& named) { return StateOf(named.first, named.second, now); });
}

void KeyedShard::AddTo(KeyedCounts* counts) const {
  counts->granted += granted_.value();
  counts->refused += refused_.value();
  counts->waited += waited_.value();
  counts->left += left_.value();
  counts->given_back += given_back_.value();
  counts->leases += leases_.value();
  counts->leases_unanswered += leases_unanswered_.value();
  counts->leased += leased_.value();
  counts->unspent += unspent_.value();
}

}  // namespace weir
