#include "throttle/limits/queued/queued_limiter.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/throttle/limits/queued/queued_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Names = std::vector<std::string>;

using QueuedLimiterTest = QueuedFixture;

TEST_F(QueuedLimiterTest, ServesAtOnceThenAtEvenDistances) {
  Configure();
  EXPECT_TRUE(Take()->served());
  const Caller second = Take(), third = Take();
  EXPECT_TRUE(second->waits() && third->waits());
  Pass(milliseconds(99));
  EXPECT_TRUE(second->waits());
  Pass(milliseconds(1));
  EXPECT_TRUE(second->served() && third->waits());
  EXPECT_EQ(second->answer->waited, milliseconds(100));
  EXPECT_EQ(second->answer->waiting, 1u);
  EXPECT_EQ(second->answer->until_room, milliseconds(100));
  Pass(milliseconds(100));
  EXPECT_TRUE(third->served());
}

TEST_F(QueuedLimiterTest, DoesNotDriftWhenTheTickerIsLate) {
  Configure();
  std::vector<Caller> callers;
  for (int i = 0; i < 400; ++i) callers.push_back(Take());
  const TimePoint start = clock_.Now();
  int64_t served = 0;
  while (clock_.Now() < start + seconds(30)) {
    Pass(milliseconds(37));
    served = std::ranges::count_if(callers, [](const Caller& caller) { return caller->served(); });
    ASSERT_EQ(served, 1 + (clock_.Now() - start) / milliseconds(100));
  }
}

TEST_F(QueuedLimiterTest, MakesNoBurstAfterAStoppedProcessResumes) {
  Configure({.rate = 100});
  std::vector<Caller> callers;
  for (int i = 0; i < 400; ++i) callers.push_back(Take());
  Pass(seconds(60));
  const auto served = std::ranges::count_if(callers, [](const Caller& caller) { return caller->served(); });
  EXPECT_EQ(served, 1 + 11) << "a tenth of a second, and what is due now";
}

TEST_F(QueuedLimiterTest, KeepsABurstForLater) {
  Configure({.algorithm = Algorithm::kTokenBucket, .burst_size = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take()->served());
  EXPECT_TRUE(Take()->waits());
  Pass(milliseconds(100));
  Pass(seconds(10));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Take()->served());
  EXPECT_TRUE(Take()->waits());
}

TEST_F(QueuedLimiterTest, NeverExceedsASlidingWindow) {
  Configure({.algorithm = Algorithm::kSlidingWindow});
  clock_.Advance(milliseconds(900));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Take()->served());
  const Caller waiting = Take();
  Pass(milliseconds(999));
  EXPECT_TRUE(waiting->waits());
  Pass(milliseconds(33));  // a 32nd of a second late
  EXPECT_TRUE(waiting->served());
}

TEST_F(QueuedLimiterTest, ServesByItsScheduler) {
  const std::vector<std::pair<Scheduler, Names>> orders = {
      {Scheduler::kFifo, {"a", "b", "c", "d"}},
      {Scheduler::kLifo, {"d", "c", "b", "a"}},
      {Scheduler::kPriority, {"b", "d", "a", "c"}},
  };
  for (const auto& [scheduler, order] : orders) {
    limiter_.reset();
    Configure({.scheduler = scheduler});
    Take();
    Take({.path = "/a"}, "a");
    Take({.path = "/a", .priority = 5}, "b");
    Take({.path = "/a", .priority = -5}, "c");
    Take({.path = "/a", .priority = 5}, "d");
    TakeOrder();
    for (int i = 0; i < 4; ++i) Pass(milliseconds(100));
    EXPECT_EQ(TakeOrder(), order);
  }
}

TEST_F(QueuedLimiterTest, TheRandomSchedulerServesEachWaiterAsOften) {
  Configure({.rate = 1000, .scheduler = Scheduler::kRandom});
  constexpr int kEach = 1000, kWaiting = 4;
  std::map<std::string, int> first;
  for (int round = 0; round < kEach * kWaiting; ++round) {
    Pass(seconds(1));
    Take();
    for (int i = 0; i < kWaiting; ++i) Take({.path = "/a"}, std::string(1, static_cast<char>('a' + i)));
    TakeOrder();
    Pass(milliseconds(1));
    ++first[TakeOrder().at(0)];
    for (int i = 0; i < kWaiting; ++i) Pass(milliseconds(1));
  }
  // The tolerance is ten standard deviations.
  for (const auto& [name, times] : first) EXPECT_NEAR(times, kEach, 280) << name;
}

TEST_F(QueuedLimiterTest, NewcomersDoNotOvertakeTheQueueWhenTheTickerIsLate) {
  Configure();
  Take();
  const Caller first = Take(), second = Take();
  clock_.Advance(milliseconds(100));  // without a tick
  const Caller newcomer = Take();
  EXPECT_TRUE(first->served() && second->waits() && newcomer->waits());
}

TEST_F(QueuedLimiterTest, RefusesWhenTheQueueIsFull) {
  Configure({.max_queue_size = 2});
  Take(), Take(), Take();
  clock_.Advance(milliseconds(30));
  const Caller refused = Take();
  EXPECT_EQ(refused->code(), QueuedCode::kQueueFull);
  EXPECT_EQ(refused->answer->retry_after, milliseconds(70));
  EXPECT_EQ(refused->answer->waiting, 2u);
  limiter_.reset();
  Configure({.max_queue_size = 0});
  Take();
  EXPECT_EQ(Take()->code(), QueuedCode::kQueueFull);
}

TEST_F(QueuedLimiterTest, ABlockingQueueHoldsRequestsBeforeItWhenFull) {
  Configure({.scheduler = Scheduler::kLifo, .max_queue_size = 2, .overflow = Overflow::kBlock});
  config_.max_waiting = 8;
  Take();
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(Take({.path = "/a"}, name)->waits());
  EXPECT_EQ(Take()->code(), QueuedCode::kTooManyWaiting) << "it leaves as many places to others as wait before it";
  EXPECT_EQ(Describe()->queued, 2u);
  EXPECT_EQ(Describe()->blocked, 3u);
  TakeOrder();
  for (int i = 0; i < 5; ++i) Pass(milliseconds(100));
  // For each served request the first one blocked before the queue comes in. The scheduler knows only requests in the
  // queue.
  EXPECT_EQ(TakeOrder(), (Names{"b", "c", "d", "e", "a"}));
  limiter_.reset();
  Configure({.max_queue_size = 0, .overflow = Overflow::kBlock});
  Take();
  EXPECT_EQ(Take()->code(), QueuedCode::kQueueFull) << "nobody waits, wherever";
}

TEST_F(QueuedLimiterTest, ALeavingCallerLetsABlockedOneIn) {
  Configure({.max_queue_size = 1, .overflow = Overflow::kBlock});
  Take();
  const Caller first = Take(), second = Take();
  Leave(first);
  EXPECT_EQ(Describe()->queued, 1u);
  EXPECT_EQ(Describe()->blocked, 0u);
  Pass(milliseconds(100));
  EXPECT_TRUE(second->served());
}

TEST_F(QueuedLimiterTest, RefusesAtOnceIfTheWaitWouldBeTooLong) {
  Configure({.queue_timeout = milliseconds(300)});
  Take();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Take()->waits());
  const Caller refused = Take();
  EXPECT_EQ(refused->code(), QueuedCode::kTooLongWait);
  EXPECT_EQ(refused->answer->retry_after, milliseconds(100)) << "a wait of 400 ms is predicted";
  EXPECT_TRUE(Take({.path = "/a", .timeout = milliseconds(400)})->waits());
  EXPECT_EQ(Take({.path = "/a", .timeout = Duration{}})->code(), QueuedCode::kTooLongWait);
  EXPECT_TRUE(Take({.path = "/a", .timeout = seconds(999)})->waits());
}

TEST_F(QueuedLimiterTest, PredictsTheWaitWhenItCan) {
  Configure({.algorithm = Algorithm::kTokenBucket, .burst_size = 5, .queue_timeout = milliseconds(100)});
  for (int i = 0; i < 5 + 2; ++i) Take();
  EXPECT_EQ(Take()->code(), QueuedCode::kTooLongWait);
  for (const Scheduler scheduler : {Scheduler::kLifo, Scheduler::kRandom}) {
    limiter_.reset();
    Configure({.scheduler = scheduler, .queue_timeout = milliseconds(1)});
    for (int i = 0; i < 400; ++i) Take();
    EXPECT_EQ(limiter().Counts().rejected, 0u);
  }
  limiter_.reset();
  ConfigureTokens({.queue_timeout = seconds(1)});
  TakeTokens(100);
  EXPECT_TRUE(TakeTokens(60)->waits());
  EXPECT_TRUE(TakeTokens(40)->waits()) << "those ahead need one window";
  EXPECT_TRUE(TakeTokens(1)->waits());
  EXPECT_EQ(TakeTokens(1)->code(), QueuedCode::kTooLongWait) << "those ahead need two";
}

TEST_F(QueuedLimiterTest, PredictsForTheFirstInLineTheTimeUntilMoreCanPass) {
  for (const Algorithm algorithm :
       {Algorithm::kStrict, Algorithm::kTokenBucket, Algorithm::kSlidingWindow, Algorithm::kTokenWindow}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    limiter_.reset();
    if (algorithm == Algorithm::kTokenWindow) {
      ConfigureTokens({.default_tokens = 100});
    } else {
      Configure({.rate = 1, .algorithm = algorithm});
    }
    const Duration until_room = Take()->answer.value().until_room;
    ASSERT_GT(until_room, Duration{});
    EXPECT_EQ(Take({.path = "/a", .timeout = Duration{}})->code(), QueuedCode::kTooLongWait);
    const Caller refused = Take({.path = "/a", .timeout = until_room - Duration(1)});
    EXPECT_EQ(refused->code(), QueuedCode::kTooLongWait);
    EXPECT_EQ(refused->answer->retry_after, Duration(1));
    const Caller waiting = Take({.path = "/a", .timeout = until_room});
    EXPECT_TRUE(waiting->waits());
    Pass(until_room);
    EXPECT_TRUE(waiting->served());
  }
}

TEST_F(QueuedLimiterTest, ALeavingCallerConsumesNothing) {
  for (const Algorithm algorithm : {Algorithm::kStrict, Algorithm::kTokenBucket, Algorithm::kSlidingWindow}) {
    limiter_.reset();
    Configure({.rate = 1, .algorithm = algorithm});
    Take();
    const Caller first = Take(), second = Take(), third = Take();
    Leave(second);
    Leave(second);
    Pass(milliseconds(1040));
    EXPECT_TRUE(first->served());
    Leave(first);  // too late
    Pass(milliseconds(1040));
    EXPECT_TRUE(third->served());
    EXPECT_FALSE(second->answer);
    EXPECT_EQ(limiter().Counts().left, 1u);
    EXPECT_EQ(limiter().Counts().waiting, 0u);
  }
}

TEST_F(QueuedLimiterTest, ACallerFoundGoneAtItsTurnConsumesNothing) {
  for (const Algorithm algorithm :
       {Algorithm::kStrict, Algorithm::kTokenBucket, Algorithm::kSlidingWindow, Algorithm::kTokenWindow}) {
    limiter_.reset();
    Configure({.rate = 1, .algorithm = algorithm, .window = seconds(1), .tokens_per_window = 1});
    Take();
    const Caller first = Take(), second = Take();
    first->has_left = true;
    Pass(milliseconds(1040));
    EXPECT_TRUE(second->served());
    EXPECT_FALSE(first->answer);
    Leave(first);  // the limiter found that out before
    const Caller third = Take(), fourth = Take();
    third->has_left = true;
    limiter().Close();
    EXPECT_FALSE(third->answer);
    EXPECT_EQ(fourth->code(), QueuedCode::kClosed);
    EXPECT_EQ(limiter().Counts().left, 2u);
    EXPECT_EQ(limiter().Counts().waiting, 0u);
  }
}

TEST_F(QueuedLimiterTest, IgnoresTicketsThatItDidNotGive) {
  Configure();
  Take();
  const Caller waiting = Take();
  const QueuedTicket ticket = waiting->ticket.value();
  limiter().Leave({});
  limiter().Leave({.shard = 9999});
  limiter().Leave({ticket.shard, ticket.slot + 7, ticket.number});
  limiter().Leave({ticket.shard, ticket.slot, ticket.number + 1});
  Pass(milliseconds(100));
  EXPECT_TRUE(waiting->served());
}

TEST_F(QueuedLimiterTest, LetsSoManyWaitAtAllEndpointsAndNoMore) {
  Configure();
  config_.max_waiting = 2;
  Take("/a"), Take("/a/b");
  const Caller first = Take("/a");
  EXPECT_TRUE(Take("/a/b")->waits());
  EXPECT_EQ(Take("/a")->code(), QueuedCode::kTooManyWaiting);
  Leave(first);
  EXPECT_TRUE(Take("/a")->waits());
}

TEST_F(QueuedLimiterTest, SaysWhenItWantsToTick) {
  Configure();
  EXPECT_EQ(limiter().Tick(), TimePoint::max());
  Take(), Take();
  clock_.Advance(milliseconds(30));
  EXPECT_EQ(limiter().Tick(), clock_.Now() + milliseconds(70));
}

TEST_F(QueuedLimiterTest, CountsServedRejectedWaitingAndLeft) {
  Configure({.max_queue_size = 2});
  Take(), Take();
  const Caller leaving = Take();
  Take(), Take("/none");
  Leave(leaving);
  Pass(milliseconds(100));
  const QueuedCounts counts = limiter().Counts();
  EXPECT_EQ(counts.served, 2u);
  EXPECT_EQ(counts.rejected, 2u);
  EXPECT_EQ(counts.waited, 2u);
  EXPECT_EQ(counts.left, 1u);
  EXPECT_EQ(counts.waiting, 0u);
}

TEST_F(QueuedLimiterTest, ReportsEventsInTheirOrder) {
  config_.events = std::make_shared<QueuedEvents>(4);
  Configure({.max_queue_size = 1});
  Take(), Take(), Take();
  Pass(milliseconds(100));
  const auto next = [&] {
    const QueuedEvent event = config_.events->Pop().value();
    EXPECT_EQ(*event.endpoint, "/a");
    return std::tuple(event.kind, event.waited, event.depth);
  };
  EXPECT_EQ(next(), std::tuple(QueuedEvent::Kind::kServed, milliseconds(0), 0u));
  EXPECT_EQ(next(), std::tuple(QueuedEvent::Kind::kQueued, milliseconds(0), 1u));
  EXPECT_EQ(next(), std::tuple(QueuedEvent::Kind::kRejected, milliseconds(0), 1u));
  EXPECT_EQ(next(), std::tuple(QueuedEvent::Kind::kServed, milliseconds(100), 0u));
  for (int i = 0; i < 20; ++i) Pass(seconds(1)), Take();
  EXPECT_EQ(config_.events->dropped(), 16u) << "and nobody waited for the reader";
}

TEST_F(QueuedLimiterTest, AnswersWaitersWhenItCloses) {
  Configure({.max_queue_size = 1, .overflow = Overflow::kBlock});
  Take();
  const Caller waiting = Take(), blocked = Take();
  limiter().Close();
  EXPECT_EQ(waiting->code(), QueuedCode::kClosed);
  EXPECT_EQ(blocked->code(), QueuedCode::kClosed);
  EXPECT_EQ(Take()->code(), QueuedCode::kClosed);
  Leave(waiting);
  Pass(seconds(1));
  EXPECT_EQ(limiter().Counts().waiting, 0u);
}

TEST_F(QueuedLimiterTest, MayBeCalledFromAnAnswer) {
  Configure();
  struct Again : RecordingQueuedCaller {
    void OnAnswer(const QueuedAnswer& given) override {
      RecordingQueuedCaller::OnAnswer(given);
      limiter->Take({.path = "/a"}, next);
    }
    void OnWaiting(QueuedTicket given) override { limiter->Leave(given); }
    QueuedLimiter* limiter = nullptr;
    Caller next = std::make_shared<RecordingQueuedCaller>();
  };
  const auto served = std::make_shared<Again>(), leaving = std::make_shared<Again>();
  served->limiter = leaving->limiter = &limiter();
  limiter().Take({.path = "/a"}, served);
  EXPECT_TRUE(served->served() && served->next->waits());
  limiter().Take({.path = "/a"}, leaving);
  for (int i = 0; i < 5; ++i) Pass(milliseconds(100));
  EXPECT_FALSE(leaving->answer);
  EXPECT_TRUE(served->next->served());
}

TEST_F(QueuedLimiterTest, ServesTenThousandWaitersAndForgetsThem) {
  for (const Scheduler scheduler : {Scheduler::kFifo, Scheduler::kLifo, Scheduler::kPriority, Scheduler::kRandom}) {
    limiter_.reset();
    Configure({.rate = 10'000, .scheduler = scheduler, .max_queue_size = 10'000});
    Take();
    std::vector<Caller> callers;
    for (int i = 0; i < 10'000; ++i) callers.push_back(Take({.path = "/a", .priority = i % 7}));
    EXPECT_EQ(limiter().Counts().waiting, 10'000u);
    for (size_t i = 0; i < callers.size(); i += 10) Leave(callers[i]);
    for (int i = 0; i < 20; ++i) Pass(milliseconds(50));
    EXPECT_EQ(std::ranges::count_if(callers, [](const Caller& caller) { return caller->served(); }), 9'000);
    EXPECT_EQ(limiter().Counts().waiting, 0u);
  }
}

}  // namespace
}  // namespace weir
