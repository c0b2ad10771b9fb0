#include "relay/watch/live/live_feed.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <atomic>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

using std::chrono::seconds;

class Listener final : public LiveListener {
 public:
  void OnEvent(const SharedText& event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
  std::vector<SharedText> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  // Returns the name of each event: "state tick tick".
  std::string names() const {
    std::string names;
    for (const SharedText& event : events()) {
      const size_t begin = event->find(' ') + 1;
      names += (names.empty() ? "" : " ") + event->substr(begin, event->find('\n') - begin);
    }
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<SharedText> events_;
};

class Json {
 public:
  explicit Json(const std::string& event)
      : root_(parser_.parse(event.substr(std::min(event.find('{'), event.size())))) {}
  template <typename T>
  T At(const char* pointer) {
    return T(root_.at_pointer(pointer));
  }
  bool Has(const char* pointer) { return root_.at_pointer(pointer).error() == simdjson::SUCCESS; }
  size_t Size(const char* pointer) { return simdjson::dom::array(root_.at_pointer(pointer)).size(); }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

class LiveFeedTest : public testing::Test {
 protected:
  LiveFeed::Source Source() {
    return {.sample =
                [this] {
                  LiveFeed::Sample sample;
                  sample.row.at = 1000 + samples_;
                  if (whole_rows_) sample.row.figures.fill(-1.234e-05F);
                  sample.row.Set(LiveFigure::kLevelWrite, 0.123456 + samples_);
                  sample.marks = std::exchange(marks_, {});
                  ++samples_;
                  return sample;
                },
            .describe =
                [this](LiveRates& rates) {
                  ++described_;
                  LiveState state;
                  state.summary = "described " + std::to_string(described_);
                  LiveTables tables(rates);
                  tables.Add("one", "One", {{"a"}, {"b", true}}).AddRow({"x\n\"", "1"});
                  tables.Add("none", "None", {{"a"}});
                  tables.Add("empty", "Empty", {{"a"}}, "nothing is here");
                  state.tables = std::move(tables).Take();
                  state.settings = {{"SAME", "1", "1"}, {"OTHER", "2", "1"}};
                  return state;
                }};
  }
  std::shared_ptr<Listener> Join() {
    auto listener = std::make_shared<Listener>();
    EXPECT_TRUE(feed_.Join(listener));
    return listener;
  }
  void Second() {
    clock_.Advance(seconds(1));
    feed_.Tick();
    feed_.Serve();
  }

  ManualClock clock_{TimePoint(seconds(100))};
  int samples_ = 0;
  bool whole_rows_ = false;
  int described_ = 0;
  std::vector<LiveMark> marks_;
  LiveFeed feed_{Source(), {.run = 42, .name = "mine", .version = "1", .store = "rocksdb"}, clock_};
};

TEST_F(LiveFeedTest, AListenerGetsTheHistoryAndThenATickASecond) {
  for (int i = 0; i < 3; ++i) Second();
  const auto listener = Join();
  feed_.Serve();
  Second();
  Second();
  ASSERT_EQ(listener->names(), "state tick tick");
  const std::string text = *listener->events()[0];
  EXPECT_TRUE(text.starts_with("event: state\ndata: {")) << text;
  EXPECT_TRUE(text.ends_with("}\n\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3) << "an event is one line of JSON";
  Json state(text);
  EXPECT_EQ(state.At<int64_t>("/format"), 1);
  EXPECT_EQ(state.At<int64_t>("/run"), 42);
  EXPECT_EQ(state.At<std::string_view>("/relay/name"), "mine");
  EXPECT_EQ(state.Size("/history/at"), 3U);
  EXPECT_EQ(state.At<double>("/history/at/2"), 1002);
  EXPECT_EQ(state.At<double>("/history/level_write/0"), 0.1235) << "four digits";
  EXPECT_TRUE(simdjson::dom::element(state.At<simdjson::dom::element>("/history/ok_p99/0")).is_null());
  Json tick(*listener->events()[1]);
  EXPECT_FALSE(tick.Has("/history"));
  EXPECT_EQ(tick.At<double>("/at"), 1003);
  EXPECT_EQ(tick.At<double>("/now/level_write"), 3.123);
  EXPECT_TRUE(tick.Has("/now/sent"));
}

TEST_F(LiveFeedTest, TellsTablesAndWhatWasChanged) {
  const auto listener = Join();
  feed_.Serve();
  Json state(*listener->events().at(0));
  EXPECT_EQ(state.Size("/tables"), 3U) << "without the one that has nothing to say, with that of the marks";
  EXPECT_EQ(state.At<std::string_view>("/tables/0/name"), "one");
  EXPECT_EQ(state.At<std::string_view>("/tables/0/rows/0/0"), "x\n\"");
  EXPECT_TRUE(state.At<bool>("/tables/0/columns/1/figure"));
  EXPECT_EQ(state.At<std::string_view>("/tables/1/empty"), "nothing is here");
  EXPECT_EQ(state.At<std::string_view>("/settings/OTHER"), "2");
  EXPECT_EQ(state.At<std::string_view>("/changed/OTHER"), "1");
  EXPECT_FALSE(state.Has("/changed/SAME"));
}

TEST_F(LiveFeedTest, IsDescribedOnceASecondAndOnlyForListeners) {
  Second();
  Second();
  EXPECT_EQ(described_, 0);
  std::vector<std::shared_ptr<Listener>> many;
  for (int i = 0; i < 100; ++i) many.push_back(Join());
  feed_.Serve();
  EXPECT_EQ(described_, 1);
  Second();
  EXPECT_EQ(described_, 2);
  for (const auto& one : many) {
    EXPECT_EQ(one->events().at(0), many[0]->events()[0]) << "the same bytes, not equal ones";
    EXPECT_EQ(one->events().at(1), many[0]->events()[1]);
  }
  many.clear();
  Second();
  EXPECT_EQ(described_, 2);
}

TEST_F(LiveFeedTest, TheFirstTickFollowsTheHistoryWithoutAGap) {
  Second();
  const auto listener = Join();
  Second();  // the tick comes before the listener was told the state
  Second();
  ASSERT_EQ(listener->names(), "state tick");
  EXPECT_EQ(Json(*listener->events()[0]).Size("/history/at"), 2U);
  EXPECT_EQ(Json(*listener->events()[1]).At<double>("/at"), 1002);
}

TEST_F(LiveFeedTest, KeepsTenMinutes) {
  whole_rows_ = true;
  for (size_t i = 0; i < LiveHistory::kRows + 50; ++i) feed_.Tick();
  const auto listener = Join();
  feed_.Serve();
  Json state(*listener->events().at(0));
  EXPECT_EQ(state.Size("/history/at"), 600U);
  EXPECT_EQ(state.At<double>("/history/at/0"), 1050);
  EXPECT_EQ(state.At<double>("/history/at/599"), 1649);
  EXPECT_LT(listener->events()[0]->size(), 256'000U) << "where every figure has all its digits";
}

TEST_F(LiveFeedTest, TakesSoManyListenersAndRoomComesBackWhenTheyLeave) {
  std::vector<std::shared_ptr<Listener>> many;
  for (size_t i = 0; i < LiveFeed::kMostListeners; ++i) many.push_back(Join());
  EXPECT_EQ(feed_.listeners(), LiveFeed::kMostListeners);
  EXPECT_FALSE(feed_.Join(std::make_shared<Listener>()));
  many.pop_back();
  EXPECT_EQ(feed_.listeners(), LiveFeed::kMostListeners - 1);
  many.push_back(Join());
  Second();
  EXPECT_EQ(many.back()->names(), "state");
}

TEST_F(LiveFeedTest, AnswersAQuestionInTheNextRound) {
  std::string json;
  std::string summary;
  EXPECT_TRUE(feed_.Ask([&](const LiveMoment& moment) {
    json = *moment.json();
    summary = moment.state.summary;
  }));
  EXPECT_EQ(json, "");
  feed_.Serve();
  EXPECT_EQ(summary, "described 1");
  EXPECT_EQ(Json(json).Size("/history/at"), 1U) << "the first sample is taken for it";
  for (size_t i = 0; i < LiveFeed::kMostAskers; ++i) EXPECT_TRUE(feed_.Ask([](const LiveMoment&) {}));
  EXPECT_FALSE(feed_.Ask([](const LiveMoment&) {})) << "what waits is bounded";
  feed_.Serve();
  EXPECT_EQ(described_, 1);
  EXPECT_TRUE(feed_.Ask([](const LiveMoment&) {}));
}

TEST_F(LiveFeedTest, MarksOfTheEngineAndOfPeopleAreToldAndBounded) {
  marks_ = {{.at = 7, .kind = "engine", .text = "braked", .who = ""}};
  feed_.Mark({.at = 86'400 + 3661, .kind = "setting", .text = "A 1 → 2", .who = "me"});
  const auto listener = Join();
  Second();
  Json state(*listener->events().at(0));
  ASSERT_EQ(state.Size("/marks"), 2U);
  EXPECT_EQ(state.At<std::string_view>("/marks/0/kind"), "engine");
  EXPECT_FALSE(state.Has("/marks/0/who"));
  EXPECT_EQ(state.At<std::string_view>("/marks/1/who"), "me");
  EXPECT_EQ(state.At<std::string_view>("/tables/2/name"), "marks");
  EXPECT_EQ(state.At<std::string_view>("/tables/2/rows/0/0"), "01:01:01") << "the newest first";
  for (size_t i = 0; i < 3 * LiveFeed::kMostMarks; ++i)
    feed_.Mark({.at = static_cast<double>(i), .kind = "setting", .text = "x", .who = ""});
  Second();
  EXPECT_EQ(Json(*listener->events().at(1)).Size("/marks"), LiveFeed::kMostMarks);
}

TEST_F(LiveFeedTest, ShowsAChangeInAnswersBeforeTheNextTick) {
  std::string summary;
  size_t marks = 0;
  const auto ask = [&] {
    ASSERT_TRUE(feed_.Ask([&](const LiveMoment& moment) {
      summary = moment.state.summary;
      marks = moment.marks.size();
    }));
    feed_.Serve();
  };
  ask();
  feed_.Mark({.at = 7, .kind = "setting", .text = "A 1 → 2", .who = "me"});
  ask();
  EXPECT_EQ(summary, "described 2");
  EXPECT_EQ(marks, 1U);
  ask();
  EXPECT_EQ(summary, "described 2");
  EXPECT_EQ(marks, 1U);
}

TEST_F(LiveFeedTest, AStallIsMadeUpForByOneRow) {
  std::atomic<int> rows{0};
  LiveFeed::Source source = Source();
  source.sample = [&] {
    if (++rows == 1) clock_.Advance(seconds(5));
    return LiveFeed::Sample();
  };
  LiveFeed feed(std::move(source), {}, clock_);
  feed.Start();
  ASSERT_TRUE(Eventually([&] { return rows >= 2; }));
  // The thread has looked at the clock once more when it has answered twice.
  for (int i = 0; i < 2; ++i) {
    std::atomic<bool> answered{false};
    ASSERT_TRUE(feed.Ask([&](const LiveMoment&) { answered = true; }));
    ASSERT_TRUE(Eventually([&] { return answered.load(); }));
  }
  feed.Stop();
  EXPECT_EQ(rows, 2);
}

TEST_F(LiveFeedTest, StopReleasesAskersAndRefusesListeners) {
  auto asker = std::make_shared<int>(1);
  EXPECT_TRUE(feed_.Ask([asker](const LiveMoment&) {}));
  feed_.Stop();
  EXPECT_EQ(asker.use_count(), 1);
  EXPECT_FALSE(feed_.Join(std::make_shared<Listener>()));
  EXPECT_FALSE(feed_.Ask([](const LiveMoment&) {}));
  feed_.Stop();
}

TEST_F(LiveFeedTest, ItsThreadTellsANewListenerAtOnceAndThenEachSecond) {
  LiveFeed feed(Source(), {});
  feed.Start();
  const auto listener = std::make_shared<Listener>();
  ASSERT_TRUE(feed.Join(listener));
  EXPECT_TRUE(Eventually([&] { return listener->events().size() >= 3; }));
  feed.Stop();
  EXPECT_TRUE(listener->names().starts_with("state tick tick")) << listener->names();
}

}  // namespace
}  // namespace weir
