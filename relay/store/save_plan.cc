#include "relay/store/save_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/nostr/vanish.h"

namespace weir {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kLookedUpAtOnce = 256;  // events

bool CanBeDeleted(uint16_t kind) { return kind != kDeletionKind && kind != kVanishKind; }

std::optional<PublicKey> ReadPublicKey(std::string_view hex) {
  PublicKey key;
  if (!FromHex(hex, key.data(), key.size())) return std::nullopt;
  return key;
}

// Whether the first is the one to keep.
bool IsNewer(EventView a, EventView b) {
  if (a.created_at() != b.created_at()) return a.created_at() > b.created_at();
  return a.id() < b.id();
}

}  // namespace

SavePlan::SavePlan(const Database& database, const std::vector<std::string>& urls, uint64_t now_seconds,
                   uint64_t next_serial, Work most)
    : database_(database), urls_(urls), now_seconds_(now_seconds), next_serial_(next_serial), most_(most) {}

Result<size_t> SavePlan::Add(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.size() != results.size()) throw std::logic_error("Save needs a result for every event");
  pending_.reserve(events.size());
  pending_ids_.reserve(events.size());
  for (size_t begin = 0; begin < events.size(); begin += kLookedUpAtOnce) {
    const size_t count = std::min(kLookedUpAtOnce, events.size() - begin);
    if (Status found = LookUp(events.subspan(begin, count)); !found.ok()) return found;
    for (size_t i = 0; i < count; ++i) {
      const size_t n = begin + i;
      const EventView event = events[n].view();
      if (n > 0 && work() + SavingWorkOf(event) > most_) return n;
      const Result<bool> settled = Settle(event, slots_[i], &results[n]);
      if (!settled.ok()) return settled.status();
      if (!settled.value()) return n;
    }
  }
  return events.size();
}

// False where only a part of a deletion was done.
Result<bool> SavePlan::Settle(EventView event, const Slots& slots, SaveResult* result) {
  const Work removals_before = removals_.work();
  const Result<std::optional<SaveOutcome>> outcome = Decide(event, slots, result);
  if (!outcome.ok()) return outcome.status();
  result->removal += removals_.work() - removals_before;
  if (!outcome.value()) return false;
  result->outcome = *outcome.value();
  const bool saved = result->outcome == SaveOutcome::kSaved;
  result->serial = saved ? next_serial_ - 1 : 0;
  result->vanishes = saved && event.kind() == kVanishKind && vanishing_.contains(event.pubkey());
  return true;
}

// One question to the index for many events: it answers a batch in half the time of as many single ones.
Status SavePlan::LookUp(std::span<const Event> events) {
  lookup_.Clear();
  slots_.clear();
  vanish_slots_.clear();
  const auto look_up_vanish = [this](const PublicKey& author) {
    if (vanished_.try_emplace(author).second) vanish_slots_.emplace_back(author, lookup_.Add(VanishMarkKey(author)));
  };
  for (const Event& event : events) {
    const EventView view = event.view();
    Slots slots{lookup_.Add(IdKey(view.id())), kNone, kNone, kNone};
    if (CanBeDeleted(view.kind())) slots.deletion_mark = lookup_.Add(DeletionMarkKey(view.id(), view.pubkey()));
    if (HasAddress(view.kind())) {
      const Address address = AddressOf(view);
      slots.address = lookup_.Add(AddressKey(address));
      slots.address_mark = lookup_.Add(AddressMarkKey(address));
    }
    slots_.push_back(slots);
    look_up_vanish(view.pubkey());
    if (view.kind() != kGiftWrapKind) continue;
    for (const TagView tag : view.tags())
      if (const auto recipient = tag.letter == 'p' ? ReadPublicKey(tag.value) : std::nullopt)
        look_up_vanish(*recipient);
  }
  if (Status found = lookup_.Run(database_, {}); !found.ok()) return found;
  for (const auto& [author, slot] : vanish_slots_)
    if (const auto value = lookup_.Value(slot); value && value->size() == 8)
      vanished_[author] = ReadNumber(value->data(), 8);
  return {};
}

// Nothing where only a part of a deletion was done.
Result<std::optional<SaveOutcome>> SavePlan::Decide(EventView event, const Slots& slots, SaveResult* result) {
  if (ClassOf(event.kind()) == KindClass::kEphemeral) throw std::logic_error("ephemeral events are not stored");
  work_ += kEntryWork;  // that it was looked up
  const bool vanished = HasVanished(event);
  if (IsPending(event)) return std::optional(SaveOutcome::kDuplicate);
  if (IsStored(slots)) {
    const Result<bool> goes = vanished ? IsYetToVanish(event, slots) : Result<bool>(false);
    if (!goes.ok()) return goes.status();
    return std::optional(goes.value() ? SaveOutcome::kVanished : SaveOutcome::kDuplicate);
  }
  if (IsExpired(event, now_seconds_)) return std::optional(SaveOutcome::kExpired);
  if (vanished) return std::optional(SaveOutcome::kVanished);
  if (IsDeleted(event, slots)) return std::optional(SaveOutcome::kDeleted);
  if (HasAddress(event.kind())) {
    const Result<bool> supersedes = Supersedes(event, slots);
    if (!supersedes.ok()) return supersedes.status();
    if (!supersedes.value()) return std::optional(SaveOutcome::kSuperseded);
  }
  if (event.kind() == kDeletionKind) {
    const Result<bool> applied = ApplyDeletion(event, result);
    if (!applied.ok()) return applied.status();
    if (!applied.value()) return std::optional<SaveOutcome>();
  }
  Store(event);
  if (event.kind() == kVanishKind && AsksToVanishFrom(event, urls_)) ApplyVanish(event);
  return std::optional(SaveOutcome::kSaved);
}

bool SavePlan::IsPending(EventView event) const {
  const auto pending = pending_ids_.find(event.id());
  return pending != pending_ids_.end() && pending_[pending->second].alive;
}

// Before this batch, and not removed by it.
bool SavePlan::IsStored(const Slots& slots) const {
  IndexEntry entry;
  const auto value = lookup_.Value(slots.id);
  return value && ReadIdValue(*value, &entry) && !removals_.Has(entry.serial);
}

// What is to vanish may still be stored; of the author's requests the last one alone stays.
Result<bool> SavePlan::IsYetToVanish(EventView event, const Slots& slots) {
  if (event.kind() != kVanishKind || vanishing_.contains(event.pubkey())) return true;
  const Result<std::optional<std::string>> work = IndexValue(VanishWorkKey(event.pubkey()));
  if (!work.ok()) return work.status();
  IndexEntry entry;
  return work.value() && work.value()->size() == 14 && ReadIdValue(*lookup_.Value(slots.id), &entry) &&
         ReadNumber(work.value()->data() + 8, 6) != entry.serial;
}

bool SavePlan::HasVanished(EventView event) const {
  const auto until = [this](const PublicKey& author) -> std::optional<uint64_t> {
    const auto found = vanished_.find(author);
    return found == vanished_.end() ? std::nullopt : found->second;
  };
  if (const auto moment = until(event.pubkey()); moment && event.created_at() <= *moment) return true;
  if (event.kind() != kGiftWrapKind) return false;
  for (const TagView tag : event.tags()) {
    const auto recipient = tag.letter == 'p' ? ReadPublicKey(tag.value) : std::nullopt;
    if (!recipient) continue;
    if (const auto moment = until(*recipient); moment && event.created_at() <= *moment) return true;
  }
  return false;
}

bool SavePlan::IsDeleted(EventView event, const Slots& slots) const {
  if (slots.deletion_mark != kNone && lookup_.Value(slots.deletion_mark)) return true;
  if (!deletion_marks_.empty() && CanBeDeleted(event.kind()) &&
      deletion_marks_.contains(std::string(DeletionMarkKey(event.id(), event.pubkey()).view())))
    return true;
  if (slots.address_mark == kNone) return false;
  const auto value = lookup_.Value(slots.address_mark);
  if (value && value->size() == 8 && event.created_at() <= ReadNumber(value->data(), 8)) return true;
  if (address_marks_.empty()) return false;
  const auto mark = address_marks_.find(AddressOf(event));
  return mark != address_marks_.end() && event.created_at() <= mark->second;
}

// Whether the event is the newest of its address; what it replaces is removed.
Result<bool> SavePlan::Supersedes(EventView event, const Slots& slots) {
  const Address address = AddressOf(event);
  auto known = versions_.find(address);
  if (known == versions_.end()) {
    Version version;
    IndexEntry entry;
    if (const auto value = lookup_.Value(slots.address); value && ReadAddressValue(*value, &entry))
      if (!removals_.Has(entry.serial)) version.stored = entry.serial;
    known = versions_.emplace(address, version).first;
  }
  const Version current = known->second;
  if (current.pending != kNone) {
    if (IsNewer(pending_[current.pending].event, event)) return false;
    pending_[current.pending].alive = false;
  } else if (current.stored != 0) {
    const Result<bool> found = ReadStored(current.stored);
    if (!found.ok()) return found.status();
    if (found.value() && IsNewer(EventView(record_), event)) return false;
    if (found.value()) RemoveStored(current.stored, EventView(record_));
  }
  known->second = {.pending = pending_.size()};
  return true;
}

void SavePlan::Store(EventView event) {
  work_ += SavingWorkOf(event);
  pending_ids_[event.id()] = pending_.size();
  pending_.push_back({event, next_serial_++});
}

// False where there is more to do than this plan may; the marks of what was done are in it.
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
    return target.pubkey() == deletion.pubkey() && CanBeDeleted(target.kind());
  };
  const Key mark = DeletionMarkKey(id, deletion.pubkey());
  if (const auto pending = pending_ids_.find(id); pending != pending_ids_.end() && pending_[pending->second].alive) {
    Pending& target = pending_[pending->second];
    if (!applies(target.event)) return {};
    target.alive = false;
    if (HasAddress(target.event.kind())) versions_[AddressOf(target.event)] = {};
  } else {
    const Result<std::optional<std::string>> value = IndexValue(IdKey(id));
    if (!value.ok()) return value.status();
    IndexEntry entry;
    if (value.value() && ReadIdValue(*value.value(), &entry) && !removals_.Has(entry.serial)) {
      const Result<bool> found = ReadStored(entry.serial);
      if (!found.ok()) return found.status();
      if (found.value() && !applies(EventView(record_))) return {};
      if (found.value()) RemoveStored(entry.serial, EventView(record_));
    }
  }
  if (deletion_marks_.emplace(mark.view()).second) entries_.Add(mark.view(), {});
  return {};
}

Status SavePlan::DeleteByAddress(EventView deletion, std::string_view name) {
  const std::optional<NamedAddress> named = ParseAddress(name);
  if (!named || named->author != deletion.pubkey()) return {};
  work_ += 2 * kSeekWork + kEntryWork;
  const Address address = AddressOf(named->kind, named->author, named->d);
  const Result<std::optional<std::string>> stored_mark = IndexValue(AddressMarkKey(address));
  if (!stored_mark.ok()) return stored_mark.status();
  uint64_t until = deletion.created_at();
  if (stored_mark.value() && stored_mark.value()->size() == 8)
    until = std::max(until, ReadNumber(stored_mark.value()->data(), 8));
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
  if (version.value().stored == 0) return {};
  const Result<bool> found = ReadStored(version.value().stored);
  if (!found.ok()) return found.status();
  if (found.value() && EventView(record_).created_at() <= mark)
    RemoveStored(version.value().stored, EventView(record_));
  return {};
}

Result<SavePlan::Version> SavePlan::CurrentVersion(const Address& address) {
  if (const auto known = versions_.find(address); known != versions_.end()) return known->second;
  const Result<std::optional<std::string>> value = IndexValue(AddressKey(address));
  if (!value.ok()) return value.status();
  Version version;
  IndexEntry entry;
  if (value.value() && ReadAddressValue(*value.value(), &entry) && !removals_.Has(entry.serial))
    version.stored = entry.serial;
  versions_.emplace(address, version);
  return version;
}

// The mark holds from now on; what is stored goes later (EventStore::RemoveVanished), what is pending goes now.
void SavePlan::ApplyVanish(EventView request) {
  std::optional<uint64_t>& until = vanished_[request.pubkey()];
  until = std::max(until.value_or(0), request.created_at());
  vanishing_.insert(request.pubkey());
  const std::string hex = ToHex(request.pubkey());
  for (size_t i = 0; i + 1 < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (!pending.alive || pending.event.created_at() > request.created_at()) continue;
    if (pending.event.pubkey() != request.pubkey() && !IsWrappedFor(pending.event, hex)) continue;
    pending.alive = false;
    if (HasAddress(pending.event.kind())) versions_[AddressOf(pending.event)] = {};
  }
  Key mark('\0');
  mark.Number(*until, 8);
  batch_.Put(database_.index(), ToSlice(VanishMarkKey(request.pubkey())), ToSlice(mark.view().substr(1)));
  mark.Serial(pending_.back().serial);
  batch_.Put(database_.index(), ToSlice(VanishWorkKey(request.pubkey())), ToSlice(mark.view().substr(1)));
}

// Into record_.
Result<bool> SavePlan::ReadStored(uint64_t serial) {
  Result<bool> found = ReadRecord(database_, serial, &record_, ReadForRemoval());
  work_ += kRecordWork + record_.size() * kRecordByteWork;
  return found;
}

void SavePlan::RemoveStored(uint64_t serial, EventView event) {
  work_ += kSeekWork + kRecordWork;
  removals_.Add(event, serial);
  if (HasAddress(event.kind())) versions_[AddressOf(event)] = {};
}

Result<std::optional<std::string>> SavePlan::IndexValue(const Key& key) {
  std::string value;
  const rocksdb::Status status = database_.db()->Get({}, database_.index(), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return DatabaseError("cannot read the index", status);
  return std::optional<std::string>(std::move(value));
}

rocksdb::WriteBatch* SavePlan::Finish() {
  removals_.AppendTo(database_, &batch_);
  for (const Pending& pending : pending_) {
    if (!pending.alive) continue;
    batch_.Put(database_.events(), ToSlice(EventKey(pending.serial)), ToSlice(pending.event.record()));
    ForEachEntry(pending.event, pending.serial,
                 [this](std::string_view key, std::string_view value) { entries_.Add(key, value); });
    ++added_;
  }
  entries_.ForEach([this](std::string_view key, std::string_view value) {
    batch_.Put(database_.index(), ToSlice(key), ToSlice(value));
  });
  for (const auto& [address, until] : address_marks_) {
    Key mark('\0');
    mark.Number(until, 8);
    batch_.Put(database_.index(), ToSlice(AddressMarkKey(address)), ToSlice(mark.view().substr(1)));
  }
  return &batch_;
}

}  // namespace weir
