// The functions of PostgresStore that remove events: those of authors who vanished, expired ones, those of an author,
// those that copied marks cover, and those that DeleteSome names.
#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "relay/nostr/gift_wrap.h"
#include "relay/store/postgres/postgres_edit.h"
#include "relay/store/postgres/postgres_edit_statements.h"
#include "relay/store/postgres/postgres_store.h"

namespace weir {
namespace {

constexpr PostgresStatement kExpired{
    "expired",
    "SELECT id, record FROM weir_events"
    " WHERE expiration <= least($1::bigint, extract(epoch FROM now())::bigint) ORDER BY expiration"
    " OFFSET $2::bigint LIMIT $3::bigint"};
constexpr PostgresStatement kVanishing{
    "vanishing", "SELECT author, until, request FROM weir_vanished WHERE owed ORDER BY author LIMIT 1"};
constexpr PostgresStatement kOfAuthor{
    "of_author",
    "SELECT id, record, created_at FROM weir_events WHERE pubkey = $1::bytea AND created_at <= $2::bigint"
    " AND (created_at < $2::bigint OR id > $3::bytea)"
    " ORDER BY created_at DESC, id LIMIT $4::bigint"};
constexpr PostgresStatement kWrapsFor{"wraps_for",
                                      "SELECT e.id, e.record, t.created_at FROM weir_tags t JOIN weir_events e ON e.id "
                                      "= t.id AND e.created_at = t.created_at"
                                      " WHERE t.tag = $1::bigint AND t.kind = 1059 AND t.created_at <= $2::bigint"
                                      " AND (t.created_at < $2::bigint OR t.id > $3::bytea)"
                                      " ORDER BY t.created_at DESC, t.id LIMIT $4::bigint"};
constexpr PostgresStatement kOfDeletedIds{
    "of_deleted_ids",
    "SELECT e.id, e.record FROM weir_deleted d"
    " JOIN weir_events e ON e.id = d.id AND e.kind NOT IN (5, 62) AND (substr(e.pubkey, 1, 16) = d.author"
    "  OR (e.kind = 1059 AND position(convert_to(encode(d.author, 'hex'), 'UTF8') IN e.record) > 0))"
    " WHERE d.id = ANY($1::bytea[]) LIMIT $2::bigint"};
constexpr PostgresStatement kOfDeletedAddresses{
    "of_deleted_addresses",
    "SELECT e.id, e.record FROM weir_deleted_addresses d JOIN weir_addresses a ON a.address = d.address"
    " JOIN weir_events e ON e.id = a.id AND e.created_at <= d.until"
    " WHERE d.address = ANY($1::bytea[]) LIMIT $2::bigint"};

constexpr Work kRemovalWork = 20 * kEntryWork;  // about the work of removing one event
constexpr size_t kDeletedAtOnce = 256;

int64_t RowsFor(Work most) { return static_cast<int64_t>(std::clamp<Work>(most / kRemovalWork, 1, 256)); }

}  // namespace

Result<OwedPiece> PostgresStore::RemoveVanished(Work most) {
  bool more = false;
  const Result<uint64_t> removed = Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const Result<PostgresRows> vanishing = edit.AskFirst(kVanishing, {});
    if (!vanishing.ok()) return vanishing.status();
    more = vanishing.value().size() > 0;
    if (!more) return {};
    const PublicKey author = AsBytes(vanishing.value().Bytes(0, 0));
    const int64_t until = vanishing.value().Int(0, 1);
    const std::string_view request = vanishing.value().Bytes(0, 2);
    const PostgresValues by_author = PostgresValues().Bytes(AsText(author));
    Result<bool> any = RemoveSome(edit, kOfAuthor, by_author, until, most,
                                  [&](EventView event) { return AsText(event.id()) != request; });
    if (any.ok() && !any.value()) {
      const std::string hex = ToHex(author);
      any = RemoveSome(edit, kWrapsFor, PostgresValues().Int64(TagNumber('p', hex)), until, most,
                       [&](EventView event) { return IsWrappedFor(event, hex); });
    }
    if (!any.ok()) return any.status();
    if (!any.value()) edit.EndVanishing(author, until);
    return {};
  });
  if (!removed.ok()) return removed.status();
  if (!more) owes_vanishing_ = false;
  return OwedPiece{.removed = removed.value(), .more = more};
}

// Removes events of the first page that has any to remove. Skips damaged records and events that are not meant, such as
// those whose tag has only the same hash. Returns false if no page has any. `key` is the first value of the statement.
Result<bool> PostgresStore::RemoveSome(PostgresEdit& edit, const PostgresStatement& statement,
                                       const PostgresValues& key, int64_t until, Work most,
                                       const std::function<bool(EventView event)>& is_meant) {
  std::string after;
  for (const int64_t rows = RowsFor(most);;) {
    const Result<PostgresRows> found =
        edit.AskFirst(statement, PostgresValues(key).Int64(until).Bytes(after).Int64(rows));
    if (!found.ok()) return found.status();
    const size_t count = found.value().size();
    bool any = false;
    edit.RemoveFound(found.value(), most, [&](EventView event) {
      const bool goes = is_meant(event);
      any = any || goes;
      return goes;
    });
    if (any) return true;
    if (count < static_cast<size_t>(rows)) return false;
    after = found.value().Bytes(count - 1, 0);
    until = found.value().Int(count - 1, 2);
  }
}

Result<OwedPiece> PostgresStore::RemoveExpired(uint64_t now_seconds, Work most) {
  if (now_seconds == 0) return OwedPiece();
  bool more = true;
  const Result<uint64_t> removed = Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const int64_t rows = RowsFor(most);
    bool any = false;
    more = true;
    // Passes over pages that have only damaged records.
    for (int64_t passed = 0; more && !any; passed += rows) {
      const Result<PostgresRows> found =
          edit.AskFirst(kExpired, PostgresValues().Int64(SqlTime(now_seconds)).Int64(passed).Int64(rows));
      if (!found.ok()) return found.status();
      const size_t looked_at = edit.RemoveFound(found.value(), most, [&any](EventView) {
        any = true;
        return true;
      });
      more = looked_at < found.value().size() || looked_at == static_cast<size_t>(rows);
    }
    return {};
  });
  if (!removed.ok()) return removed.status();
  return OwedPiece{.removed = removed.value(), .more = more};
}

// Begins at the newest event each time, because the events before the place that was reached are gone.
Result<OwedPiece> PostgresStore::RemoveAuthor(const PublicKey& author, std::string* /*resume*/, Work most) {
  bool any = false;
  const Result<uint64_t> removed = Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const Result<bool> some = RemoveSome(edit, kOfAuthor, PostgresValues().Bytes(AsText(author)),
                                         std::numeric_limits<int64_t>::max(), most, [](EventView) { return true; });
    if (!some.ok()) return some.status();
    any = some.value();
    return {};
  });
  if (!removed.ok()) return removed.status();
  return OwedPiece{.removed = removed.value(), .more = any};
}

// Removes the events that the statement finds, or only those for which `is_meant` returns true, if it is set. Returns
// their number.
Result<uint64_t> PostgresStore::RemoveAll(const PostgresStatement& statement, const PostgresValues& values,
                                          const std::function<bool(EventView event)>& is_meant) {
  return Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const Result<PostgresRows> found = edit.AskFirst(statement, values);
    if (found.ok()) edit.RemoveFound(found.value(), std::numeric_limits<Work>::max(), is_meant);
    return found.status();
  });
}

// Removes the events that these marks cover and that were saved before the marks were copied.
Status PostgresStore::RemoveMarked(Shelf shelf, std::span<const ShelfEntry> marks) {
  const bool is_of_ids = shelf == Shelf::kDeletedIds;
  PostgresArray keys{PostgresArray::Type::kBytes};
  std::set<std::string_view> marked;
  for (const ShelfEntry& mark : marks) {
    keys.Add(std::string_view(mark.key).substr(0, is_of_ids ? sizeof(EventId) : sizeof(Address)));
    marked.insert(mark.key);
  }
  // The statement also finds gift wraps that have a marked key anywhere in them, so this function checks the owners.
  const auto is_marked = [&](EventView event) {
    bool by_owner = !is_of_ids;
    ForEachOwner(event, [&](const PublicKey& owner) {
      by_owner |= marked.contains(std::string(AsText(event.id())).append(MarkedBy(owner)));
    });
    return by_owner;
  };
  for (;;) {
    const Result<uint64_t> removed = RemoveAll(is_of_ids ? kOfDeletedIds : kOfDeletedAddresses,
                                               PostgresValues().Array(keys).Int64(int64_t{kDeletedAtOnce}), is_marked);
    if (!removed.ok() || removed.value() == 0) return removed.status();
  }
}

// The rows are in another order than the ids. So if the work ends before the last row, no id is taken off; the next
// call does not find the removed events again.
Result<OwedPiece> PostgresStore::DeleteSome(std::span<const EventId>* ids, Work most) {
  const std::span<const EventId> some = ids->first(std::min(ids->size(), static_cast<size_t>(RowsFor(most))));
  bool all = true;
  const Result<uint64_t> removed = Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const Result<PostgresRows> found = edit.AskFirst(kReadRecords, PostgresValues().Array(IdArray(some)));
    if (!found.ok()) return found.status();
    all = edit.RemoveFound(found.value(), most, {}) == found.value().size();
    return {};
  });
  if (!removed.ok()) return removed.status();
  if (all) *ids = ids->subspan(some.size());
  return OwedPiece{.removed = removed.value(), .more = !ids->empty()};
}

}  // namespace weir
