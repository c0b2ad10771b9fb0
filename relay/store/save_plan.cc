#include "relay/store/save_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "relay/nostr/expiration.h"
#include "relay/store/removal.h"
#include "relay/store/sorted_entries.h"

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

// An URL as it is compared: without the slashes at its end, scheme and host in lower case.
std::string Comparable(std::string_view url) {
  std::string text(url);
  while (text.ends_with('/')) text.pop_back();
  const size_t host = text.find("://");
  const size_t path = text.find('/', host == std::string::npos ? 0 : host + 3);
  const auto end = path == std::string::npos ? text.end() : text.begin() + static_cast<std::ptrdiff_t>(path);
  std::transform(text.begin(), end, text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

}  // namespace

SavePlan::SavePlan(const Database& database, const std::vector<std::string>& urls, uint64_t now_seconds,
                   uint64_t next_serial)
    : database_(database), urls_(urls), now_seconds_(now_seconds), next_serial_(next_serial) {}

Status SavePlan::Add(std::span<const Event> events, std::span<SaveResult> results) {
  if (events.size() != results.size()) throw std::logic_error("Save needs a result for every event");
  pending_.reserve(pending_.size() + events.size());
  pending_ids_.reserve(pending_.size() + events.size());
  for (size_t begin = 0; begin < events.size(); begin += kLookedUpAtOnce) {
    const size_t count = std::min(kLookedUpAtOnce, events.size() - begin);
    if (Status found = LookUp(events.subspan(begin, count)); !found.ok()) return found;
    for (size_t i = 0; i < count; ++i) {
      const Result<SaveOutcome> outcome = Decide(events[begin + i].view(), slots_[i]);
      if (!outcome.ok()) return outcome.status();
      const bool saved = outcome.value() == SaveOutcome::kSaved;
      results[begin + i] = {outcome.value(), saved ? next_serial_ - 1 : 0};
    }
  }
  return {};
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

Result<SaveOutcome> SavePlan::Decide(EventView event, const Slots& slots) {
  if (ClassOf(event.kind()) == KindClass::kEphemeral) throw std::logic_error("ephemeral events are not stored");
  const bool vanished = HasVanished(event);
  if (IsPending(event)) return SaveOutcome::kDuplicate;
  if (IsStored(slots)) {
    // What is to vanish may still be stored, but for the request.
    const bool stays = event.kind() == kVanishKind && !vanishing_.contains(event.pubkey());
    return vanished && !stays ? SaveOutcome::kVanished : SaveOutcome::kDuplicate;
  }
  if (IsExpired(event, now_seconds_)) return SaveOutcome::kExpired;
  if (vanished) return SaveOutcome::kVanished;
  if (IsDeleted(event, slots)) return SaveOutcome::kDeleted;
  if (HasAddress(event.kind())) {
    const Result<bool> supersedes = Supersedes(event, slots);
    if (!supersedes.ok()) return supersedes.status();
    if (!supersedes.value()) return SaveOutcome::kSuperseded;
  }
  Store(event);
  if (event.kind() == kDeletionKind) {
    if (Status applied = ApplyDeletion(event); !applied.ok()) return applied;
  }
  if (event.kind() == kVanishKind && NamesUs(event)) ApplyVanish(event);
  return SaveOutcome::kSaved;
}

bool SavePlan::IsPending(EventView event) const {
  const auto pending = pending_ids_.find(event.id());
  return pending != pending_ids_.end() && pending_[pending->second].alive;
}

// Before this batch, and not removed by it.
bool SavePlan::IsStored(const Slots& slots) const {
  IndexEntry entry;
  const auto value = lookup_.Value(slots.id);
  return value && ReadIdValue(*value, &entry) && !removed_.contains(entry.serial);
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
      if (!removed_.contains(entry.serial)) version.stored = entry.serial;
    known = versions_.emplace(address, version).first;
  }
  const Version current = known->second;
  if (current.pending != kNone) {
    if (IsNewer(pending_[current.pending].event, event)) return false;
    pending_[current.pending].alive = false;
  } else if (current.stored != 0) {
    const Result<bool> found = ReadRecord(database_, current.stored, &record_);
    if (!found.ok()) return found.status();
    if (found.value() && IsNewer(EventView(record_), event)) return false;
    if (found.value()) {
      if (Status removed = RemoveStored(current.stored, record_); !removed.ok()) return removed;
    }
  }
  known->second = {.pending = pending_.size()};
  return true;
}

void SavePlan::Store(EventView event) {
  pending_ids_[event.id()] = pending_.size();
  pending_.push_back({event, next_serial_++});
}

Status SavePlan::ApplyDeletion(EventView deletion) {
  for (const TagView tag : deletion.tags()) {
    Status applied;
    if (tag.letter == 'e') applied = DeleteById(deletion, tag.value);
    if (tag.letter == 'a') applied = DeleteByAddress(deletion, tag.value);
    if (!applied.ok()) return applied;
  }
  return {};
}

Status SavePlan::DeleteById(EventView deletion, std::string_view id_hex) {
  EventId id;
  if (!FromHex(id_hex, id.data(), id.size())) return {};
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
    if (value.value() && ReadIdValue(*value.value(), &entry) && !removed_.contains(entry.serial)) {
      const Result<bool> found = ReadRecord(database_, entry.serial, &record_);
      if (!found.ok()) return found.status();
      if (found.value() && !applies(EventView(record_))) return {};
      if (found.value()) {
        if (Status removed = RemoveStored(entry.serial, record_); !removed.ok()) return removed;
      }
    }
  }
  if (deletion_marks_.emplace(mark.view()).second) batch_.Put(database_.index(), ToSlice(mark), {});
  return {};
}

Status SavePlan::DeleteByAddress(EventView deletion, std::string_view name) {
  const std::optional<NamedAddress> named = ParseAddress(name);
  if (!named || named->author != deletion.pubkey()) return {};
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
  const Result<bool> found = ReadRecord(database_, version.value().stored, &record_);
  if (!found.ok()) return found.status();
  if (!found.value() || EventView(record_).created_at() > mark) return {};
  return RemoveStored(version.value().stored, record_);
}

Result<SavePlan::Version> SavePlan::CurrentVersion(const Address& address) {
  if (const auto known = versions_.find(address); known != versions_.end()) return known->second;
  const Result<std::optional<std::string>> value = IndexValue(AddressKey(address));
  if (!value.ok()) return value.status();
  Version version;
  IndexEntry entry;
  if (value.value() && ReadAddressValue(*value.value(), &entry) && !removed_.contains(entry.serial))
    version.stored = entry.serial;
  versions_.emplace(address, version);
  return version;
}

// The mark holds from now on; what is stored goes when this is written (FinishVanishing), what is pending goes now.
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

Status SavePlan::RemoveStored(uint64_t serial, std::string_view record) {
  if (!EventView::WellFormed(record)) return Status::Error("a stored event is damaged; `weir check` says more");
  const EventView event(record);
  if (removed_.insert(serial).second) AppendRemoval(database_, event, serial, &batch_);
  if (HasAddress(event.kind())) versions_[AddressOf(event)] = {};
  return {};
}

Result<std::optional<std::string>> SavePlan::IndexValue(const Key& key) {
  std::string value;
  const rocksdb::Status status = database_.db()->Get({}, database_.index(), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return DatabaseError("cannot read the index", status);
  return std::optional<std::string>(std::move(value));
}

bool SavePlan::NamesUs(EventView request) const {
  for (const std::vector<std::string>& tag : TagsNamed(request, "relay")) {
    if (tag.size() < 2) continue;
    if (tag[1] == "ALL_RELAYS") return true;
    const std::string named = Comparable(tag[1]);
    if (std::any_of(urls_.begin(), urls_.end(), [&named](const std::string& url) { return Comparable(url) == named; }))
      return true;
  }
  return false;
}

rocksdb::WriteBatch* SavePlan::Finish() {
  SortedEntries entries;
  for (const Pending& pending : pending_) {
    if (!pending.alive) continue;
    batch_.Put(database_.events(), ToSlice(EventKey(pending.serial)), ToSlice(pending.event.record()));
    ForEachEntry(pending.event, pending.serial,
                 [&entries](std::string_view key, std::string_view value) { entries.Add(key, value); });
    ++added_;
  }
  entries.ForEach([this](std::string_view key, std::string_view value) {
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
