#include "relay/store/postgres/postgres_edit.h"

#include <algorithm>
#include <map>
#include <utility>

#include "relay/nostr/gift_wrap.h"
#include "relay/store/postgres/postgres_edit_statements.h"

namespace weir {
namespace {

using Type = PostgresArray::Type;

constexpr size_t kTargetsAtOnce = 512;  // targets of deletions
constexpr size_t kRecordsAtOnce = 32;   // 32 of the largest are four megabytes

Address AsAddress(std::string_view text) {
  Address address{};
  std::memcpy(address.data(), text.data(), std::min(text.size(), address.size()));
  return address;
}

}  // namespace

int64_t TagNumber(char letter, std::string_view value) {
  return static_cast<int64_t>(TagHash(std::string(1, letter).append(value)));
}

void TagRows::AddAllOf(EventView event) {
  for (const TagView tag : event.tags()) {
    tags.Add(TagNumber(tag.letter, tag.value));
    kinds.Add(int64_t{event.kind()});
    times.Add(SqlTime(event.created_at()));
    ids.Add(AsText(event.id()));
  }
}

void EventKeys::Add(const EventId& id, uint64_t created_at) {
  ids.Add(AsText(id));
  times.Add(SqlTime(created_at));
  span.Add(SqlTime(created_at));
}

void PostgresEdit::Ask(const PostgresStatement& statement, PostgresValues values, Take take) {
  session_.Queue(statement, std::move(values));
  takes_.push_back(std::move(take));
}

Status PostgresEdit::AskAll() {
  const std::vector<Take> takes = std::exchange(takes_, {});
  Result<std::vector<PostgresRows>> answers = session_.Run(patience_);
  if (!answers.ok()) return answers.status();
  for (size_t i = 0; i < takes.size(); ++i)
    if (takes[i]) takes[i](answers.value()[i]);
  return refused_;
}

void PostgresEdit::AskBegin() {
  if (std::exchange(begun_, true)) return;
  Ask(kBegin, {}, {});
  // Locks all origins twice, because an origin may have been added while the first lock waited. All edits take their
  // locks in this order.
  for (int i = 0; alone_ && i < 2; ++i) Ask(kLockOrigins, {}, {});
  Ask(kLockOrigin, PostgresValues().Int32(static_cast<int32_t>(origin_.number)), [this](const PostgresRows& rows) {
    if (rows.size() != 1 || rows.Bytes(0, 1) != origin_.owner) {
      // The message does not have the name, because clients may see it, and the name may be that of the machine.
      refused_ = Status::Error(
          "another process has taken the name of this one; give every relay and import a WEIR_ORIGIN of its own, and "
          "start this one again");
    } else {
      serial_before_ = static_cast<uint64_t>(rows.Int(0, 0));
      // After the promotion of a standby that lacked the last serials, the serial in the database is too low. No serial
      // may be assigned twice, because other relays have read the events up to the last one.
      last_serial_ = std::max(serial_before_, origin_.serial);
    }
  });
}

Result<PostgresRows> PostgresEdit::AskFirst(const PostgresStatement& statement, PostgresValues values) {
  AskBegin();
  PostgresRows found;
  Ask(statement, std::move(values), [&found](PostgresRows& rows) { found = std::move(rows); });
  if (Status asked = AskAll(); !asked.ok()) return asked;
  return found;
}

void PostgresEdit::Change(const PostgresStatement& statement, PostgresValues values, std::optional<size_t> rows) {
  AskBegin();
  Ask(statement, std::move(values), rows ? Expect(*rows) : Take());
}

Status PostgresEdit::LookUp(std::span<const Event> events, std::span<const PublicKey> authors,
                            std::vector<Known>* known, std::vector<std::optional<uint64_t>>* until) {
  AskBegin();
  std::vector<Address> addresses;
  PostgresArray marked{Type::kBytes};
  PostgresArray marked_by{Type::kBytes};
  for (const Event& event : events) {
    const EventView view = event.view();
    ForEachOwner(view, [&](const PublicKey& owner) {
      marked.Add(AsText(view.id()));
      marked_by.Add(MarkedBy(owner));
    });
    if (HasAddress(view.kind())) addresses.push_back(AddressOf(view));
    if (view.kind() == kDeletionKind) deletions_.push_back(view);
  }
  AskEvents(events);
  AskAddresses(addresses);
  std::unordered_map<EventId, std::vector<std::string>, BytesHash> marks;
  Ask(kFindMarks, PostgresValues().Array(marked).Array(marked_by), [&marks](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i) marks[AsBytes(rows.Bytes(i, 0))].emplace_back(rows.Bytes(i, 1));
  });
  PostgresArray asked{Type::kBytes};
  for (const PublicKey& author : authors) asked.Add(AsText(author));
  Ask(kFindVanished, PostgresValues().Array(asked), [&](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const PublicKey author = AsBytes(rows.Bytes(i, 0));
      const auto at = std::ranges::find(authors, author);
      (*until)[static_cast<size_t>(at - authors.begin())] = static_cast<uint64_t>(rows.Int(i, 1));
      if (rows.Int(i, 3) != 0) owed_requests_[author] = AsBytes(rows.Bytes(i, 2));
    }
  });
  if (Status asked_all = AskAll(); !asked_all.ok()) return asked_all;
  for (size_t i = 0; i < events.size(); ++i) {
    const EventView view = events[i].view();
    Known& of_event = (*known)[i];
    of_event.stored = ids_[view.id()];
    if (const auto marked_for = marks.find(view.id()); marked_for != marks.end()) {
      ForEachOwner(view, [&](const PublicKey& owner) {
        of_event.is_deleted |= std::ranges::count(marked_for->second, MarkedBy(owner)) != 0;
      });
    }
    if (!HasAddress(view.kind())) continue;
    const AddressState& state = addresses_[AddressOf(view)];
    of_event.newest = state.newest;
    of_event.address_deleted_until = state.deleted_until;
  }
  return {};
}

PostgresEdit::Handle PostgresEdit::HandleOf(const EventId& id, bool is_wanted) {
  const auto [at, is_new] = handles_.try_emplace(id, stored_.size());
  if (is_new) stored_.push_back({.id = id});
  if (is_wanted) stored_[at->second].is_wanted = true;
  return at->second;
}

void PostgresEdit::AskIds(const std::vector<EventId>& ids) {
  PostgresArray asked{Type::kBytes};
  for (const EventId& id : ids)
    if (ids_.try_emplace(id).second) asked.Add(AsText(id));
  if (!asked.empty()) Ask(kFindIds, PostgresValues().Array(asked), TakeIds());
}

void PostgresEdit::AskEvents(std::span<const Event> events) {
  EventKeys keys;
  for (const Event& event : events)
    if (ids_.try_emplace(event.view().id()).second) keys.Add(event.view().id(), event.view().created_at());
  if (!keys.ids.empty()) Ask(kFindEvents, keys.Values(), TakeIds());
}

PostgresEdit::Take PostgresEdit::TakeIds() {
  return [this](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const EventId id = AsBytes(rows.Bytes(i, 0));
      ids_[id] = HandleOf(id, false);
    }
  };
}

void PostgresEdit::AskAddresses(const std::vector<Address>& addresses) {
  PostgresArray asked{Type::kBytes};
  for (const Address& address : addresses)
    if (!std::exchange(addresses_[address].looked_up, true)) asked.Add(AddressText(address));
  if (asked.empty()) return;
  Ask(kFindAddresses, PostgresValues().Array(asked), [this](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i)
      addresses_[AsAddress(rows.Bytes(i, 0))].newest = HandleOf(AsBytes(rows.Bytes(i, 1)), true);
  });
  Ask(kFindAddressMarks, PostgresValues().Array(asked), [this](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i)
      addresses_[AsAddress(rows.Bytes(i, 0))].deleted_until = static_cast<uint64_t>(rows.Int(i, 1));
  });
}

Status PostgresEdit::LookUpTargets(const EventId* id, const Address* address) {
  std::vector<EventId> ids;
  std::vector<Address> addresses;
  if (id != nullptr) ids.push_back(*id);
  if (address != nullptr) addresses.push_back(*address);
  while (!deletions_.empty() && ids.size() + addresses.size() < kTargetsAtOnce) {
    const EventView deletion = deletions_.front();
    size_t number = 0;
    for (const TagView tag : deletion.tags()) {
      if (number++ < next_target_) continue;
      if (ids.size() + addresses.size() >= kTargetsAtOnce) break;
      ++next_target_;
      EventId target;
      if (tag.letter == 'e' && FromHex(tag.value, target.data(), target.size())) ids.push_back(target);
      const auto named = tag.letter == 'a' ? ParseAddress(tag.value) : std::nullopt;
      if (named && named->author == deletion.pubkey())
        addresses.push_back(AddressOf(named->kind, named->author, named->d));
    }
    if (ids.size() + addresses.size() >= kTargetsAtOnce) break;
    deletions_.pop_front();
    next_target_ = 0;
  }
  AskIds(ids);
  AskAddresses(addresses);
  return AskAll();
}

Result<std::optional<StoreEdit::Handle>> PostgresEdit::Find(const EventId& id) {
  if (!ids_.contains(id))
    if (Status found = LookUpTargets(&id, nullptr); !found.ok()) return found;
  const std::optional<Handle> found = ids_[id];
  if (found) stored_[*found].is_wanted = true;
  return found;
}

Result<std::optional<StoreEdit::Handle>> PostgresEdit::NewestOf(const Address& address) {
  if (!addresses_[address].looked_up)
    if (Status found = LookUpTargets(nullptr, &address); !found.ok()) return found;
  return addresses_[address].newest;
}

Result<std::optional<uint64_t>> PostgresEdit::DeletedUntil(const Address& address) {
  if (!addresses_[address].looked_up)
    if (Status found = LookUpTargets(nullptr, &address); !found.ok()) return found;
  return addresses_[address].deleted_until;
}

Result<bool> PostgresEdit::RequestStays(const PublicKey& author, Handle request) {
  const auto owed = owed_requests_.find(author);
  return owed == owed_requests_.end() || owed->second == stored_[request].id;
}

// Reads the record together with other records that will probably be needed next.
Result<bool> PostgresEdit::Read(Handle handle, std::string* record) {
  if (!stored_[handle].record) {
    PostgresArray asked{Type::kBytes};
    stored_[handle].is_wanted = true;
    for (Handle next = handle; next < stored_.size() && asked.size() < kRecordsAtOnce; ++next) {
      if (!stored_[next].is_wanted || stored_[next].record) continue;
      asked.Add(AsText(stored_[next].id));
      stored_[next].record.emplace();
    }
    Ask(kReadRecords, PostgresValues().Array(asked), [this](const PostgresRows& rows) {
      for (size_t i = 0; i < rows.size(); ++i) stored_[handles_[AsBytes(rows.Bytes(i, 0))]].record = rows.Bytes(i, 1);
    });
    if (Status read = AskAll(); !read.ok()) return read;
  }
  *record = *stored_[handle].record;
  return EventView::WellFormed(*record);
}

void PostgresEdit::Remove(Handle handle, EventView event) {
  Stored& stored = stored_[handle];
  if (std::exchange(stored.removed, true)) return;
  removed_events_.emplace(stored.id, event.created_at());
  removed_tags_.AddAllOf(event);
  removal_work_ += SavingWorkOf(event);
  if (HasAddress(event.kind())) {
    AddressState& state = addresses_[AddressOf(event)];
    if (!state.newest) state.newest = handle;
    if (state.newest == handle) state.changes = true;
  }
}

size_t PostgresEdit::RemoveFound(const PostgresRows& ids_and_records, Work most,
                                 const std::function<bool(EventView event)>& is_meant) {
  for (size_t i = 0; i < ids_and_records.size(); ++i) {
    if (i > 0 && removal_work_ >= most) return i;
    const Handle handle = HandleOf(AsBytes(ids_and_records.Bytes(i, 0)), true);
    const std::string_view record = ids_and_records.Bytes(i, 1);
    if (!EventView::WellFormed(record)) continue;
    if (!is_meant || is_meant(EventView(record))) Remove(handle, EventView(record));
  }
  return ids_and_records.size();
}

void PostgresEdit::Add(EventView event, uint64_t serial) {
  added_.emplace_back(event, serial);
  if (!HasAddress(event.kind())) return;
  AddressState& state = addresses_[AddressOf(event)];
  state.next = event.id();
  state.changes = true;
}

}  // namespace weir
