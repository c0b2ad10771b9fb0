// The functions of PostgresStore that have to do with the words of events (postgres_words.h).
#include <spdlog/spdlog.h>

#include "relay/store/postgres/postgres_edit.h"
#include "relay/store/postgres/postgres_store.h"
#include "relay/store/postgres/postgres_word_build.h"

namespace weir {
namespace {

constexpr PostgresStatement kWordless{"wordless",
                                      "SELECT coalesce(sum(CASE WHEN s.origin IS NULL THEN greatest(o.events, 0)"
                                      " ELSE s.rest + least(o.serial - s.high, greatest(o.events, 0)) END), 0)::bigint"
                                      " FROM weir_origins o LEFT JOIN weir_searched s ON s.origin = o.origin"};
constexpr PostgresStatement kWordBytes{
    "word_bytes",
    "SELECT sum(pg_total_relation_size(t.oid))::bigint FROM (SELECT 'weir_words'::regclass::oid UNION ALL"
    " SELECT inhrelid FROM pg_inherits WHERE inhparent = 'weir_words'::regclass) AS t (oid)"};
}  // namespace

Status PostgresStore::OpenSearch(Duration patience) {
  // A relay that does not search removes the words of the events that it removes.
  if (!options_.read_only)
    if (Status made = MakeWordTables(writer_, patience); !made.ok()) return made;
  Result<std::vector<uint16_t>> kinds = SearchedKindsOf(writer_, patience);
  if (!kinds.ok()) return kinds.status();
  if (!options_.read_only) {
    const std::string warning = WarningOfKinds(options_.searched_kinds, kinds.value());
    if (!warning.empty() && !options_.is_history) spdlog::warn("search: {}", warning);
    if (options_.searched_kinds.empty()) return {};
    kinds = OpenSearchTables(writer_, options_.searched_kinds, patience);
  }
  if (!kinds.ok()) return kinds.status();
  if (!kinds.value().empty()) searched_ = std::make_unique<const SearchedEvents>(std::move(kinds).value());
  return {};
}

std::vector<uint16_t> PostgresStore::searched_kinds() const {
  return searched_ == nullptr ? std::vector<uint16_t>() : searched_->kinds();
}

Result<OwedPiece> PostgresStore::BuildSearch(Work most) {
  if (searched_ == nullptr || options_.read_only) return OwedPiece{};
  WordPiece built;
  const Result<uint64_t> written = Write(origin_, false, [&](PostgresEdit& edit) -> Status {
    const Result<WordPiece> piece = BuildWords(edit, *searched_, most);
    if (piece.ok()) built = piece.value();
    return piece.status();
  });
  if (!written.ok()) return written.status();
  const bool had_all = unsearched_.exchange(built.left) == 0;
  if (built.left == 0 && !had_all) spdlog::info("search: all events have their words");
  return OwedPiece{.removed = built.events, .more = built.more};
}

Work PostgresStore::SearchWork(EventView event) const {
  return searched_ == nullptr ? 0 : searched_->SavingWork(event);
}

Status PostgresStore::ReadWordSizes(PostgresSession& session, Duration patience) {
  session.Queue(kWordless);
  const Result<std::vector<PostgresRows>> wordless = session.Run(patience);
  if (!wordless.ok()) return wordless.status();
  unsearched_ = static_cast<uint64_t>(wordless.value()[0].Int(0, 0));
  session.Queue(kWordBytes);
  const Result<std::vector<PostgresRows>> bytes = session.Run(patience);
  if (bytes.ok()) search_bytes_ = static_cast<uint64_t>(bytes.value()[0].Int(0, 0));
  return session.connected() ? Status() : bytes.status();
}

StoreSizes PostgresStore::Sizes() const {
  StoreSizes sizes{.events = events_, .disk_bytes = disk_bytes_ + search_bytes_, .search_bytes = search_bytes_};
  if (searched_ != nullptr) sizes.unsearched = unsearched_;
  return sizes;
}

}  // namespace weir
