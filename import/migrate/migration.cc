#include "import/migrate/migration.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "import/bulk_gate.h"
#include "relay/store/postgres/postgres_walk.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

// Of one write.
constexpr size_t kMostEvents = 512;
constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMarksAtOnce = 4096;

class EventCopy {
 public:
  EventCopy(const RocksDbStore& from, Storage& to, const MigrationOptions& options)
      : from_(from),
        to_(*to.postgres_store()),
        options_(options),
        gate_(&to.limiter(), {.work_class = WorkClass::kBulk}, Clock::System()) {}

  Result<MigrationProgress> Run() {
    if (Status begun = FindPlace(); !begun.ok()) return begun;
    Status written;
    size_t bytes = 0;
    const Status read = from_.ScanAll(done_, [&](Serial serial, EventView event) {
      batch_.emplace_back(std::string(event.record()));
      last_ = serial;
      bytes += event.record().size();
      if (batch_.size() < kMostEvents && bytes < kMostBytes) return true;
      bytes = 0;
      written = Write();
      return written.ok();
    });
    if (!read.ok()) return read;
    if (written.ok()) written = Write();
    if (!written.ok()) return written;
    return progress_;
  }

 private:
  Status FindPlace() {
    std::string identity;
    if (const rocksdb::Status read = from_.db()->GetDbIdentity(identity); !read.ok())
      return Status::Error("cannot tell which database this is: " + read.ToString());
    note_ = "migrated " + identity;
    const Result<std::string> place = to_.Note(note_);
    if (!place.ok()) return place.status();
    if (options_.from_the_beginning) return {};
    const Result<int64_t> number = ParseInteger(place.value(), {.min = 0, .max = 1e18});
    if (number.ok()) done_.Advance({.number = static_cast<uint64_t>(number.value())});
    return {};
  }

  // What is noted is behind what is written: after a kill some events are found there.
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
    if (Status noted = to_.SetNote(note_, std::to_string(last_.number)); !noted.ok()) return noted;
    if (options_.on_progress) options_.on_progress(progress_);
    return {};
  }

  static constexpr Work kWriteWork = 100 * kTurnWork;

  const RocksDbStore& from_;
  PostgresStore& to_;
  const MigrationOptions options_;
  BulkGate gate_;
  std::string note_;
  Moment done_;
  Serial last_;
  std::vector<Event> batch_;
  MigrationProgress progress_;
};

}  // namespace

Result<MigrationProgress> CopyEvents(const RocksDbStore& from, Storage& to, const MigrationOptions& options) {
  return EventCopy(from, to, options).Run();
}

Result<uint64_t> CopyMarks(const RocksDbStore& from, Storage& to) {
  const std::unique_ptr<StoreWalk> walk = WalkThrough(from);
  uint64_t count = 0;
  for (const Shelf shelf : kMarks) {
    std::string after;
    for (bool more = true; more;) {
      const Result<std::vector<ShelfEntry>> marks = walk->Read(shelf, after, kMarksAtOnce);
      if (!marks.ok()) return marks.status();
      more = marks.value().size() == kMarksAtOnce;
      if (marks.value().empty()) break;
      after = marks.value().back().key;
      if (Status copied = to.postgres_store()->CopyMarks(shelf, marks.value()); !copied.ok()) return copied;
      count += marks.value().size();
    }
  }
  for (bool owes = true; owes;) {
    const Result<OwedPiece> removed = to.postgres_store()->RemoveVanished(kTurnWork);
    if (!removed.ok()) return removed.status();
    owes = removed.value().more;
  }
  return count;
}

Result<CheckReport> CompareWith(const RocksDbStore& from, Storage& to, const MigrationOptions& options) {
  // An event that the other would not save now was replaced or deleted there: it is not missing.
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
