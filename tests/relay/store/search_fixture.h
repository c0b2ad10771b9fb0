// SearchTest: a RocksDB store that searches, and what tests of it ask.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
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

inline void BuildAll(EventStore& store) {
  while (store.BuildSearch(100'000).value().more) {
  }
}

}  // namespace weir
