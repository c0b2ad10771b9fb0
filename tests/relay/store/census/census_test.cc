// The census of a store, compared with one that reads all events.
#include "relay/store/census/census.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/census/census_tables.h"
#include "relay/store/store_check.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'767'225'600 + 20 * kDaySeconds;  // 2026-01-21

class CensusSuite : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (is_server() && !PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
    place_ = GetParam().make("wss://weir.example");
    store_ = place_->Open();
    ASSERT_NE(store_, nullptr);
  }
  bool is_server() const { return GetParam().name == "postgres"; }
  Census Take(CensusOptions options = {}) {
    options.now_seconds = kNow;
    Result<Census> census = TakeCensus(*store_, options);
    EXPECT_TRUE(census.ok()) << census.status().message();
    return census.ok() ? std::move(census).value() : Census();
  }

  std::unique_ptr<StoreUnderTest> place_;
  std::unique_ptr<EventStore> store_;
};

INSTANTIATE_TEST_SUITE_P(
    , CensusSuite,
    testing::Values(
        StoreKind{"rocksdb", [](const std::string& url) { return std::make_unique<RocksDbUnderTest>(url); }},
        StoreKind{"postgres", [](const std::string& url) { return std::make_unique<PostgresUnderTest>(url); }}),
    NameOfKind);

// Few kinds, months and authors, of which some have many more events than others.
std::vector<PlainEvent> SkewedEvents(uint64_t seed, size_t count) {
  constexpr uint16_t kKinds[] = {1, 7, 3, 30'023, 9'735};
  std::mt19937_64 random(seed);
  const auto few = [&random](uint64_t below) { return std::min(random() % below, random() % below); };
  std::vector<PlainEvent> events;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t at = random() % 50 == 0 ? random() % (2 * kNow) : kNow - few(900) * kDaySeconds / 2;
    std::vector<Tag> tags;
    for (uint64_t tag = few(6); tag > 0; --tag)
      tags.push_back({std::string(1, "tpe"[few(3)]), "value " + std::to_string(few(30))});
    events.push_back(Plain(Author(few(25)), at, kKinds[few(5)], std::move(tags),
                           std::string(random() % 500, 'x') + std::to_string(i)));
  }
  return events;
}

// Reads all events, to find what a census should find.
struct Slow {
  std::map<uint16_t, uint64_t> kinds;
  std::map<uint16_t, double> bytes;
  std::map<Month, uint64_t> months;
  std::map<std::string, uint64_t> authors;
  std::map<std::pair<char, std::string>, uint64_t> tags;
  std::map<char, uint64_t> letters;
  uint64_t matched = 0;

  // A tag that an event has twice is one entry on RocksDB, and two rows on PostgreSQL.
  Slow(const EventStore& store, const OldEvents& rule, bool counts_twice) {
    const Status read = store.ScanAll({}, store.Now().value(), [&](Serial, EventView event) {
      ++kinds[event.kind()];
      bytes[event.kind()] += static_cast<double>(event.record().size());
      ++months[MonthOf(event.created_at(), kNow)];
      ++authors[ToHex(event.pubkey())];
      matched += event.created_at() < rule.before && rule.kinds.Has(event.kind()) ? 1 : 0;
      std::set<std::pair<char, std::string>> seen;
      for (const TagView tag : event.tags()) {
        const std::pair<char, std::string> named(tag.letter, tag.value);
        if (!seen.insert(named).second && !counts_twice) continue;
        ++tags[named];
        ++letters[tag.letter];
      }
      return true;
    });
    EXPECT_TRUE(read.ok()) << read.message();
  }
  uint64_t LeastOf(size_t rows) const {
    std::vector<uint64_t> counts;
    for (const auto& [tag, count] : tags) counts.push_back(count);
    std::sort(counts.begin(), counts.end(), std::greater<>());
    return counts[std::min(rows, counts.size()) - 1];
  }
};

TEST_P(CensusSuite, FindsTheSameAsReadingEverything) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SaveAll(*store_, SkewedEvents(seed, 300));
    OldEvents rule{.before = kNow - 90 * kDaySeconds, .kinds = KindSet()};
    rule.kinds.Add(1, 7);
    const Census census = Take({.most_rows = 8, .rule = rule});
    const Slow slow(*store_, rule, is_server());

    ASSERT_EQ(census.kinds.size(), slow.kinds.size());
    for (const Census::OfKind& each : census.kinds) {
      EXPECT_EQ(each.amount.events, slow.kinds.at(each.kind));
      const double error = 2 * std::sqrt(each.amount.record_variance);
      EXPECT_NEAR(each.amount.record_bytes, slow.bytes.at(each.kind), 2 * error + 1) << each.kind;
    }
    std::map<Month, uint64_t> months;
    for (const auto& [month, amount] : census.months) months[month] = amount.events;
    EXPECT_EQ(months, slow.months);
    EXPECT_EQ(census.matched.events, slow.matched);
    ASSERT_EQ(census.authors.size(), 8U);
    for (const Census::OfAuthor& each : census.authors)
      EXPECT_EQ(each.amount.events, slow.authors.at(ToHex(each.author)));
    ASSERT_EQ(census.tags.size(), 8U);
    EXPECT_EQ(census.tags.back().entries, slow.LeastOf(8));
    for (const Census::OfTag& each : census.tags)
      EXPECT_EQ(each.entries, slow.tags.at({each.letter, each.value})) << each.value;
    for (const Census::OfLetter& each : census.letters)
      EXPECT_EQ(each.entries, slow.letters.at(each.letter)) << each.letter;
    EXPECT_EQ(census.letters.size(), slow.letters.size());
    uint64_t by_day = 0;
    for (const auto& [day, amount] : census.days) by_day += amount.events;
    EXPECT_EQ(by_day, census.all.events);
  }
}

TEST_P(CensusSuite, AnEmptyStoreIsNoError) {
  const Census census = Take();
  EXPECT_EQ(census.all.events, 0U);
  EXPECT_TRUE(census.kinds.empty());
  EXPECT_TRUE(Has(CensusJson(census), "\"kinds\": []"));
  EXPECT_TRUE(CensusSentences(census)[0].starts_with("0 events are stored."));
}

TEST_P(CensusSuite, LargeAuthorsComeFirstEvenIfTheyHaveFewEvents) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 60; ++i) events.push_back(Plain(Author(1 + i % 3), kNow - i, 1, {}, std::to_string(i)));
  for (uint64_t i = 0; i < 5; ++i) events.push_back(Plain(Author(9), kNow - i, 1, {}, std::string(60'000, 'x')));
  SaveAll(*store_, events);
  const Census census = Take({.most_rows = 2});
  ASSERT_EQ(census.authors.size(), 2U);
  EXPECT_EQ(ToHex(census.authors[0].author), Author(9));
  EXPECT_EQ(census.authors[0].amount.events, 5U);
}

TEST_P(CensusSuite, AsksForEachSliceAndEndsIfItIsRefused) {
  SaveAll(*store_, SkewedEvents(1, 300));
  uint64_t asked = 0;
  const Census whole = Take();
  const Census sliced = Take({.await = [&asked] {
    ++asked;
    return Result<Admission>(Admission());
  }});
  EXPECT_GT(asked, 10U);
  EXPECT_EQ(sliced.all.events, whole.all.events);
  const uint64_t all = asked;
  for (const uint64_t most : {uint64_t{0}, all / 2, all - 1}) {
    asked = 0;
    const Result<Census> ended = TakeCensus(*store_, {.now_seconds = kNow, .await = [&asked, most] {
                                                        return asked++ < most ? Result<Admission>(Admission())
                                                                              : Status::Error("the relay stops");
                                                      }});
    EXPECT_FALSE(ended.ok()) << most;
  }
}

TEST_P(CensusSuite, AFewRecordsAreEnoughForTheSizes) {
  if (is_server()) GTEST_SKIP() << "the sample has all of so few events";
  std::vector<PlainEvent> events;
  double bytes = 0;
  for (uint64_t i = 0; i < 3'000; ++i) {
    events.push_back(Plain(Author(i % 50), kNow - i * 60, 1, {{"t", "x"}}, std::string(i * 7'919 % 1'000, 'x')));
    bytes += static_cast<double>(ToEvent(events.back()).record()->size());
  }
  SaveAll(*store_, events);
  const Census census = Take();
  ASSERT_EQ(census.kinds.size(), 1U);
  const Amount& amount = census.kinds[0].amount;
  EXPECT_LT(census.sampled, 2'000U);
  const double error = 2 * std::sqrt(amount.record_variance);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, bytes / 10);
  EXPECT_NEAR(amount.record_bytes, bytes, 2 * error);
}

TEST_P(CensusSuite, TheEntriesOfTheIndexAreCounted) {
  if (is_server()) GTEST_SKIP() << "only RocksDB has them";
  SaveAll(*store_, SkewedEvents(4, 250));
  const Census census = Take();
  const Result<CheckReport> report = CheckStore(static_cast<RocksDbStore&>(*store_));
  ASSERT_TRUE(report.ok());
  // A tag that an event has twice is one entry.
  EXPECT_NEAR(census.all.entries, static_cast<double>(report.value().entries), 0.1 * census.all.entries);
  EXPECT_GE(census.all.entries, static_cast<double>(report.value().entries));
}

TEST_P(CensusSuite, ShowsItAsTables) {
  SaveAll(*store_, SkewedEvents(1, 200));
  const Census census = Take({.most_rows = 3, .rule = OldEvents{.before = kNow}});
  LiveRates rates;
  LiveTables tables(rates);
  AddStoredKinds(census, 2, &tables);
  AddStoredDays(census, 2, &tables);
  AddStoredMonths(census, &tables);
  AddStoredAuthors(census, &tables);
  AddStoredLetters(census, &tables);
  AddStoredTags(census, &tables);
  const std::vector<LiveTable> shown = std::move(tables).Take();
  ASSERT_EQ(shown.size(), 6U);
  for (const LiveTable& table : shown) {
    EXPECT_FALSE(table.rows.empty()) << table.name;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
  }
  EXPECT_EQ(shown[0].rows.size(), 2U);
  EXPECT_EQ(shown[0].left_out, census.kinds.size() - 2);
  EXPECT_EQ(shown[2].rows.front()[0], "future");
  EXPECT_TRUE(Has(CensusSentences(census)[2], "The rule matches"));
}

}  // namespace
}  // namespace weir
