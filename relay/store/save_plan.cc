#include "relay/store/save_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/nostr/vanish.h"

namespace weir {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kLookedUpAtOnce = 256;  // events

bool CanBeDeleted(uint16_t kind) { return kind != kDeletionKind && kind != kVanishKind; }

// Returns true if `a` is the one to keep.
bool IsNewer(EventView a, EventView b) {
  if (a.created_at() != b.created_at()) return a.created_at() > b.created_at();
  return a.id() < b.id();
}

std::string MarkOf(const EventId& id, const PublicKey& author) {
  std::string mark(reinterpret_cast<const char*>(id.data()), id.size());
  return mark.append(reinterpret_cast<const char*>(author.data()), author.size());
}

}  // namespace

Result<size_t> SavePlan::Add(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.size() != results.size()) throw std::logic_error("Save needs a result for every event");
  pending_.reserve(events.size());
  pending_ids_.reserve(events.size());
  Result<size_t> settled = Settle(events, results);
  if (settled.ok()) Finish();
  return settled;
}

Result<size_t> SavePlan::Settle(std::span<const Event> events, std::span<SaveResult> results) {
  for (size_t begin = 0; begin < events.size(); begin += kLookedUpAtOnce) {
    const size_t count = std::min(kLookedUpAtOnce, events.size() - begin);
    if (Status found = LookUp(events.subspan(begin, count)); !found.ok()) return found;
    for (size_t i = 0; i < count; ++i) {
      const size_t n = begin + i;
      const EventView event = events[n].view();
      if (n > 0 && work() + edit_.adding_work(event) > most_) return n;
      const Result<bool> settled = Settle(event, known_[i], &results[n]);
      if (!settled.ok()) return settled.status();
      if (!settled.value()) return n;
    }
  }
  return events.size();
}

// Returns false if only a part of a deletion was done.
Result<bool> SavePlan::Settle(EventView event, const Known& known, SaveResult* result) {
  const Work removals_before = edit_.removal_work();
  const Result<std::optional<SaveOutcome>> outcome = Decide(event, known, result);
  if (!outcome.ok()) return outcome.status();
  result->removal += edit_.removal_work() - removals_before;
  if (!outcome.value()) return false;
  result->outcome = *outcome.value();
  const bool saved = result->outcome == SaveOutcome::kSaved;
  result->serial = {.number = saved ? pending_.back().serial : 0};
  result->vanishes = event.kind() == kVanishKind && vanishing_.contains(event.pubkey());
  return true;
}

Status SavePlan::LookUp(std::span<const Event> events) {
  authors_.clear();
  const auto look_up = [this](const PublicKey& author) {
    if (vanished_.try_emplace(author).second) authors_.push_back(author);
  };
  for (const Event& event : events) ForEachOwner(event.view(), look_up);
  known_.assign(events.size(), Known());
  until_.assign(authors_.size(), std::nullopt);
  if (Status found = edit_.LookUp(events, authors_, &known_, &until_); !found.ok()) return found;
  for (size_t i = 0; i < authors_.size(); ++i) vanished_[authors_[i]] = until_[i];
  return {};
}

// Returns null if only a part of a deletion was done.
Result<std::optional<SaveOutcome>> SavePlan::Decide(EventView event, const Known& known, SaveResult* result) {
  if (ClassOf(event.kind()) == KindClass::kEphemeral) throw std::logic_error("ephemeral events are not stored");
  work_ += kEntryWork;  // looking up the event
  const bool vanished = HasVanished(event);
  if (IsPending(event)) return std::optional(SaveOutcome::kDuplicate);
  if (known.stored && !edit_.IsRemoved(*known.stored)) {
    const Result<bool> goes = vanished ? IsYetToVanish(event, known) : Result<bool>(false);
    if (!goes.ok()) return goes.status();
    // An import may have saved the request before this relay was set to the address that it names.
    if (!vanished && AsksToVanish(event)) ApplyVanish(event, *known.stored);
    return std::optional(goes.value() ? SaveOutcome::kVanished : SaveOutcome::kDuplicate);
  }
  if (IsExpired(event, now_seconds_)) return std::optional(SaveOutcome::kExpired);
  if (vanished) return std::optional(SaveOutcome::kVanished);
  if (IsDeleted(event, known)) return std::optional(SaveOutcome::kDeleted);
  if (HasAddress(event.kind())) {
    const Result<bool> supersedes = Supersedes(event, known);
    if (!supersedes.ok()) return supersedes.status();
    if (!supersedes.value()) return std::optional(SaveOutcome::kSuperseded);
  }
  if (event.kind() == kDeletionKind) {
    const Result<bool> applied = ApplyDeletion(event, result);
    if (!applied.ok()) return applied.status();
    if (!applied.value()) return std::optional<SaveOutcome>();
  }
  Store(event);
  if (AsksToVanish(event)) ApplyVanish(event, pending_.back().serial);
  return std::optional(SaveOutcome::kSaved);
}

bool SavePlan::IsPending(EventView event) const {
  const auto pending = pending_ids_.find(event.id());
  return pending != pending_ids_.end() && pending_[pending->second].alive;
}

// Returns true if this stored event still has to be removed. Only the last request of its author stays.
Result<bool> SavePlan::IsYetToVanish(EventView event, const Known& known) {
  if (event.kind() != kVanishKind) return true;
  if (const auto last = vanishing_.find(event.pubkey()); last != vanishing_.end()) return last->second != event.id();
  Result<bool> stays = edit_.RequestStays(event.pubkey(), *known.stored);
  if (!stays.ok()) return stays;
  return !stays.value();
}

bool SavePlan::HasVanished(EventView event) const {
  bool vanished = false;
  ForEachOwner(event, [&](const PublicKey& owner) {
    const auto until = vanished_.find(owner);
    vanished |= until != vanished_.end() && until->second && event.created_at() <= *until->second;
  });
  return vanished;
}

bool SavePlan::IsDeleted(EventView event, const Known& known) const {
  if (!CanBeDeleted(event.kind())) return false;
  if (known.is_deleted) return true;
  bool deleted = false;
  if (!deletion_marks_.empty()) {
    ForEachOwner(event,
                 [&](const PublicKey& owner) { deleted |= deletion_marks_.contains(MarkOf(event.id(), owner)); });
  }
  if (deleted) return true;
  if (!HasAddress(event.kind())) return false;
  if (known.address_deleted_until && event.created_at() <= *known.address_deleted_until) return true;
  if (address_marks_.empty()) return false;
  const auto mark = address_marks_.find(AddressOf(event));
  return mark != address_marks_.end() && event.created_at() <= mark->second;
}

// Returns true if the event is the newest of its address. Removes the version that it replaces.
Result<bool> SavePlan::Supersedes(EventView event, const Known& known) {
  const auto [at, first] = versions_.try_emplace(AddressOf(event));
  if (first && known.newest && !edit_.IsRemoved(*known.newest)) at->second.stored = known.newest;
  const Version current = at->second;
  if (current.pending != kNone) {
    if (IsNewer(pending_[current.pending].event, event)) return false;
    pending_[current.pending].alive = false;
  } else if (current.stored) {
    const Result<bool> found = ReadStored(*current.stored);
    if (!found.ok()) return found.status();
    // An expired version does not supersede the event, because it will be removed soon.
    if (found.value() && !IsExpired(EventView(record_), now_seconds_) && IsNewer(EventView(record_), event))
      return false;
    if (found.value()) RemoveStored(*current.stored, EventView(record_));
  }
  versions_[AddressOf(event)] = {.pending = pending_.size(), .stored = {}};
  return true;
}

void SavePlan::Store(EventView event) {
  work_ += edit_.adding_work(event);
  pending_ids_[event.id()] = pending_.size();
  pending_.push_back({event, edit_.TakeSerial()});
}

// Returns false if there is more to do than this plan may do; the edit then has the marks of the finished part.
Result<bool> SavePlan::ApplyDeletion(EventView deletion, SaveResult* result) {
  const Work before = work();
  uint32_t number = 0;
  for (const TagView tag : deletion.tags()) {
    if (number++ < result->tags_done) continue;
    if (work() > before && work() >= most_) return false;
    Status applied;
    if (tag.letter == 'e') applied = DeleteById(deletion, tag.value);
    if (tag.letter == 'a') applied = DeleteByAddress(deletion, tag.value);
    if (!applied.ok()) return applied;
    result->tags_done = number;
  }
  return true;
}

Status SavePlan::DeleteById(EventView deletion, std::string_view id_hex) {
  EventId id;
  if (!FromHex(id_hex, id.data(), id.size())) return {};
  work_ += kSeekWork + kEntryWork;
  const auto applies = [&deletion](EventView target) {
    return CanBeDeleted(target.kind()) &&
           (target.pubkey() == deletion.pubkey() || IsWrappedFor(target, ToHex(deletion.pubkey())));
  };
  if (const auto pending = pending_ids_.find(id); pending != pending_ids_.end() && pending_[pending->second].alive) {
    Pending& target = pending_[pending->second];
    if (!applies(target.event)) return {};
    target.alive = false;
    if (HasAddress(target.event.kind())) versions_[AddressOf(target.event)] = {};
  } else {
    const Result<std::optional<StoreEdit::Handle>> stored = edit_.Find(id);
    if (!stored.ok()) return stored.status();
    if (stored.value() && !edit_.IsRemoved(*stored.value())) {
      const Result<bool> found = ReadStored(*stored.value());
      if (!found.ok()) return found.status();
      if (found.value() && !applies(EventView(record_))) return {};
      if (found.value()) RemoveStored(*stored.value(), EventView(record_));
    }
  }
  if (deletion_marks_.emplace(MarkOf(id, deletion.pubkey())).second) edit_.MarkDeleted(id, deletion.pubkey());
  return {};
}

Status SavePlan::DeleteByAddress(EventView deletion, std::string_view name) {
  const std::optional<NamedAddress> named = ParseAddress(name);
  if (!named || named->author != deletion.pubkey()) return {};
  work_ += 2 * kSeekWork + kEntryWork;
  const Address address = AddressOf(named->kind, named->author, named->d);
  const Result<std::optional<uint64_t>> stored_mark = edit_.DeletedUntil(address);
  if (!stored_mark.ok()) return stored_mark.status();
  const uint64_t until = std::max(deletion.created_at(), stored_mark.value().value_or(0));
  uint64_t& mark = address_marks_.try_emplace(address, until).first->second;
  mark = std::max(mark, until);

  const Result<Version> version = CurrentVersion(address);
  if (!version.ok()) return version.status();
  if (version.value().pending != kNone) {
    if (pending_[version.value().pending].event.created_at() <= mark) {
      pending_[version.value().pending].alive = false;
      versions_[address] = {};
    }
    return {};
  }
  if (!version.value().stored) return {};
  const Result<bool> found = ReadStored(*version.value().stored);
  if (!found.ok()) return found.status();
  if (found.value() && EventView(record_).created_at() <= mark)
    RemoveStored(*version.value().stored, EventView(record_));
  return {};
}

Result<SavePlan::Version> SavePlan::CurrentVersion(const Address& address) {
  if (const auto known = versions_.find(address); known != versions_.end()) return known->second;
  const Result<std::optional<StoreEdit::Handle>> newest = edit_.NewestOf(address);
  if (!newest.ok()) return newest.status();
  Version version;
  if (newest.value() && !edit_.IsRemoved(*newest.value())) version.stored = newest.value();
  versions_.emplace(address, version);
  return version;
}

bool SavePlan::AsksToVanish(EventView event) const {
  return event.kind() == kVanishKind && AsksToVanishFrom(event, urls_);
}

// The mark holds from now on. Stored events are removed later (EventStore::RemoveVanished), pending ones now. `serial`
// is as for StoreEdit::MarkVanished.
void SavePlan::ApplyVanish(EventView request, uint64_t serial) {
  std::optional<uint64_t>& until = vanished_[request.pubkey()];
  until = std::max(until.value_or(0), request.created_at());
  vanishing_[request.pubkey()] = request.id();
  const std::string hex = ToHex(request.pubkey());
  for (Pending& pending : pending_) {
    if (!pending.alive || pending.event.created_at() > request.created_at()) continue;
    if (pending.event.id() == request.id()) continue;
    if (pending.event.pubkey() != request.pubkey() && !IsWrappedFor(pending.event, hex)) continue;
    pending.alive = false;
    if (HasAddress(pending.event.kind())) versions_[AddressOf(pending.event)] = {};
  }
  edit_.MarkVanished(request.pubkey(), *until, request, serial);
}

// Reads into record_.
Result<bool> SavePlan::ReadStored(StoreEdit::Handle handle) {
  Result<bool> found = edit_.Read(handle, &record_);
  work_ += kRecordWork + record_.size() * kRecordByteWork;
  return found;
}

void SavePlan::RemoveStored(StoreEdit::Handle handle, EventView event) {
  work_ += kSeekWork + kRecordWork;
  edit_.Remove(handle, event);
  if (HasAddress(event.kind())) versions_[AddressOf(event)] = {};
}

void SavePlan::Finish() {
  for (const Pending& pending : pending_)
    if (pending.alive) edit_.Add(pending.event, pending.serial);
  for (const auto& [address, until] : address_marks_) edit_.MarkDeleted(address, until);
}

}  // namespace weir
