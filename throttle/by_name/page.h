// Page: a part of the names that the shards (shards.h) hold, so that a listing costs no more than the names that it
// shows.
//
//   shards.PageFrom<State>(place, add, done);    // add(shard, its number, page) calls page->Add
//
// Names are in no order. A place is a bucket of a shard's hash table. A name that is made or forgotten between two
// pages may be on neither page, or on both. If the table of a shard grows or shrinks between two pages, so may all
// names of this shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

// The place where a page begins. A PagePlace{} is the beginning of the first page. A client gets further places from
// Page::next; all it can do with them is to pass them back.
struct PagePlace {
  uint64_t shard = 0;
  uint64_t bucket = 0;  // in the shard's table

  bool operator==(const PagePlace&) const = default;
};

template <typename State>
class Page {
 public:
  // A page takes no further bucket once it has this many names, or this many bytes of names.
  static constexpr size_t kMostNames = 100;
  static constexpr size_t kMostNameBytes = size_t{16} << 10;

  explicit Page(PagePlace place) : next_(place) {}

  const std::vector<State>& states() const { return states_; }
  std::vector<State>& states() { return states_; }
  // Returns the place of the next page; nullopt if this page is the last.
  const std::optional<PagePlace>& next() const { return next_; }

  // Adds names of the shard with the number `shard`, beginning at the page's place. Returns true if no name of this
  // shard is left, so that the next shard may follow; false if the page takes no more. `names` is an
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
  // Notes that no names are left, so that there is no next page.
  void End() { next_.reset(); }

 private:
  static constexpr size_t kMostBuckets = 16384;

  std::vector<State> states_;
  std::optional<PagePlace> next_;
  size_t name_bytes_ = 0;
  size_t looked_at_ = 0;
};

}  // namespace weir
