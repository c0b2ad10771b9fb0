// The state of a relay from its JSON.
#include "relay/watch/top/feed_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/fixtures/has_text.h"
#include "tests/relay/watch/top/told_state.h"

namespace weir {
namespace {

using enum LiveFigure;

TEST(FeedState, HasWhatTheFeedTells) {
  ToldState told;
  told.history.resize(3);
  told.history[2].at = told.at;
  told.history[2].Set(kLevelBulk, 0.5);
  const Result<FeedState> state = ReadFeedState(told.Json(true));
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state.value().run, 7U);
  EXPECT_EQ(state.value().name, "Quiet Harbour");
  EXPECT_EQ(state.value().store, "rocksdb");
  EXPECT_EQ(state.value().now.at, told.at);
  EXPECT_FLOAT_EQ(state.value().now[kLevelBulk], 0.69F);
  EXPECT_TRUE(std::isnan(state.value().now[kOkP99])) << "null is no value";
  ASSERT_EQ(state.value().history.size(), 3U);
  EXPECT_FLOAT_EQ(state.value().history[2][kLevelBulk], 0.5F);
  EXPECT_TRUE(std::isnan(state.value().history[0][kLevelBulk]));
  const LiveTable* clients = state.value().Find("clients");
  ASSERT_NE(clients, nullptr);
  EXPECT_TRUE(clients->columns[1].is_figure);
  EXPECT_EQ(clients->rows[0][0], "203.0.113.9");
  EXPECT_EQ(clients->left_out, 3U);
  const LiveTable* changed = state.value().Find("changed");
  ASSERT_NE(changed, nullptr);
  EXPECT_EQ(changed->rows[0], (std::vector<std::string>{"IMPORT_SETPOINT", "0.6", "0.7"}));
}

TEST(FeedState, TakesNoOffenceAtMembersThatAreMissingOrNew) {
  const Result<FeedState> bare = ReadFeedState(R"({"format":1,"new":{"deep":[1,2]},"tables":[{"rows":[["a"]]},7]})");
  ASSERT_TRUE(bare.ok()) << bare.status().message();
  EXPECT_TRUE(std::isnan(bare.value().now[kLevelWrite]));
  EXPECT_EQ(bare.value().tables.size(), 2U);
  const Result<FeedState> odd = ReadFeedState(
      R"({"format":1,"at":1e300,"now":{"level_write":"high","cpu":1e300},"history":{"at":7},"tables":{}})");
  ASSERT_TRUE(odd.ok());
  EXPECT_TRUE(std::isnan(odd.value().now[kCpu]));
  EXPECT_EQ(odd.value().now.at, 0);
  EXPECT_TRUE(odd.value().history.empty());
}

TEST(FeedState, ACellMoreOrLessIsNoMatter) {
  const Result<FeedState> state = ReadFeedState(
      R"({"format":1,"tables":[{"name":"keys","columns":[{"title":"a"},{"title":"b"}],"rows":[["1"],["1","2","3"]]}]})");
  ASSERT_TRUE(state.ok());
  for (const auto& row : state.value().Find("keys")->rows) EXPECT_EQ(row.size(), 2U);
}

TEST(FeedState, RefusesTextThatIsNoState) {
  for (const char* text : {"", "[]", "null", "{}", "{\"format\":", "<html>", "{\"format\":\"1\"}"})
    EXPECT_FALSE(ReadFeedState(text).ok()) << text;
  ToldState told;
  told.format = 2;
  EXPECT_TRUE(Has(ReadFeedState(told.Json()).status().message(), "format 2"));
}

TEST(FeedState, HistoryGoesOnPastARestart) {
  LiveHistory history;
  FeedState before;
  before.run = 1;
  FeedState state;
  state.run = 1;
  state.history.resize(2);
  state.history[0].at = 10;
  state.history[1].at = 11;
  Join(before, state, &history);
  EXPECT_EQ(history.size(), 2U);
  Join(state, state, &history);
  EXPECT_EQ(history.size(), 2U) << "the same run tells all of it again";

  FeedState tick;
  tick.run = 1;
  tick.now.at = 12;
  Join(state, tick, &history);
  EXPECT_EQ(history.size(), 3U);

  FeedState next = state;
  next.run = 2;
  next.history[0].at = 20;
  next.history[1].at = 21;
  Join(tick, next, &history);
  EXPECT_EQ(history.size(), 5U);
  EXPECT_EQ(history[0].at, 10);

  FeedState earlier = next;
  earlier.run = 3;
  earlier.history[0].at = 5;
  Join(next, earlier, &history);
  EXPECT_EQ(history.size(), 2U) << "its clock was set back";
}

}  // namespace
}  // namespace weir
