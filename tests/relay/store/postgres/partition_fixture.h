// The fixture of the tests on partitioned tables.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/nostr/filter_reader.h"
#include "tests/relay/store/postgres/partitions.h"
#include "tests/relay/store/search_fixture.h"

namespace weir {

inline constexpr uint64_t kCut = 1000;  // between the partitions first and p1

inline Filter FilterOf(const std::string& json) {
  const Result<Filter> parsed = ParseFilter(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.value();
}

class PostgresPartitionTest : public testing::Test {
 protected:
  PostgresStoreOptions Options(const std::string& origin = "here") const {
    PostgresStoreOptions options = database_.Options(origin);
    options.searched_kinds = {1};
    return options;
  }
  std::string Counts(const std::string& table) const {
    return database_.Ask(
        "SELECT coalesce(string_agg(place || ' ' || n, ', ' ORDER BY place), '') FROM (SELECT"
        " tableoid::regclass::text AS place, count(*) AS n FROM " +
        table + " GROUP BY 1) AS c");
  }
  // Returns the outcome of saving each event in one batch.
  static std::vector<SaveOutcome> Outcomes(EventStore& store, const std::vector<PlainEvent>& events) {
    std::vector<Event> all;
    for (const PlainEvent& event : events) all.push_back(ToEvent(event));
    std::vector<SaveResult> results(all.size());
    const Status saved = store.Save(all, 0, results);
    EXPECT_TRUE(saved.ok()) << saved.message();
    std::vector<SaveOutcome> outcomes;
    for (const SaveResult& result : results) outcomes.push_back(result.outcome);
    return outcomes;
  }
  static size_t Found(EventStore& store, const std::string& filter) {
    const auto query = store.Find({FilterOf(filter)}, {.default_limit = 500, .max_limit = 100'000});
    return Drain(*query).size();
  }

  PostgresDatabase database_;
};

}  // namespace weir
