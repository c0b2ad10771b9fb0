#include "relay/store/postgres/postgres_edit.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using Type = PostgresArray::Type;

constexpr PostgresStatement kBegin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED"};
constexpr PostgresStatement kCommit{"commit", "COMMIT"};
constexpr PostgresStatement kRollback{"rollback", "ROLLBACK"};
constexpr PostgresStatement kLockOrigin{"lock_origin",
                                        "SELECT serial, owner FROM weir_origins WHERE origin = $1::int FOR UPDATE"};
constexpr PostgresStatement kLockOrigins{"lock_origins", "SELECT origin FROM weir_origins ORDER BY origin FOR UPDATE"};
constexpr PostgresStatement kCount{
    "count", "UPDATE weir_origins SET serial = $2::bigint, events = events + $3::bigint WHERE origin = $1::int"};

constexpr PostgresStatement kFindIds{"find_ids", "SELECT id FROM weir_events WHERE id = ANY($1::bytea[])"};
constexpr PostgresStatement kFindMarks{"find_marks",
                                       "SELECT m.id, m.author FROM unnest($1::bytea[], $2::bytea[]) AS k (id, author)"
                                       " JOIN weir_deleted m ON m.id = k.id AND m.author = k.author"};
constexpr PostgresStatement kFindAddresses{"find_addresses",
                                           "SELECT address, id FROM weir_addresses WHERE address = ANY($1::bytea[])"};
constexpr PostgresStatement kFindAddressMarks{
    "find_address_marks", "SELECT address, until FROM weir_deleted_addresses WHERE address = ANY($1::bytea[])"};
constexpr PostgresStatement kFindVanished{
    "find_vanished", "SELECT author, until, request, owed::int FROM weir_vanished WHERE author = ANY($1::bytea[])"};
constexpr PostgresStatement kReadRecords{"read_records",
                                         "SELECT id, record FROM weir_events WHERE id = ANY($1::bytea[])"};

constexpr PostgresStatement kAddEvents{
    "add_events",
    "INSERT INTO weir_events (id, origin, serial, pubkey, kind, created_at, expiration, record)"
    " SELECT id, $1::int, serial, pubkey, kind, created_at, expiration, record"
    " FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::int[], $6::bigint[], $7::bigint[], $8::bytea[])"
    " AS e (id, serial, pubkey, kind, created_at, expiration, record)"};
constexpr PostgresStatement kAddTags{
    "add_tags",
    "INSERT INTO weir_tags (tag, kind, created_at, id)"
    " SELECT tag, kind, created_at, id FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[])"
    " AS t (tag, kind, created_at, id)"};
constexpr PostgresStatement kRemoveEvents{"remove_events", "DELETE FROM weir_events WHERE id = ANY($1::bytea[])"};
constexpr PostgresStatement kRemoveTags{
    "remove_tags",
    "DELETE FROM weir_tags t USING unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[])"
    " AS k (tag, kind, created_at, id)"
    " WHERE t.tag = k.tag AND t.kind = k.kind AND t.created_at = k.created_at AND t.id = k.id"};
constexpr PostgresStatement kAddAddresses{
    "add_addresses",
    "INSERT INTO weir_addresses (address, id) SELECT address, id FROM unnest($1::bytea[], $2::bytea[])"
    " AS n (address, id)"};
constexpr PostgresStatement kReplaceAddresses{
    "replace_addresses",
    "UPDATE weir_addresses a SET id = n.id FROM unnest($1::bytea[], $2::bytea[], $3::bytea[])"
    " AS n (address, expected, id) WHERE a.address = n.address AND a.id = n.expected"};
constexpr PostgresStatement kRemoveAddresses{
    "remove_addresses",
    "DELETE FROM weir_addresses a USING unnest($1::bytea[], $2::bytea[]) AS g (address, expected)"
    " WHERE a.address = g.address AND a.id = g.expected"};
constexpr PostgresStatement kMarkDeleted{
    "mark_deleted",
    "INSERT INTO weir_deleted (id, author) SELECT id, author FROM unnest($1::bytea[], $2::bytea[]) AS m (id, author)"
    " ON CONFLICT DO NOTHING"};
constexpr PostgresStatement kMarkAddresses{
    "mark_addresses",
    "INSERT INTO weir_deleted_addresses AS d (address, until)"
    " SELECT address, until FROM unnest($1::bytea[], $2::bigint[]) AS m (address, until)"
    " ON CONFLICT (address) DO UPDATE SET until = greatest(d.until, excluded.until)"};
constexpr PostgresStatement kMarkVanished{
    "mark_vanished",
    "INSERT INTO weir_vanished AS v (author, until, request, owed)"
    " SELECT author, until, request, true FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])"
    " AS m (author, until, request)"
    " ON CONFLICT (author) DO UPDATE SET until = greatest(v.until, excluded.until), request = excluded.request,"
    " owed = true"};
constexpr PostgresStatement kCopyVanished{
    "copy_vanished",
    "INSERT INTO weir_vanished AS v (author, until, request, owed)"
    " SELECT author, until, ''::bytea, false FROM unnest($1::bytea[], $2::bigint[]) AS m (author, until)"
    " ON CONFLICT (author) DO UPDATE SET until = greatest(v.until, excluded.until)"};
constexpr PostgresStatement kSetNote{"set_note",
                                     "INSERT INTO weir_meta (key, value) VALUES ($1::text, $2::text)"
                                     " ON CONFLICT (key) DO UPDATE SET value = excluded.value"};
constexpr PostgresStatement kEndVanishing{
    "end_vanishing", "UPDATE weir_vanished SET owed = false WHERE author = $1::bytea AND until = $2::bigint"};

constexpr size_t kTargetsAtOnce = 512;  // of deletions
constexpr size_t kRecordsAtOnce = 32;   // of the largest they are two megabytes

std::string_view AddressText(const Address& address) {
  return {reinterpret_cast<const char*>(address.data()), address.size()};
}

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
  // Again for who came while the first waited. All take them in this order.
  for (int i = 0; alone_ && i < 2; ++i) Ask(kLockOrigins, {}, {});
  Ask(kLockOrigin, PostgresValues().Int32(static_cast<int32_t>(origin_.number)), [this](const PostgresRows& rows) {
    if (rows.size() != 1 || rows.Bytes(0, 1) != origin_.owner) {
      refused_ = Status::Error("another process saves as \"" + origin_.name +
                               "\" since; give every relay a WEIR_ORIGIN of its own, and restart this one");
    } else {
      last_serial_ = serial_before_ = static_cast<uint64_t>(rows.Int(0, 0));
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

Status PostgresEdit::LookUp(std::span<const Event> events, std::span<const PublicKey> authors,
                            std::vector<Known>* known, std::vector<std::optional<uint64_t>>* until) {
  AskBegin();
  std::vector<EventId> ids;
  std::vector<Address> addresses;
  PostgresArray marked{Type::kBytes};
  PostgresArray marked_by{Type::kBytes};
  for (const Event& event : events) {
    const EventView view = event.view();
    ids.push_back(view.id());
    marked.Add(AsText(view.id()));
    marked_by.Add(MarkedBy(view.pubkey()));
    if (HasAddress(view.kind())) addresses.push_back(AddressOf(view));
    if (view.kind() == kDeletionKind) deletions_.push_back(view);
  }
  AskIds(ids);
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
    const auto marked_for = marks.find(view.id());
    of_event.is_deleted = marked_for != marks.end() &&
                          std::ranges::find(marked_for->second, MarkedBy(view.pubkey())) != marked_for->second.end();
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
  if (asked.empty()) return;
  Ask(kFindIds, PostgresValues().Array(asked), [this](const PostgresRows& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const EventId id = AsBytes(rows.Bytes(i, 0));
      ids_[id] = HandleOf(id, false);
    }
  });
}

void PostgresEdit::AskAddresses(const std::vector<Address>& addresses) {
  PostgresArray asked{Type::kBytes};
  for (const Address& address : addresses)
    if (addresses_.try_emplace(address).second) asked.Add(AddressText(address));
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
  if (!addresses_.contains(address))
    if (Status found = LookUpTargets(nullptr, &address); !found.ok()) return found;
  return addresses_[address].newest;
}

Result<std::optional<uint64_t>> PostgresEdit::DeletedUntil(const Address& address) {
  if (!addresses_.contains(address))
    if (Status found = LookUpTargets(nullptr, &address); !found.ok()) return found;
  return addresses_[address].deleted_until;
}

Result<bool> PostgresEdit::RequestStays(const PublicKey& author, Handle request) {
  const auto owed = owed_requests_.find(author);
  return owed == owed_requests_.end() || owed->second == stored_[request].id;
}

// With those that are likely to be asked for next.
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
  removed_ids_.Add(AsText(stored.id));
  removed_tags_.AddAllOf(event);
  removal_work_ += SavingWorkOf(event);
  if (!HasAddress(event.kind())) return;
  AddressState& state = addresses_[AddressOf(event)];
  if (!state.newest) state.newest = handle;
  if (state.newest == handle) state.changes = true;
}

void PostgresEdit::RemoveFound(const PostgresRows& ids_and_records) {
  for (size_t i = 0; i < ids_and_records.size(); ++i) {
    const Handle handle = HandleOf(AsBytes(ids_and_records.Bytes(i, 0)), true);
    const std::string_view record = ids_and_records.Bytes(i, 1);
    if (EventView::WellFormed(record)) Remove(handle, EventView(record));
  }
}

void PostgresEdit::Add(EventView event, uint64_t serial) {
  events_.ids.Add(AsText(event.id()));
  events_.serials.Add(static_cast<int64_t>(serial));
  events_.pubkeys.Add(AsText(event.pubkey()));
  events_.kinds.Add(int64_t{event.kind()});
  events_.times.Add(SqlTime(event.created_at()));
  event.expiration() == 0 ? events_.expirations.AddNull() : events_.expirations.Add(SqlTime(event.expiration()));
  events_.records.Add(event.record());
  tags_.AddAllOf(event);
  if (!HasAddress(event.kind())) return;
  AddressState& state = addresses_[AddressOf(event)];
  state.next = event.id();
  state.changes = true;
}

void PostgresEdit::MarkDeleted(const EventId& id, const PublicKey& author) {
  deleted_ids_.Add(AsText(id));
  deleted_by_.Add(MarkedBy(author));
}

void PostgresEdit::MarkDeleted(const Address& address, uint64_t until) {
  deleted_addresses_.Add(AddressText(address));
  deleted_until_.Add(SqlTime(until));
}

// Several of one author in one edit: the last counts.
void PostgresEdit::MarkVanished(const PublicKey& author, uint64_t until, EventView request, uint64_t) {
  vanishing_[author] = {until, request.id()};
}

void PostgresEdit::Copy(Shelf shelf, const ShelfEntry& mark) {
  AskBegin();
  const std::string_view key = mark.key;
  if (shelf == Shelf::kDeletedIds) {
    deleted_ids_.Add(key.substr(0, sizeof(EventId)));
    deleted_by_.Add(key.substr(sizeof(EventId)));
    return;
  }
  const bool is_vanished = shelf == Shelf::kVanished;
  (is_vanished ? vanished_ : deleted_addresses_).Add(key);
  (is_vanished ? vanished_until_ : deleted_until_).Add(SqlTime(ReadNumber(mark.value.data(), mark.value.size())));
}

void PostgresEdit::SetNote(const std::string& name, const std::string& text) {
  AskBegin();
  Ask(kSetNote, PostgresValues().Bytes(name).Bytes(text), {});
}

void PostgresEdit::EndVanishing(const PublicKey& author, uint64_t until) {
  Ask(kEndVanishing, PostgresValues().Bytes(AsText(author)).Int64(SqlTime(until)), {});
}

PostgresEdit::Take PostgresEdit::Expect(size_t rows) {
  return [this, rows](const PostgresRows& changed) { conflict_ = conflict_ || changed.affected() != rows; };
}

void PostgresEdit::WriteAddresses() {
  PostgresArray new_addresses{Type::kBytes};
  PostgresArray new_versions{Type::kBytes};
  PostgresArray addresses{Type::kBytes};
  PostgresArray expected{Type::kBytes};
  PostgresArray versions{Type::kBytes};
  PostgresArray gone{Type::kBytes};
  PostgresArray gone_versions{Type::kBytes};
  for (const auto& [address, state] : addresses_) {
    if (!state.changes) continue;
    if (!state.newest) {
      new_addresses.Add(AddressText(address));
      new_versions.Add(AsText(*state.next));
    } else if (state.next) {
      addresses.Add(AddressText(address));
      expected.Add(AsText(stored_[*state.newest].id));
      versions.Add(AsText(*state.next));
    } else {
      gone.Add(AddressText(address));
      gone_versions.Add(AsText(stored_[*state.newest].id));
    }
  }
  if (!gone.empty()) Ask(kRemoveAddresses, PostgresValues().Array(gone).Array(gone_versions), {});
  if (!addresses.empty())
    Ask(kReplaceAddresses, PostgresValues().Array(addresses).Array(expected).Array(versions), Expect(addresses.size()));
  if (!new_addresses.empty()) Ask(kAddAddresses, PostgresValues().Array(new_addresses).Array(new_versions), {});
}

void PostgresEdit::WriteMarks() {
  if (!deleted_ids_.empty()) Ask(kMarkDeleted, PostgresValues().Array(deleted_ids_).Array(deleted_by_), {});
  if (!deleted_addresses_.empty())
    Ask(kMarkAddresses, PostgresValues().Array(deleted_addresses_).Array(deleted_until_), {});
  if (!vanished_.empty()) Ask(kCopyVanished, PostgresValues().Array(vanished_).Array(vanished_until_), {});
  if (vanishing_.empty()) return;
  PostgresArray authors{Type::kBytes};
  PostgresArray until{Type::kInt64};
  PostgresArray requests{Type::kBytes};
  for (const auto& [author, request] : vanishing_) {
    authors.Add(AsText(author));
    until.Add(SqlTime(request.first));
    requests.Add(AsText(request.second));
  }
  Ask(kMarkVanished, PostgresValues().Array(authors).Array(until).Array(requests), {});
}

Status PostgresEdit::Commit() {
  WriteAddresses();
  WriteMarks();
  if (!removed_ids_.empty()) {
    if (!removed_tags_.ids.empty())
      Ask(kRemoveTags,
          PostgresValues()
              .Array(removed_tags_.tags)
              .Array(removed_tags_.kinds)
              .Array(removed_tags_.times)
              .Array(removed_tags_.ids),
          {});
    Ask(kRemoveEvents, PostgresValues().Array(removed_ids_),
        [this](const PostgresRows& rows) { removed_ = rows.affected(); });
  }
  if (!events_.ids.empty()) {
    Ask(kAddEvents,
        PostgresValues()
            .Int32(static_cast<int32_t>(origin_.number))
            .Array(events_.ids)
            .Array(events_.serials)
            .Array(events_.pubkeys)
            .Array(events_.kinds)
            .Array(events_.times)
            .Array(events_.expirations)
            .Array(events_.records),
        {});
    if (!tags_.ids.empty())
      Ask(kAddTags, PostgresValues().Array(tags_.tags).Array(tags_.kinds).Array(tags_.times).Array(tags_.ids), {});
  }
  if (takes_.empty()) {
    Rollback();
    return {};
  }
  if (Status written = AskAll(); !written.ok()) return written;
  if (conflict_) return Status::Error("PostgreSQL: another relay saved the same at the same time, again and again");
  const auto more = static_cast<int64_t>(added()) - static_cast<int64_t>(removed_);
  Ask(kCount,
      PostgresValues()
          .Int32(static_cast<int32_t>(origin_.number))
          .Int64(static_cast<int64_t>(last_serial_))
          .Int64(more),
      {});
  Ask(kCommit, {}, {});
  has_written_ = true;
  if (Status committed = AskAll(); !committed.ok()) return committed;
  begun_ = false;
  if (!session_.TakeUnreplicated()) return {};
  return Status::Error(
      "PostgreSQL: the server did not wait for its standbys; what was written is on the primary alone");
}

void PostgresEdit::Rollback() {
  takes_.clear();
  if (!begun_ || !session_.connected()) return;
  begun_ = false;
  Ask(kRollback, {}, {});
  refused_ = {};
  if (!AskAll().ok()) session_.Close();
}

bool PostgresEdit::MayTryAgain() const {
  const std::string& code = session_.error_code();
  return conflict_ || code == "40001" || code == "40P01" || code == "23505";
}

}  // namespace weir
