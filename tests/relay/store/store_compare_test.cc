// Two databases: the same whatever the order of arrival, and every difference is found.
#include "relay/store/store_compare.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relay/nostr/event_parser.h"
#include "relay/store/keys.h"
#include "rocksdb/db.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kStart = 1'700'000'000;

// Something of everything that does not depend on the order of arrival: more than one group of records, replaced and
// deleted events, a vanished author.
std::vector<PlainEvent> History() {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 200; ++i)
    events.push_back(Plain(Author(i % 9), kStart + i, 1, {{"t", "a"}}, "note " + std::to_string(i)));
  events.push_back(Plain(Author(1), kStart, 0, {}, "old profile"));
  events.push_back(Plain(Author(1), kStart + 1, 0, {}, "new profile"));
  events.push_back(Plain(Author(2), kStart, 30023, {{"d", "x"}}, "an article"));
  events.push_back(Plain(Author(2), kStart + 9, 5, {{"e", events[2].id}, {"e", events[11].id}}));
  events.push_back(Plain(Author(2), kStart + 9, 5, {{"a", "30023:" + Author(2) + ":x"}}));
  events.push_back(Plain(Author(3), kStart + 999, 62, {{"relay", "ALL_RELAYS"}}));
  events.push_back(Plain(Author(4), kStart, 1, {{"expiration", std::to_string(kStart + 100)}}, "for a while"));
  return events;
}

class StoreCompareTest : public testing::Test {
 protected:
  StoreCompareTest() {
    std::vector<PlainEvent> events = History();
    SaveAll(*first_, events, kStart);
    std::ranges::reverse(events);
    for (const PlainEvent& event : events) SaveAll(*second_, {event}, kStart);
  }

  CheckReport Compare(const CompareOptions& options = {}) {
    const Result<CheckReport> report = CompareStores(*first_, *second_, options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value() : CheckReport();
  }
  // Returns "what: count (an example)" of all findings.
  std::string Findings(const CompareOptions& options = {}) {
    std::string text;
    for (const CheckReport::Finding& finding : Compare(options).findings) {
      text += (text.empty() ? "" : ", ") + finding.what + ": " + std::to_string(finding.count);
      if (!finding.examples.empty()) text += " (" + finding.examples[0] + ")";
    }
    return text;
  }
  static rocksdb::ColumnFamilyHandle* Index(const RocksDbStore& store) {
    for (rocksdb::ColumnFamilyHandle* family : store.families())
      if (family->GetName() == kIndexFamily) return family;
    return nullptr;
  }
  // Returns the first key under this letter.
  static std::string KeyUnder(const RocksDbStore& store, char letter) {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> at(store.db()->NewIterator(options, Index(store)));
    at->Seek(std::string(1, letter));
    EXPECT_TRUE(at->Valid() && at->key()[0] == letter) << letter;
    return at->key().ToString();
  }
  static void Put(RocksDbStore& store, const std::string& key, const std::string& value) {
    ASSERT_TRUE(store.db()->Put({}, Index(store), key, value).ok());
  }
  static void Remove(RocksDbStore& store, const std::string& key) {
    ASSERT_TRUE(store.db()->Delete({}, Index(store), key).ok());
  }
  static std::string NameOf(const std::string& mark_key) {
    return mark_key.substr(0, 1) + " " +
           ToHex(reinterpret_cast<const uint8_t*>(mark_key.data()) + 1, mark_key.size() - 1);
  }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> first_ = MustOpen(SmallStore(directory_ / "first"));
  const std::unique_ptr<RocksDbStore> second_ = MustOpen(SmallStore(directory_ / "second"));
};

TEST_F(StoreCompareTest, TheOrderOfArrivalDoesNotCount) {
  const CheckReport report = Compare();
  EXPECT_TRUE(report.clean()) << ComparisonText(report);
  EXPECT_EQ(report.events, first_->Sizes().events);
  EXPECT_GE(report.marks, 4U);
  EXPECT_EQ(ComparisonText(report),
            std::to_string(report.events) + " events, " + std::to_string(report.marks) + " marks: the same in both\n");
}

TEST_F(StoreCompareTest, EmptyStoresAreTheSame) {
  const auto a = MustOpen(SmallStore(directory_ / "a"));
  const auto b = MustOpen(SmallStore(directory_ / "b"));
  const CheckReport report = CompareStores(*a, *b).value();
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(report.events, 0U);
  EXPECT_EQ(CompareStores(*a, *second_).value().findings[0].count, second_->Sizes().events);
}

TEST_F(StoreCompareTest, FindsEventsThatOnlyOneHas) {
  const PlainEvent first = Plain(Author(1), kStart, 1, {}, "only here");
  const PlainEvent second = Plain(Author(1), kStart, 1, {}, "only there");
  SaveAll(*first_, {first}, kStart);
  EXPECT_EQ(Findings(), "event only in the first: 1 (" + first.id + ")");
  SaveAll(*second_, {second}, kStart);
  EXPECT_EQ(Findings(),
            "event only in the first: 1 (" + first.id + "), event only in the second: 1 (" + second.id + ")");
  EXPECT_EQ(Compare().events, first_->Sizes().events) << "those of the first";
  EXPECT_TRUE(Has(ComparisonText(Compare()), "not the same\n"));
}

// With the fields in another order it is the same event; a client that gets it sees a difference all the same.
TEST_F(StoreCompareTest, AnotherJsonOfTheSameEventIsFound) {
  const PlainEvent event = Plain(Author(1), kStart, 1, {}, "twice");
  const std::string json = JsonOf(event);
  const std::string moved =
      "{\"content\":\"twice\"," + json.substr(1, json.find("\"content\"") - 1) + json.substr(json.find("\"sig\""));
  const auto parsed = EventParser().Parse(moved);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message() << " " << moved;
  SaveAll(*first_, {event}, kStart);
  std::vector<SaveResult> results(1);
  ASSERT_TRUE(second_->Save(std::vector<Event>{parsed.value()}, kStart, results).ok());
  EXPECT_EQ(Findings(), "event with another JSON: 1 (" + event.id + ")");
}

TEST_F(StoreCompareTest, EveryMissingMarkIsFound) {
  for (const char letter : std::string("erv")) {
    const std::string key = KeyUnder(*second_, letter);
    std::string value;
    ASSERT_TRUE(second_->db()->Get({}, Index(*second_), key, &value).ok());
    Remove(*second_, key);
    EXPECT_EQ(Findings(), "mark only in the first: 1 (" + NameOf(key) + ")");
    Put(*second_, key, value);
    Remove(*first_, key);
    EXPECT_EQ(Findings(), "mark only in the second: 1 (" + NameOf(key) + ")");
    Put(*first_, key, value);
  }
  EXPECT_EQ(Findings(), "");
}

TEST_F(StoreCompareTest, ADifferentTimeOfAMarkIsFound) {
  for (const char letter : std::string("rv")) {
    const std::string key = KeyUnder(*second_, letter);
    std::string value;
    ASSERT_TRUE(second_->db()->Get({}, Index(*second_), key, &value).ok());
    Put(*second_, key, "12345678");
    EXPECT_EQ(Findings(), "mark that says something else: 1 (" + NameOf(key) + ")");
    Put(*second_, key, value);
  }
}

TEST_F(StoreCompareTest, AnExpiredEventIsGoneWhetherSweptOrNot) {
  ASSERT_EQ(second_->RemoveExpired(kStart + 100, kTurnWork).value().removed, 1U);
  EXPECT_EQ(Findings({.now_seconds = kStart + 100}), "");
  EXPECT_EQ(Findings({.now_seconds = kStart + 99}), "event only in the first: 1 (" + History().back().id + ")");
  EXPECT_EQ(Findings(), "event only in the first: 1 (" + History().back().id + ")");
}

TEST_F(StoreCompareTest, ACopyMayHaveMoreButLackNothing) {
  SaveAll(*second_, {Plain(Author(1), kStart, 1, {}, "only there")}, kStart);
  EXPECT_EQ(Findings({.second_may_have_more = true}), "");
  EXPECT_EQ(Compare({.second_may_have_more = true}).more, 1U);
  SaveAll(*first_, {Plain(Author(1), kStart, 1, {}, "only here")}, kStart);
  EXPECT_EQ(Compare({.second_may_have_more = true}).findings.size(), 1U);
}

TEST_F(StoreCompareTest, ExamplesAreFew) {
  for (int i = 0; i < 10; ++i) SaveAll(*second_, {Plain(Author(1), kStart, 1, {}, std::to_string(i))}, kStart);
  const CheckReport report = Compare({.examples = 2});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].count, 10U);
  EXPECT_EQ(report.findings[0].examples.size(), 2U);
}

TEST_F(StoreCompareTest, ADamagedStoreCannotBeCompared) {
  const std::string key = KeyUnder(*first_, 'i');
  Put(*first_, key, std::string(14, '\xff'));
  const auto report = CompareStores(*first_, *second_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), directory_ / "first is damaged; `weir check` says how");
}

}  // namespace
}  // namespace weir
