#include "relay/store/store_compare.h"

#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "relay/nostr/event.h"
#include "relay/store/database.h"
#include "relay/store/keys.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

// Records that are read at once, from each: 8 MiB where all are as large as they may be.
constexpr size_t kGroup = 64;
constexpr std::string_view kComparedMarks = "erv";  // w is work that is going on

// One of the two, as it was at one moment.
class Side {
 public:
  explicit Side(const RocksDbStore& store) : db_(*store.db()), snapshot_(store.db()) {
    for (rocksdb::ColumnFamilyHandle* family : store.families()) {
      if (family->GetName() == kEventsFamily) events_ = family;
      if (family->GetName() == kIndexFamily) index_ = family;
    }
    walk_.snapshot = snapshot_.snapshot();
    walk_.fill_cache = false;
    walk_.readahead_size = 1 << 20;
    walk_.total_order_seek = true;
    get_.snapshot = snapshot_.snapshot();
  }

  Status FindExpired(uint64_t now_seconds) {
    if (now_seconds == 0) return Status();
    Begin('x');
    for (; Valid(); Next()) {
      const std::string_view key = this->key();
      if (key.size() != 15) return Damaged();
      if (ReadNumber(key.data() + 1, 8) > now_seconds) break;
      expired_.insert(ReadNumber(key.data() + 9, 6));
    }
    return End();
  }

  // A walk through the entries under a letter.
  void Begin(char letter) {
    letter_ = letter;
    at_.reset(db_.NewIterator(walk_, index_));
    at_->Seek(std::string_view(&letter_, 1));
    PassOverExpired();
  }
  bool Valid() const { return at_->Valid() && ToView(at_->key()).starts_with(letter_); }
  void Next() {
    at_->Next();
    PassOverExpired();
  }
  std::string_view key() const { return ToView(at_->key()); }
  std::string_view value() const { return ToView(at_->value()); }
  Status End() const { return Readable(at_->status()); }

  // Of an entry under i.
  uint64_t serial() const {
    IndexEntry entry;
    return ReadIdValue(value(), &entry) ? entry.serial : 0;
  }

  // One for each serial; good until the next call.
  Status ReadRecords(const std::vector<uint64_t>& serials) {
    std::vector<Key> keys;
    for (const uint64_t serial : serials) keys.push_back(EventKey(serial));
    std::vector<rocksdb::Slice> slices;
    for (const Key& key : keys) slices.push_back(ToSlice(key));
    std::vector<rocksdb::Status> statuses(keys.size());
    // Cleared, not moved: RocksDB's slices lose their buffer when they are moved while they pin a block.
    for (rocksdb::PinnableSlice& record : records_) record.Reset();
    db_.MultiGet(get_, events_, keys.size(), slices.data(), records_.data(), statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!statuses[i].ok() && !statuses[i].IsNotFound()) return Readable(statuses[i]);
      if (statuses[i].IsNotFound() || !EventView::WellFormed(ToView(records_[i]))) return Damaged();
    }
    return Status();
  }
  EventView record(size_t i) const { return EventView(ToView(records_[i])); }

  Status Damaged() const { return Status::Error(db_.GetName() + " is damaged; `weir check` says how"); }

 private:
  void PassOverExpired() {
    while (letter_ == 'i' && !expired_.empty() && Valid() && expired_.contains(serial())) at_->Next();
  }
  Status Readable(const rocksdb::Status& status) const {
    return status.ok() ? Status() : DatabaseError("cannot read " + db_.GetName(), status);
  }

  rocksdb::DB& db_;
  rocksdb::ManagedSnapshot snapshot_;
  rocksdb::ColumnFamilyHandle* events_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  rocksdb::ReadOptions walk_;
  rocksdb::ReadOptions get_;
  std::unordered_set<uint64_t> expired_;
  char letter_ = 0;
  std::unique_ptr<rocksdb::Iterator> at_;
  std::vector<rocksdb::PinnableSlice> records_ = std::vector<rocksdb::PinnableSlice>(kGroup);
};

class Comparer {
 public:
  Comparer(const RocksDbStore& first, const RocksDbStore& second, const CompareOptions& options)
      : options_(options), first_(first), second_(second) {}

  Result<CheckReport> Run() {
    for (Side* side : {&first_, &second_})
      if (Status found = side->FindExpired(options_.now_seconds); !found.ok()) return found;
    if (Status compared = CompareEvents(); !compared.ok()) return compared;
    for (const char letter : kComparedMarks)
      if (Status compared = CompareMarks(letter); !compared.ok()) return compared;
    for (auto& [what, finding] : findings_) report_.findings.push_back(std::move(finding));
    return std::move(report_);
  }

 private:
  Status CompareEvents() {
    Status compared = Merge('i', "event", &report_.events, [this] {
      firsts_.push_back(first_.serial());
      seconds_.push_back(second_.serial());
      return firsts_.size() < kGroup ? Status() : CompareRecords();
    });
    return compared.ok() ? CompareRecords() : compared;
  }

  Status CompareRecords() {
    if (Status read = first_.ReadRecords(firsts_); !read.ok()) return read;
    if (Status read = second_.ReadRecords(seconds_); !read.ok()) return read;
    for (size_t i = 0; i < firsts_.size(); ++i) {
      const EventView event = first_.record(i);
      if (event.json() != second_.record(i).json()) Found("event with another JSON", ToHex(event.id()));
    }
    firsts_.clear();
    seconds_.clear();
    return Status();
  }

  Status CompareMarks(char letter) {
    return Merge(letter, "mark", &report_.marks, [this] {
      if (first_.value() != second_.value()) Found("mark that says something else", NameOf(first_.key()));
      return Status();
    });
  }

  // Both walks under a letter as one; `on_both` where both stand on the same key. Counts those of the first.
  template <typename OnBoth>
  Status Merge(char letter, const std::string& what, uint64_t* count, const OnBoth& on_both) {
    first_.Begin(letter);
    second_.Begin(letter);
    while (first_.Valid() || second_.Valid()) {
      const int order = !first_.Valid() ? 1 : !second_.Valid() ? -1 : first_.key().compare(second_.key());
      if (order < 0) Found(what + " only in the first", NameOf(first_.key()));
      if (order > 0) Found(what + " only in the second", NameOf(second_.key()));
      if (order == 0) {
        if (Status compared = on_both(); !compared.ok()) return compared;
      }
      if (order <= 0) ++*count;
      if (order <= 0) first_.Next();
      if (order >= 0) second_.Next();
    }
    const Status end = first_.End();
    return end.ok() ? second_.End() : end;
  }

  // An event's id; a mark's key, whose letter is what says of which sort it is.
  static std::string NameOf(std::string_view key) {
    const std::string hex = ToHex(key.substr(1));
    return key[0] == 'i' ? hex : std::string(1, key[0]) + " " + hex;
  }

  void Found(const std::string& what, std::string example) {
    CheckReport::Finding& finding = findings_[what];
    finding.what = what;
    ++finding.count;
    if (finding.examples.size() < options_.examples) finding.examples.push_back(std::move(example));
  }

  const CompareOptions options_;
  Side first_;
  Side second_;
  std::vector<uint64_t> firsts_;  // serials of what both have and is not compared yet
  std::vector<uint64_t> seconds_;
  CheckReport report_;
  std::map<std::string, CheckReport::Finding> findings_;
};

}  // namespace

Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options) {
  return Comparer(first, second, options).Run();
}

std::string ComparisonText(const CheckReport& report) {
  return std::to_string(report.events) + " events, " + std::to_string(report.marks) +
         " marks: " + (report.clean() ? "the same in both\n" : "not the same\n") + FindingsText(report);
}

}  // namespace weir
