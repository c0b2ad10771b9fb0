#include "import/migrate/migration.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "import/bulk_gate.h"
#include "relay/store/keys.h"
#include "relay/store/postgres/postgres_walk.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

// The bounds of one write.
constexpr size_t kMostEvents = 512;
constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMarksAtOnce = 4096;
constexpr size_t kMemosAtOnce = 500;  // relays of the database wait for a write of memos with their own

class StoreCopy {
 public:
  // `to` saves events with the origin `name`. Only events that were copied from `from` have this origin.
  StoreCopy(const RocksDbStore& from, PostgresStore& to, const std::string& name, AdaptiveLimiter& limiter,
            const MigrationOptions& options)
      : from_(from),
        to_(to),
        name_(name),
        options_(options),
        gate_(&limiter, {.work_class = WorkClass::kBulk}, Clock::System()) {}

  // Removes events before it copies events; otherwise `to` would refuse an older version that `from` has saved since
  // the last run. Copies the marks of vanished authors after the events; otherwise `to` would refuse the requests to
  // vanish.
  Result<MigrationProgress> Run() {
    Status done = FindPlace();
    if (done.ok()) done = CopyMarks(Shelf::kDeletedIds);
    if (done.ok()) done = CopyMarks(Shelf::kDeletedAddresses);
    if (done.ok()) done = RemoveReplaced();
    if (done.ok()) done = CopyEvents();
    if (done.ok()) done = CopyMarks(Shelf::kVanished);
    if (done.ok()) done = RemoveVanished();
    if (done.ok()) done = CopyMemos();
    if (!done.ok()) return done;
    return progress_;
  }

 private:
  Status FindPlace() {
    const Result<std::string> place = to_.Note(name_);
    if (!place.ok()) return place.status();
    const Result<int64_t> number = ParseInteger(place.value(), {.min = 0, .max = 1e18});
    if (number.ok()) copied_.Advance({.number = static_cast<uint64_t>(number.value())});
    return {};
  }

  Status CopyMarks(Shelf shelf) {
    const std::unique_ptr<StoreWalk> walk = WalkThrough(from_);
    std::string after;
    for (bool more = true; more;) {
      const Result<std::vector<ShelfEntry>> marks = walk->Read(shelf, after, kMarksAtOnce);
      if (!marks.ok()) return marks.status();
      more = marks.value().size() == kMarksAtOnce;
      if (marks.value().empty()) break;
      after = marks.value().back().key;
      if (Status copied = to_.CopyMarks(shelf, marks.value()); !copied.ok()) return copied;
      progress_.marks += marks.value().size();
    }
    return {};
  }

  // Copies the memos, such as bans. A memo that `from` has removed since the last run stays in `to`.
  Status CopyMemos() {
    std::vector<Memo> memos;
    const Result<uint64_t> read = from_.ReadMemos(0, [&memos](const Memo& memo) { memos.push_back(memo); });
    Status done = read.status();
    for (std::span<const Memo> rest(memos); done.ok() && !rest.empty();) {
      const std::span<const Memo> some = rest.first(std::min(rest.size(), kMemosAtOnce));
      done = to_.WriteMemos(some);
      rest = rest.subspan(some.size());
    }
    return done;
  }

  // Removes copied versions that `from` no longer has. A version that was replaced leaves no mark, and the event that
  // replaced it may have disappeared as well.
  Status RemoveReplaced() {
    const Result<Moment> there = from_.Now();
    if (!there.ok()) return there.status();
    if (!there.value().Covers(copied_)) return {};  // `from` is older than the copy: events that it lacks may be newer
    const Result<Moment> here = to_.Now();
    if (!here.ok()) return here.status();
    const uint32_t own = to_.origin().number;
    Moment others;
    for (const Serial& last : here.value().last())
      if (last.origin != own) others.Advance(last);
    std::vector<EventId> ids;
    Status removed;
    Status read = to_.ScanAll(others, here.value(), [&](Serial serial, EventView event) {
      if (serial.origin != own || !HasAddress(event.kind())) return true;
      ids.push_back(event.id());
      if (ids.size() == kMostEvents) removed = RemoveGone(std::exchange(ids, {}));
      return removed.ok();
    });
    if (!read.ok()) return read;
    return removed.ok() ? RemoveGone(ids) : removed;
  }

  Status RemoveGone(const std::vector<EventId>& ids) {
    const Result<std::vector<bool>> stored = from_.Stored(ids);
    if (!stored.ok()) return stored.status();
    std::vector<EventId> gone;
    for (size_t i = 0; i < ids.size(); ++i)
      if (!stored.value()[i]) gone.push_back(ids[i]);
    return to_.Delete(gone).status();
  }

  Status CopyEvents() {
    Status written;
    size_t bytes = 0;
    const Moment after = options_.from_the_beginning ? Moment() : copied_;
    const Result<Moment> there = from_.Now();
    if (!there.ok()) return there.status();
    Status read = from_.ScanAll(after, there.value(), [&](Serial serial, EventView event) {
      batch_.emplace_back(std::string(event.record()));
      last_ = serial;
      bytes += event.record().size();
      if (batch_.size() < kMostEvents && bytes < kMostBytes) return true;
      bytes = 0;
      written = Write();
      return written.ok();
    });
    if (!read.ok()) return read;
    return written.ok() ? Write() : written;
  }

  // Saves the events, then the place that the copy has reached. After a kill between the two, the next run copies some
  // events that `to` has already.
  Status Write() {
    if (batch_.empty()) return {};
    std::vector<SaveResult> results(batch_.size());
    for (size_t settled = 0; settled < batch_.size();) {
      const std::span<const Event> rest = std::span(batch_).subspan(settled);
      std::optional<Admission> permit;
      size_t bytes = 0;
      for (const Event& event : rest) bytes += event.record()->size();
      if (!gate_.Enter(bytes, &permit)) return Status::Error("stopped");
      const Result<size_t> some =
          to_.SaveSomeHistory(rest, options_.now_seconds, kWriteWork, std::span(results).subspan(settled));
      if (!some.ok()) return some.status();
      settled += some.value();
    }
    for (const SaveResult& result : results) {
      ++progress_.events;
      ++(result.outcome == SaveOutcome::kSaved       ? progress_.saved
         : result.outcome == SaveOutcome::kDuplicate ? progress_.present
                                                     : progress_.dropped);
    }
    batch_.clear();
    if (Status noted = to_.SetNote(name_, std::to_string(last_.number)); !noted.ok()) return noted;
    if (options_.on_progress) options_.on_progress(progress_);
    return {};
  }

  Status RemoveVanished() {
    for (bool owes = true; owes;) {
      const Result<OwedPiece> removed = to_.RemoveVanished(kTurnWork);
      if (!removed.ok()) return removed.status();
      owes = removed.value().more;
    }
    return {};
  }

  static constexpr Work kWriteWork = 100 * kTurnWork;

  const RocksDbStore& from_;
  PostgresStore& to_;
  const std::string name_;
  const MigrationOptions options_;
  BulkGate gate_;
  Moment copied_;  // the place where the last run ended
  Serial last_;
  std::vector<Event> batch_;
  MigrationProgress progress_;
};

}  // namespace

// The events of a migration get an origin of their own, which shows that they came from this database.
Result<MigrationProgress> CopyAll(const RocksDbStore& from, Storage& to, const MigrationOptions& options) {
  std::string identity;
  if (const rocksdb::Status read = from.db()->GetDbIdentity(identity); !read.ok())
    return Status::Error("cannot tell which database this is: " + read.ToString());
  const std::string name = "migrated " + identity;
  PostgresStoreOptions named = to.postgres_store()->options();
  named.settings.origin = name;
  named.is_history = true;
  const Result<std::unique_ptr<PostgresStore>> store = PostgresStore::Open(named);
  if (!store.ok()) return store.status();
  return StoreCopy(from, *store.value(), name, to.limiter(), options).Run();
}

Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options) {
  // An event that PostgreSQL would refuse to save now was replaced or deleted there, so it is not missing.
  const auto let_go = [&](EventView event) -> Result<bool> {
    const Result<SaveOutcome> outcome =
        to.postgres_store()->Judge(Event(std::string(event.record())), options.now_seconds);
    if (!outcome.ok()) return outcome.status();
    return outcome.value() != SaveOutcome::kSaved;
  };
  return CompareStores(*WalkThrough(from), *WalkThrough(*to.postgres_store()),
                       {.now_seconds = options.now_seconds,
                        .examples = options.examples,
                        .second_may_have_more = true,
                        .second_let_go = let_go});
}

}  // namespace weir
