// Removals that administrators ask for: one at a time, on a thread of their own, which can be ended.
#include "relay/retention/removal_jobs.h"

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "config/manual_clock.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

using Phase = RemovalState::Phase;

class RemovalJobsTest : public testing::Test {
 protected:
  RemovalJobsTest() {
    for (uint64_t n = 0; n < 5; ++n) SaveAll(*store_, {Plain(Author(1), 1000 + n, 1)});
  }
  ~RemovalJobsTest() override { jobs_.Stop(); }

  static RemovalOrder Order(bool dry_run = false) { return {.filters = {Filter{.kinds = {{1}}}}, .dry_run = dry_run}; }
  RemovalState Begin(const RemovalOrder& order = Order()) {
    const Result<RemovalState> begun = jobs_.Begin(order, "me");
    EXPECT_TRUE(begun.ok()) << begun.status().message();
    return begun.ok() ? begun.value() : RemovalState();
  }
  RemovalState StateOf(uint64_t id) const {
    for (const RemovalState& state : jobs_.List())
      if (state.id == id) return state;
    return RemovalState();
  }
  RemovalState AtEnd(uint64_t id) const {
    EXPECT_TRUE(Eventually([&] { return !StateOf(id).goes_on(); }));
    return StateOf(id);
  }
  // Makes removals wait until they are cancelled.
  void Hold() { holds_ = true; }
  // Waits until a removal waits.
  void WaitForOne() const {
    EXPECT_TRUE(Eventually([this] { return waits_.load(); }));
  }

  ManualWallClock clock_{2000};
  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
  std::atomic<bool> holds_{false};
  std::atomic<bool> waits_{false};
  RemovalJobs jobs_{*store_,
                    {},
                    [this](std::span<const EventId> ids, const std::atomic<bool>& cancelled) -> Result<uint64_t> {
                      if (!holds_) return store_->Delete(ids);
                      waits_ = true;
                      EXPECT_TRUE(Eventually([&] { return cancelled.load(); }));
                      return store_->Delete(ids.first(1));
                    },
                    clock_};
};

TEST_F(RemovalJobsTest, CountsThenRemoves) {
  const RemovalState begun = Begin();
  EXPECT_EQ(begun.id, 2000U);
  EXPECT_TRUE(begun.goes_on());
  const RemovalState end = AtEnd(begun.id);
  EXPECT_EQ(end.phase, Phase::kDone) << end.error;
  EXPECT_EQ(end.matched, 5U);
  EXPECT_EQ(end.removed, 5U);
  EXPECT_EQ(end.by, "me");
  EXPECT_EQ(end.order, R"({"filters":[{"kinds":[1]}]})");
  EXPECT_EQ(jobs_.removed(), 5U);
  EXPECT_EQ(store_->Sizes().events, 0U);
}

TEST_F(RemovalJobsTest, ADryRunCountsAndAnAgeIsThatOfTheBeginning) {
  RemovalOrder order = Order(true);
  order.older_than_seconds = 998;  // until 1002
  const RemovalState end = AtEnd(Begin(order).id);
  EXPECT_EQ(end.phase, Phase::kDone);
  EXPECT_EQ(end.matched, 3U);
  EXPECT_EQ(end.removed, 0U);
  EXPECT_EQ(store_->Sizes().events, 5U);
}

TEST_F(RemovalJobsTest, AKnownCountIsNotCountedAgain) {
  RemovalOrder order = Order();
  order.counted = 77;
  const RemovalState begun = Begin(order);
  EXPECT_EQ(begun.phase, Phase::kRemoving);
  const RemovalState end = AtEnd(begun.id);
  EXPECT_EQ(end.matched, 77U);
  EXPECT_EQ(end.removed, 5U);
}

TEST_F(RemovalJobsTest, OneGoesOnAtATimeUntilItIsCancelled) {
  Hold();
  const uint64_t id = Begin().id;
  WaitForOne();
  const Result<RemovalState> second = jobs_.Begin(Order(true), "you");
  EXPECT_EQ(second.status().message(),
            "the removal 2000 of me goes on; another one can begin when it is over or cancelled");
  EXPECT_FALSE(jobs_.Cancel(id + 1));
  EXPECT_TRUE(jobs_.Cancel(id));
  const RemovalState end = AtEnd(id);
  EXPECT_EQ(end.phase, Phase::kStopped);
  EXPECT_EQ(end.removed, 1U);
  EXPECT_EQ(end.matched, 5U);
  EXPECT_FALSE(jobs_.Cancel(id)) << "it is over";
  holds_ = false;
  const RemovalState next = AtEnd(Begin().id);
  EXPECT_EQ(next.id, 2001U) << "no two have the same id";
  EXPECT_EQ(next.removed, 4U);
  EXPECT_EQ(jobs_.removed(), 5U);
}

TEST_F(RemovalJobsTest, StopEndsTheOneThatGoesOnAndRefusesOthers) {
  Hold();
  const uint64_t id = Begin().id;
  WaitForOne();
  jobs_.Stop();
  EXPECT_EQ(StateOf(id).phase, Phase::kStopped);
  EXPECT_EQ(jobs_.Begin(Order(), "me").status().message(), "the relay stops");
}

TEST_F(RemovalJobsTest, AFailureIsSaid) {
  RemovalJobs jobs(
      *store_, {}, [](auto, const auto&) { return Result<uint64_t>(Status::Error("a full disk")); }, clock_);
  ASSERT_TRUE(jobs.Begin(Order(), "me").ok());
  ASSERT_TRUE(Eventually([&] { return !jobs.List().front().goes_on(); }));
  EXPECT_EQ(jobs.List().front().phase, Phase::kFailed);
  EXPECT_EQ(jobs.List().front().error, "a full disk");
}

TEST_F(RemovalJobsTest, TheLastOnesAreListedNewestFirst) {
  for (size_t n = 0; n < RemovalJobs::kMostListed + 3; ++n) AtEnd(Begin(Order(true)).id);
  const std::vector<RemovalState> states = jobs_.List();
  ASSERT_EQ(states.size(), RemovalJobs::kMostListed);
  EXPECT_EQ(states.front().id, 2000 + RemovalJobs::kMostListed + 2);
  EXPECT_EQ(states.back().id, 2003U);
}

TEST_F(RemovalJobsTest, AStateIsReadBack) {
  RemovalState state{.id = 7,
                     .by = "npub1",
                     .order = "{\"é\"}",
                     .dry_run = true,
                     .phase = Phase::kFailed,
                     .matched = 3,
                     .removed = 2,
                     .error = "why"};
  JsonWriter json(JsonWriter::Layout::kCompact);
  WriteState(state, json);
  const Result<RemovalState> read = ReadState(std::move(json).Text());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().id, 7U);
  EXPECT_EQ(read.value().by + read.value().order + read.value().error, "npub1{\"é\"}why");
  EXPECT_EQ(read.value().phase, Phase::kFailed);
  EXPECT_EQ(read.value().matched * 10 + read.value().removed, 32U);
  EXPECT_TRUE(read.value().dry_run);
  EXPECT_FALSE(ReadState("{}").ok());
  EXPECT_FALSE(ReadState("true").ok());
}

}  // namespace
}  // namespace weir
