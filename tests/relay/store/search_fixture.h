// SearchTest: a RocksDB store that searches. SearchSuite: tests of search that both stores must pass, in
// store_suite_search.cc. And what these tests ask.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "relay/nostr/content.h"
#include "relay/store/store_check.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

inline constexpr uint64_t kSearchNow = 2000;
inline const std::vector<uint16_t> kSearchedKinds{1, 30023};

inline std::string CheckText(const RocksDbStore& store) {
  const Result<CheckReport> report = CheckStore(store);
  if (!report.ok()) return report.status().message();
  return report.value().clean() ? "" : ToText(report.value());
}

inline Filter SearchFor(const std::string& text, std::optional<uint64_t> limit = std::nullopt) {
  Filter filter;
  filter.search = text;
  filter.limit = limit;
  return filter;
}

inline std::vector<std::string> ContentsOf(const EventStore& store, std::vector<Filter> filters,
                                           bool* complete = nullptr) {
  const auto query = store.Find(std::move(filters), {.now_seconds = kSearchNow});
  std::vector<std::string> contents;
  while (true) {
    const Result<Progress> progress = query->Next({}, [&](EventView e) { contents.push_back(ContentOf(e)); });
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    if (!progress.ok() || progress.value() == Progress::kDone) break;
  }
  if (complete != nullptr) *complete = query->complete();
  return contents;
}

class SearchTest : public testing::Test {
 protected:
  SearchTest() { options_.searched_kinds = kSearchedKinds; }
  std::unique_ptr<RocksDbStore> Open() { return MustOpen(options_); }

  TempDirectory directory_;
  StoreOptions options_ = SmallStore(directory_ / "events");
};

// SearchPlace: the place in which a test keeps a store that searches. It is empty at first.
class SearchPlace {
 public:
  virtual ~SearchPlace() = default;
  // Opens the store. If `searches` is false, the process does not know search. REQUIRES: it is not open already.
  virtual std::unique_ptr<EventStore> Open(bool searches = true) = 0;
  // Returns the first place at which the words do not match the stored events; empty if there is none.
  virtual std::string Difference(EventStore& store) = 0;
  // Returns true if matches of the same score and age come in the order of their ids, not of their serials.
  virtual bool is_by_id() const = 0;
  // The most work of a step that does not stop halfway.
  virtual Work most_step() const = 0;
};

struct SearchKind {
  std::string name;
  std::function<std::unique_ptr<SearchPlace>()> make;
};
inline void PrintTo(const SearchKind& kind, std::ostream* out) { *out << kind.name; }

class SearchSuite : public testing::TestWithParam<SearchKind> {
 protected:
  std::unique_ptr<EventStore> Open(bool searches = true) { return place_->Open(searches); }

  std::unique_ptr<SearchPlace> place_ = GetParam().make();
};

inline void BuildAll(EventStore& store) {
  while (store.BuildSearch(100'000).value().more) {
  }
}

}  // namespace weir
