// Page: one page of a listing of the names that the shards (shards.h) store. A name is a text that a client chose, such
// as the key of a KeyedLimiter. The work for a page is bounded, however many names there are.
//
//   shards.PageFrom<State>(place, add, done);    // add(shard, number of the shard, page) calls page->Add
//
// The names are in no particular order. A place is a bucket of a shard's hash table. A name that is added or removed
// between two pages may be missing from both. If the hash table of a shard grows or shrinks between two pages, any name
// of this shard may be missing from both or be on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

// The place where a page begins. PagePlace{} is the place of the first page. A client gets the other places from
// Page::next, and can use them only to ask for that page.
struct PagePlace {
  uint64_t shard = 0;
  uint64_t bucket = 0;  // the number of the bucket in the shard's hash table

  bool operator==(const PagePlace&) const = default;
};

template <typename State>
class Page {
 public:
  // Add adds no further bucket once the page has this many names, or names with this many bytes in total.
  static constexpr size_t kMostNames = 100;
  static constexpr size_t kMostNameBytes = size_t{16} << 10;

  explicit Page(PagePlace place) : next_(place) {}

  const std::vector<State>& states() const { return states_; }
  std::vector<State>& states() { return states_; }
  // Returns the place of the next page, or nullopt if this page is the last.
  const std::optional<PagePlace>& next() const { return next_; }

  // Adds names of the shard with the number `shard`, from the page's place on. Returns true if it has added the last
  // name of this shard, so that the next shard may follow; returns false if the page takes no more. `names` is an
  // unordered_map<std::string, …>; state_of(entry of the map) returns the State.
  template <typename Names, typename StateOf>
  bool Add(size_t shard, Names& names, StateOf state_of) {
    if (next_->shard != shard) next_ = {.shard = shard};
    for (uint64_t& bucket = next_->bucket; bucket < names.bucket_count(); ++bucket) {
      if (looked_at_++ >= kMostBuckets) return false;
      if (names.begin(bucket) == names.end(bucket)) continue;
      if (states_.size() >= kMostNames || name_bytes_ >= kMostNameBytes) return false;
      for (auto at = names.begin(bucket); at != names.end(bucket); ++at) {
        name_bytes_ += at->first.size();
        states_.push_back(state_of(*at));
      }
    }
    return true;
  }
  // Marks the page as the last one.
  void End() { next_.reset(); }

 private:
  static constexpr size_t kMostBuckets = 16384;

  std::vector<State> states_;
  std::optional<PagePlace> next_;
  size_t name_bytes_ = 0;
  size_t looked_at_ = 0;
};

}  // namespace weir
