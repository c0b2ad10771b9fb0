#include "relay/store/store_compare.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/nostr/event.h"
#include "relay/nostr/expiration.h"
#include "relay/store/keys.h"

namespace weir {
namespace {

// Number of entries that are read at once from each store: 8 MiB if all have the largest size.
constexpr size_t kGroup = 64;

// One of the two stores, on one shelf.
class Side {
 public:
  Side(StoreWalk& walk, uint64_t now_seconds) : walk_(walk), now_seconds_(now_seconds) {}

  Status Begin(Shelf shelf) {
    shelf_ = shelf;
    entries_.clear();
    next_ = 0;
    at_end_ = false;
    return Settle();
  }
  bool Valid() const { return next_ < entries_.size(); }
  Status Next() {
    ++next_;
    return Settle();
  }
  const ShelfEntry& entry() const { return entries_[next_]; }

 private:
  // Moves to the next entry that is not ignored.
  Status Settle() {
    for (;; ++next_) {
      if (next_ == entries_.size()) {
        if (at_end_) return {};
        Result<std::vector<ShelfEntry>> more = walk_.Read(shelf_, entries_.empty() ? "" : entries_.back().key, kGroup);
        if (!more.ok()) return more.status();
        entries_ = std::move(more).value();
        next_ = 0;
        at_end_ = entries_.size() < kGroup;
        if (entries_.empty()) return {};
      }
      if (shelf_ != Shelf::kEvents || now_seconds_ == 0) return {};
      if (!IsExpired(EventView(entry().value), now_seconds_)) return {};
    }
  }

  StoreWalk& walk_;
  const uint64_t now_seconds_;
  Shelf shelf_ = Shelf::kEvents;
  std::vector<ShelfEntry> entries_;
  size_t next_ = 0;
  bool at_end_ = false;
};

class Comparer {
 public:
  Comparer(StoreWalk& first, StoreWalk& second, const CompareOptions& options)
      : options_(options), first_(first, options.now_seconds), second_(second, options.now_seconds) {}

  Result<CheckReport> Run() {
    if (Status compared = Merge(Shelf::kEvents, "event", &report_.events); !compared.ok()) return compared;
    for (const Shelf shelf : kMarks)
      if (Status compared = Merge(shelf, "mark", &report_.marks); !compared.ok()) return compared;
    for (auto& [what, finding] : findings_) report_.findings.push_back(std::move(finding));
    return std::move(report_);
  }

 private:
  // Goes along a shelf of both stores at once. Counts the entries of the first store.
  Status Merge(Shelf shelf, const std::string& what, uint64_t* count) {
    Status walked = first_.Begin(shelf);
    if (walked.ok()) walked = second_.Begin(shelf);
    while (walked.ok() && (first_.Valid() || second_.Valid())) {
      const int order = !first_.Valid() ? 1 : !second_.Valid() ? -1 : first_.entry().key.compare(second_.entry().key);
      if (order < 0) {
        const Result<bool> let_go = SecondLetGo(shelf);
        if (!let_go.ok()) return let_go.status();
        if (let_go.value()) ++report_.more;
        if (!let_go.value()) Found(what + " only in the first", NameOf(shelf, first_.entry().key));
      }
      if (order > 0 && options_.second_may_have_more) ++report_.more;
      if (order > 0 && !options_.second_may_have_more)
        Found(what + " only in the second", NameOf(shelf, second_.entry().key));
      if (order == 0) CompareValues(shelf);
      if (order <= 0) ++*count;
      if (order <= 0) walked = first_.Next();
      if (order >= 0 && walked.ok()) walked = second_.Next();
    }
    return walked;
  }

  Result<bool> SecondLetGo(Shelf shelf) const {
    if (shelf != Shelf::kEvents || !options_.second_let_go) return false;
    return options_.second_let_go(EventView(first_.entry().value));
  }

  // Returns the created_at up to which the mark holds.
  static uint64_t UntilOf(const ShelfEntry& mark) { return ReadNumber(mark.value.data(), mark.value.size()); }

  void CompareValues(Shelf shelf) {
    const ShelfEntry& a = first_.entry();
    const ShelfEntry& b = second_.entry();
    if (shelf != Shelf::kEvents) {
      const bool says_more = options_.second_may_have_more && UntilOf(b) > UntilOf(a);
      if (a.value != b.value && !says_more) Found("mark that says something else", NameOf(shelf, a.key));
    } else if (EventView(a.value).json() != EventView(b.value).json()) {
      Found("event with another JSON", NameOf(shelf, a.key));
    }
  }

  // Returns an event's id, or a mark's key after the letter of its shelf.
  static std::string NameOf(Shelf shelf, std::string_view key) {
    const std::string hex = ToHex(key);
    return shelf == Shelf::kEvents ? hex : std::string(1, static_cast<char>(shelf)) + " " + hex;
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
  CheckReport report_;
  std::map<std::string, CheckReport::Finding> findings_;
};

}  // namespace

Result<CheckReport> CompareStores(StoreWalk& first, StoreWalk& second, const CompareOptions& options) {
  return Comparer(first, second, options).Run();
}

Result<CheckReport> CompareStores(const RocksDbStore& first, const RocksDbStore& second,
                                  const CompareOptions& options) {
  return CompareStores(*WalkThrough(first), *WalkThrough(second), options);
}

std::string ComparisonText(const CheckReport& report) {
  return std::to_string(report.events) + " events, " + std::to_string(report.marks) +
         " marks: " + (report.clean() ? "the same in both" : "not the same") +
         (report.more > 0 ? "; the second has or knows " + std::to_string(report.more) + " more" : "") + "\n" +
         FindingsText(report);
}

}  // namespace weir
