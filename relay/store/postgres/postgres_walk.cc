#include "relay/store/postgres/postgres_walk.h"

#include "relay/store/keys.h"

namespace weir {
namespace {

constexpr PostgresStatement kWalkEvents{
    "walk_events", "SELECT id, record FROM weir_events WHERE id > $1::bytea ORDER BY id LIMIT $2::bigint"};
// The key is an id with the author's bytes behind it; the two are compared one after the other.
constexpr PostgresStatement kWalkDeleted{"walk_deleted",
                                         "SELECT id || author, NULL FROM weir_deleted"
                                         " WHERE (id, author) > (substr($1::bytea, 1, 32), substr($1::bytea, 33))"
                                         " ORDER BY id, author LIMIT $2::bigint"};
constexpr PostgresStatement kWalkAddresses{
    "walk_addresses",
    "SELECT address, until FROM weir_deleted_addresses WHERE address > $1::bytea ORDER BY address LIMIT $2::bigint"};
constexpr PostgresStatement kWalkVanished{
    "walk_vanished",
    "SELECT author, until FROM weir_vanished WHERE author > $1::bytea ORDER BY author LIMIT $2::bigint"};

const PostgresStatement& StatementOf(Shelf shelf) {
  switch (shelf) {
    case Shelf::kEvents:
      return kWalkEvents;
    case Shelf::kDeletedIds:
      return kWalkDeleted;
    case Shelf::kDeletedAddresses:
      return kWalkAddresses;
    case Shelf::kVanished:
      break;
  }
  return kWalkVanished;
}

class PostgresWalk final : public StoreWalk {
 public:
  explicit PostgresWalk(const PostgresStore& store) : store_(store), session_(store.NewSession()) {}

  Result<std::vector<ShelfEntry>> Read(Shelf shelf, const std::string& after, size_t most) override {
    if (!session_->connected())
      if (Status connected = store_.Connect(*session_); !connected.ok()) return connected;
    session_->Queue(StatementOf(shelf), PostgresValues().Bytes(after).Int64(static_cast<int64_t>(most)));
    const Result<std::vector<PostgresRows>> answers = session_->Run(store_.options().settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& rows = answers.value()[0];
    std::vector<ShelfEntry> entries;
    for (size_t i = 0; i < rows.size(); ++i) {
      ShelfEntry& entry = entries.emplace_back(ShelfEntry{std::string(rows.Bytes(i, 0)), ""});
      if (shelf == Shelf::kEvents) {
        entry.value = rows.Bytes(i, 1);
        if (!EventView::WellFormed(entry.value)) return Status::Error("PostgreSQL: a stored event is damaged");
      } else if (shelf != Shelf::kDeletedIds) {
        entry.value = Key('\0').Number(static_cast<uint64_t>(rows.Int(i, 1)), 8).view().substr(1);
      }
    }
    return entries;
  }

 private:
  const PostgresStore& store_;
  const std::unique_ptr<PostgresSession> session_;
};

}  // namespace

std::unique_ptr<StoreWalk> WalkThrough(const PostgresStore& store) { return std::make_unique<PostgresWalk>(store); }

}  // namespace weir
