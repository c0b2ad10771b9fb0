// The second half of PostgresEdit: the functions that collect changes and write them at the end.
#include <algorithm>
#include <map>
#include <utility>

#include "relay/store/postgres/postgres_edit.h"
#include "relay/store/postgres/postgres_edit_statements.h"
#include "relay/store/postgres/postgres_words.h"

namespace weir {
namespace {

using Type = PostgresArray::Type;

}  // namespace

void PostgresEdit::MarkDeleted(const EventId& id, const PublicKey& author) {
  deleted_ids_.Add(AsText(id));
  deleted_by_.Add(MarkedBy(author));
}

void PostgresEdit::MarkDeleted(const Address& address, uint64_t until) {
  deleted_addresses_.Add(AddressText(address));
  deleted_until_.Add(SqlTime(until));
}

// If an edit has several requests of one author, it keeps the last one.
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

void PostgresEdit::WriteMemos(std::span<const Memo> changes) {
  AskBegin();
  PostgresArray names{Type::kText};
  PostgresArray texts{Type::kText};
  for (const Memo& memo : changes) {
    names.Add(memo.name);
    memo.text ? texts.Add(*memo.text) : texts.AddNull();
  }
  Ask(kNextRevision, {}, Expect(1));
  Ask(kWriteMemos, PostgresValues().Array(names).Array(texts), {});
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
  // All edits write addresses in the same order, because two relays that save the same events could deadlock otherwise.
  const std::map<Address, AddressState> in_order(addresses_.begin(), addresses_.end());
  for (const auto& [address, state] : in_order) {
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

void PostgresEdit::WriteRemovals() {
  if (removed_events_.empty()) return;
  PostgresArray ids{Type::kBytes};
  PostgresArray times{Type::kInt64};
  for (const auto& [id, created_at] : removed_events_) {
    ids.Add(AsText(id));
    times.Add(SqlTime(created_at));
  }
  const PostgresValues events = PostgresValues().Array(ids).Array(times);
  // The events come first: of two relays that remove the same, one waits there, in the order of the ids, and not at the
  // tags, which have no order.
  Ask(kRemoveEvents, events, [this](const PostgresRows& rows) { removed_ = rows.affected(); });
  if (!removed_tags_.ids.empty())
    Ask(kRemoveTags,
        PostgresValues()
            .Array(removed_tags_.tags)
            .Array(removed_tags_.kinds)
            .Array(removed_tags_.times)
            .Array(removed_tags_.ids),
        {});
  Ask(kRemoveWords, events, {});
}

// Writes in the order of the ids, so that two relays that save the same events cannot deadlock.
void PostgresEdit::WriteEvents() {
  if (added_.empty()) return;
  std::ranges::sort(added_, {}, [](const auto& added) { return added.first.id(); });
  PostgresArray ids{Type::kBytes};
  PostgresArray serials{Type::kInt64};
  PostgresArray pubkeys{Type::kBytes};
  PostgresArray kinds{Type::kInt32};
  PostgresArray times{Type::kInt64};
  PostgresArray expirations{Type::kInt64};
  PostgresArray records{Type::kBytes};
  TagRows tags;
  for (const auto& [event, serial] : added_) {
    ids.Add(AsText(event.id()));
    serials.Add(static_cast<int64_t>(serial));
    pubkeys.Add(AsText(event.pubkey()));
    kinds.Add(int64_t{event.kind()});
    times.Add(SqlTime(event.created_at()));
    event.expiration() == 0 ? expirations.AddNull() : expirations.Add(SqlTime(event.expiration()));
    records.Add(event.record());
    tags.AddAllOf(event);
  }
  Ask(kAddEvents,
      PostgresValues()
          .Int32(static_cast<int32_t>(origin_.number))
          .Array(ids)
          .Array(serials)
          .Array(pubkeys)
          .Array(kinds)
          .Array(times)
          .Array(expirations)
          .Array(records),
      {});
  if (!tags.ids.empty())
    Ask(kAddTags, PostgresValues().Array(tags.tags).Array(tags.kinds).Array(tags.times).Array(tags.ids), {});
  WordRows words;
  if (searched_ != nullptr)
    for (const auto& [event, serial] : added_) words.Add(*searched_, event);
  if (!words.ids.empty()) Ask(kAddWords, words.Values(), {});
}

Status PostgresEdit::Commit() {
  WriteAddresses();
  WriteMarks();
  WriteRemovals();
  WriteEvents();
  const bool has_changes = !takes_.empty();
  if (!has_changes && !(alone_ && begun_)) {
    Rollback();
    return {};
  }
  if (Status written = has_changes ? AskAll() : Status(); !written.ok()) return written;
  if (conflict_) return Status::Error("PostgreSQL: another relay saved the same at the same time, again and again");
  const auto more = static_cast<int64_t>(added()) - static_cast<int64_t>(removed_);
  Ask(kCount,
      PostgresValues()
          .Int32(static_cast<int32_t>(origin_.number))
          .Int64(static_cast<int64_t>(last_serial_))
          .Int64(more),
      {});
  // The serial also moves on without new events, and `high` with it, as long as no earlier event lacks its words.
  if (searched_ != nullptr)
    Ask(kHaveWords,
        PostgresValues()
            .Int32(static_cast<int32_t>(origin_.number))
            .Bytes(SearchedText(searched_->kinds()))
            .Int64(static_cast<int64_t>(serial_before_))
            .Int64(static_cast<int64_t>(last_serial_)),
        {});
  Ask(kCommit, {}, {});
  has_written_ = true;
  (void)session_.TakeUnreplicated();  // a warning of another transaction
  Status committed = AskAll();
  if (!committed.ok()) {
    if (!session_.timed_out()) return committed;
    return Status::Error(committed.message() +
                         " to COMMIT: where it has to be on a standby (synchronous_standby_names), one may be missing");
  }
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

bool PostgresEdit::lacks_place() const { return session_.error_code() == "23514"; }

bool PostgresEdit::MayTryAgain() const {
  const std::string& code = session_.error_code();
  return conflict_ || code == "40001" || code == "40P01" || code == "23505";
}

}  // namespace weir
