// Page: some of the names that the shards hold, for listings that cost no more than what they show.
//
//   shards.PageFrom<State>(place, add, done);    // add(shard, its number, page) calls page->Add
//
// Names are in no order. A name that is made or forgotten between two pages may be on neither or on both. A place is a
// bucket of a shard's table: if that table grows or shrinks between two pages, this holds for all names of the shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir {

// The place where a page begins. A client that has one can only hand it back.
struct PagePlace {
  uint64_t shard = 0;
  uint64_t bucket = 0;  // in the shard's table

  bool operator==(const PagePlace&) const = default;
};

template <typename State>
class Page {
 public:
  static constexpr size_t kMostNames = 100;
  static constexpr size_t kMostNameBytes = size_t{16} << 10;

  explicit Page(PagePlace place) : next_(place) {}

  const std::vector<State>& states() const { return states_; }
  std::vector<State>& states() { return states_; }
  // The place of the next page; nullopt if these names were the last.
  const std::optional<PagePlace>& next() const { return next_; }

  // Adds the names of a shard, from the place on. Returns true if the whole shard was looked at: another may follow.
  // `names` is an unordered_map<std::string, …>; state_of takes a name with its value.
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
  void End() { next_.reset(); }

 private:
  static constexpr size_t kMostBuckets = 16384;

  std::vector<State> states_;
  std::optional<PagePlace> next_;
  size_t name_bytes_ = 0;
  size_t looked_at_ = 0;
};

}  // namespace weir
