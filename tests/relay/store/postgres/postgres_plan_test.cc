// The way in which PostgreSQL finds the events of a filter, as it says itself: by a walk of an index in the order of
// the answer, and by no more of it than the answer needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "relay/nostr/filter_reader.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/postgres/partitions.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kStart = RandomNostr::kStart;

class PostgresPlanTest : public testing::Test {
 protected:
  PostgresPlanTest() {
    PostgresStoreOptions options = database_.Options();
    options.conninfo +=
        " options='-c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
        " -c auto_explain.log_analyze=on -c auto_explain.log_timing=off'";
    store_ = MustOpen(options);
    EXPECT_TRUE(store_->Now().ok());  // the statements that begin a connection are done
  }

  static void ExpectNone(const std::string& plans, const std::vector<std::string>& of) {
    for (const std::string& never : of) EXPECT_FALSE(Has(plans, never)) << never << ": " << plans;
  }
  // Returns what the server says of its plans while all of the filter's events are read.
  std::string PlansOf(const std::string& filter, uint64_t limit = 500, const Slice& slice = {}) {
    const Result<Filter> parsed = ParseFilter(filter);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    const size_t before = SharedPostgres().Log().size();
    const auto query = store_->Find({parsed.value()}, {.default_limit = limit, .max_limit = 100'000});
    found_ = Drain(*query, slice).size();
    // The log is written before the answer is.
    return SharedPostgres().Log().substr(before);
  }

  PostgresDatabase database_;
  std::unique_ptr<PostgresStore> store_;
  size_t found_ = 0;
};

struct PlannedShape {
  const char* filter;
  const char* index;  // the one that is walked
};

TEST_F(PostgresPlanTest, EveryShapeIsAWalkOfAnIndexWithoutASort) {
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 3000; ++i)
    events.push_back(Plain(Author(i % 30), kStart + i / 3, static_cast<uint16_t>(i % 5 == 0 ? 7 : 1),
                           {{"t", "tag" + std::to_string(i % 10)}, {"p", Author(i % 40)}}, std::to_string(i)));
  SaveAll(*store_, events);
  ASSERT_TRUE(store_->Analyze().ok());
  const std::string author = Author(3);
  std::string authors = "\"" + author + "\"";
  for (uint64_t i = 10; i < 30; ++i) authors += ",\"" + Author(i) + "\"";
  const std::string follows = R"({"authors":[)" + authors + R"(],"kinds":[1,7]})";
  const std::string of_author = R"({"authors":[")" + author + "\"]}";
  const std::string of_author_kind = R"({"authors":[")" + author + R"("],"kinds":[1]})";
  const std::string by_id = R"({"ids":[")" + events[5].id + "\"]}";
  const std::string until =
      R"({"since":)" + std::to_string(kStart + 10) + R"(,"until":)" + std::to_string(kStart + 500) + "}";
  const std::vector<PlannedShape> shapes = {{"{}", "weir_events_time"},
                                            {until.c_str(), "weir_events_time"},
                                            {by_id.c_str(), "weir_events_pkey"},
                                            {R"({"kinds":[7]})", "weir_events_kind"},
                                            {of_author.c_str(), "weir_events_author"},
                                            {of_author_kind.c_str(), "weir_events_author_kind"},
                                            {follows.c_str(), "weir_events_author_kind"},
                                            {R"({"#t":["tag1","tag2"]})", "weir_tags_time"},
                                            {R"({"#t":["tag1"],"kinds":[1]})", "weir_tags_kind"}};
  for (const PlannedShape& shape : shapes) {
    for (const Slice& slice : {Slice{}, Slice{.max_work = 200, .max_bytes = 4096}}) {
      const std::string plans = PlansOf(shape.filter, 400, slice);
      EXPECT_GT(found_, 0U) << shape.filter;
      EXPECT_TRUE(Has(plans, std::string(" using ") + shape.index + " ")) << shape.filter << plans;
      ExpectNone(plans, {"Sort", "Seq Scan on weir_events", "Seq Scan on weir_tags", "Hash", "Bitmap"});
    }
  }
}

// The server reads no more of the table than the page, although an index looks cheaper while the table is small.
TEST_F(PostgresPlanTest, AGroupIsReadByThePlacesOfItsPage) {
  AddPartitionProcedures(database_);
  for (uint64_t cuts = 0; cuts < 2; ++cuts) {
    std::vector<PlainEvent> events;
    for (uint64_t i = 0; i < 500; ++i) events.push_back(Plain(Author(i % 30), kStart + 1000 * cuts + i, 1));
    SaveAll(*store_, events);
    const Result<Moment> now = store_->Now();
    const size_t before = SharedPostgres().Log().size();
    const Result<std::vector<EventGroups>> groups = store_->Groups(now.value());
    ASSERT_TRUE(groups.ok()) << groups.status().message();
    ASSERT_EQ(groups.value().size(), 1 + cuts);
    uint64_t read = 0;
    for (const EventGroups& some : groups.value()) {
      ASSERT_GT(some.count, 10U);
      const auto visit = [&](uint64_t, Serial, EventView) { return ++read > 0; };
      ASSERT_TRUE(some.read(some.count / 2, 0, visit).ok());
    }
    EXPECT_GT(read, 5U);
    EXPECT_LT(read, 100U);
    const std::string plans = SharedPostgres().Log().substr(before);
    EXPECT_TRUE(Has(plans, "Tid Range Scan on weir_events")) << plans;
    EXPECT_EQ(Has(plans, "Subplans Removed: 1"), cuts > 0) << plans;
    ExpectNone(plans, {"Seq Scan on weir_events", " using weir_events"});
    Cut(database_, kStart + 1000 * (cuts + 1), "p" + std::to_string(cuts + 1));
  }
}

// Saving, deleting and removing find their rows by the indexes, too.
TEST_F(PostgresPlanTest, NoSaveWalksThroughATable) {
  const RandomNostr random(3, 2000);
  SaveAll(*store_, std::vector(random.events().begin(), random.events().begin() + 1500));
  ASSERT_TRUE(store_->Analyze().ok());
  const size_t before = SharedPostgres().Log().size();
  SaveAll(*store_, std::vector(random.events().begin() + 1500, random.events().end()));
  for (bool more = true; more;) {
    const Result<OwedPiece> piece = store_->RemoveExpired(kStart, kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    more = piece.value().more;
  }
  const std::string plans = SharedPostgres().Log().substr(before);
  EXPECT_TRUE(Has(plans, "INSERT INTO weir_events"));
  std::vector<std::string> tables;
  for (const char* const table : {"events", "tags", "addresses", "deleted", "deleted_addresses", "vanished"})
    tables.push_back(std::string("Seq Scan on weir_") + table + " ");
  ExpectNone(plans, tables);
}

// Many events of one second must not be walked through again for each page.
TEST_F(PostgresPlanTest, ASecondWithManyEventsIsWalkedThroughOnce) {
  constexpr size_t kFlood = 4000;
  std::vector<PlainEvent> events;
  for (size_t i = 0; i < kFlood; ++i) events.push_back(Plain(Author(1), kStart, 1, {{"t", "x"}}, std::to_string(i)));
  SaveAll(*store_, events);
  ASSERT_TRUE(store_->Analyze().ok());
  for (const char* const filter : {"{}", R"({"kinds":[1]})", R"({"#t":["x"]})"}) {
    const std::string plans = PlansOf(filter, kFlood);
    EXPECT_EQ(found_, kFlood);
    const std::regex removed("Rows Removed by (?:Index Recheck|Filter): ([0-9]+)");
    uint64_t passed_over = 0;
    for (std::sregex_iterator at(plans.begin(), plans.end(), removed), end; at != end; ++at)
      passed_over += std::stoull((*at)[1].str());
    EXPECT_LT(passed_over, kFlood / 10) << filter;
  }
}

}  // namespace
}  // namespace weir
