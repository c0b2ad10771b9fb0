#include "tests/throttle/limits/keyed/keyed_fixture.h"
#include "tests/throttle/limits/keyed/scripted_windows.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// One process, and a server whose clock began with it. Questions wait until Answer.
class SharedKeys : public KeyedFixture {
 protected:
  static constexpr uint32_t kLimit = 32;

  SharedKeys() { Share(Limits()); }
  ~SharedKeys() override { limiter_.reset(); }

  static KeyedLimits Limits() { return {.window = kWindow, .max_requests = kLimit, .max_waiting = 3}; }

  void Share(const KeyedLimits& limits) {
    limiter_.reset();
    config_.rules = std::make_shared<KeyedRules>(limits);
    limiter_.emplace(config_, clock_, std::make_unique<ScriptedWindows>(&asked_));
  }
  void RefuseWhenAway() {
    config_.when_away = WhenAway::kRefuse;
    Share(Limits());
  }

  Duration ServersNow() const { return clock_.Now() - TimePoint(hours(5)); }
  // Answers the next question with the server's current counts.
  LeaseAnswer Answer() {
    const ScriptedWindows::Asked asked = NextAsked();
    const LeaseAnswer answer = server_.Lease(asked.key, asked.wish, ServersNow());
    asked.done(answer);
    return answer;
  }
  // Answers all questions, also those that come meanwhile.
  void AnswerAll() {
    for (int answers = 0; !asked_.empty(); ++answers) {
      ASSERT_LT(answers, 1000) << "it asks without an end";
      Answer();
    }
  }
  // Answers the next question with a delay on the way there and one on the way back.
  void AnswerAfter(Duration there, Duration back) {
    const ScriptedWindows::Asked asked = NextAsked();
    clock_.Advance(there);
    const LeaseAnswer answer = server_.Lease(asked.key, asked.wish, ServersNow());
    clock_.Advance(back);
    asked.done(answer);
  }
  void PassUntilEndLess(Duration less) { clock_.Advance(kWindow - ServersNow() % kWindow - less); }
  void AnswerAway() { NextAsked().done({}); }
  ScriptedWindows::Asked NextAsked() {
    EXPECT_FALSE(asked_.empty());
    ScriptedWindows::Asked asked = std::move(asked_.front());
    asked_.pop_front();
    return asked;
  }
  // Returns how many of the requests are granted. They are all for this key, and every question is answered at once.
  uint32_t TakeAll(const std::string& key, uint32_t requests) {
    uint32_t granted = 0;
    for (uint32_t i = 0; i < requests; ++i) {
      const Caller caller = Take(key);
      AnswerAll();
      granted += caller->granted() ? 1 : 0;
    }
    return granted;
  }
  KeyState::Lease LeaseOf(std::string_view key) { return Describe(key).value().lease.value(); }

  std::deque<ScriptedWindows::Asked> asked_;
  CountedWindows server_;
};

TEST_F(SharedKeys, AnswersWhenALeaseHasCome) {
  const Caller caller = Take("a");
  EXPECT_TRUE(caller->waits());
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_.front().key, "a");
  EXPECT_EQ(asked_.front().wish.grants, 1u);
  EXPECT_EQ(asked_.front().wish.limit, kLimit);
  EXPECT_EQ(asked_.front().wish.window, kWindow);
  Answer();
  ASSERT_TRUE(caller->granted());
  EXPECT_EQ(caller->answer->used, 1u);
  EXPECT_EQ(caller->answer->until_room, kWindow);
}

TEST_F(SharedKeys, GrantsNoMoreThanIsLeftByTheOthers) {
  EXPECT_EQ(TakeAll("a", 1), 1u);
  server_.Use("a", kLimit - 4);
  EXPECT_EQ(TakeAll("a", 10), 3u);
  const Caller refused = Take("a");
  EXPECT_EQ(refused->answer.value().code, KeyedCode::kNoRoom);
  EXPECT_EQ(refused->answer->used, kLimit);
  EXPECT_EQ(refused->answer->until_room, kWindow);
  EXPECT_TRUE(asked_.empty());  // the refusal is known until the window ends
  Pass(kWindow);
  EXPECT_EQ(TakeAll("a", 1), 1u);
}

TEST_F(SharedKeys, AsksOnceForAllCallersThatCameMeanwhile) {
  std::vector<Caller> callers;
  callers.push_back(Take("a"));
  for (int i = 0; i < 5; ++i) callers.push_back(Take("a"));
  EXPECT_EQ(asked_.size(), 1u);
  Answer();
  EXPECT_TRUE(callers[0]->granted());
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_GE(asked_.front().wish.grants, 5u);
  Answer();
  for (const Caller& caller : callers) EXPECT_TRUE(caller->granted());
}

TEST_F(SharedKeys, LeasesABatchForABusyKeyAndOneForAQuietOne) {
  EXPECT_EQ(TakeAll("a", 10), 10u);
  EXPECT_EQ(LeaseOf("a").batch, kLimit / SharedLease::kShares);
  EXPECT_LE(limiter().Counts().leases, 7u);
  Pass(2 * kWindow);
  EXPECT_EQ(TakeAll("a", 1), 1u);
  EXPECT_EQ(LeaseOf("a").left, 0u);
  EXPECT_EQ(limiter().Counts().leased, limiter().Counts().granted + limiter().Counts().unspent);
}

TEST_F(SharedKeys, SpendsALeaseOnlyWhileItsWindowRuns) {
  Share({.window = kWindow, .max_requests = 320, .max_waiting = 3});
  TakeAll("a", 20);
  ASSERT_GT(LeaseOf("a").left, 0u);
  Pass(kWindow - milliseconds(1));
  EXPECT_TRUE(Take("a")->granted());
  Pass(milliseconds(1));
  EXPECT_TRUE(Take("a")->waits());
}

TEST_F(SharedKeys, CountsTheTimeOnTheWayAgainstTheLease) {
  clock_.Advance(milliseconds(300));
  const Caller caller = Take("a");
  clock_.Advance(milliseconds(200));  // on the way there
  const ScriptedWindows::Asked asked = NextAsked();
  const LeaseAnswer answer = server_.Lease(asked.key, asked.wish, ServersNow());
  clock_.Advance(milliseconds(100));  // on the way back
  asked.done(answer);
  EXPECT_EQ(caller->answer.value().until_room, milliseconds(800 - 600));  // the window itself ends 200 ms later
}

TEST_F(SharedKeys, ThrowsAwayALeaseThatComesAfterItsWindow) {
  const Caller caller = Take("a");
  AnswerAfter({}, kWindow);
  EXPECT_TRUE(caller->waits());
  EXPECT_EQ(limiter().Counts().unspent, 1u);
  Answer();
  EXPECT_TRUE(caller->granted());
}

TEST_F(SharedKeys, TakesAServerThatIsAlwaysTooLateForAway) {
  RefuseWhenAway();
  const Caller caller = Take("a");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(caller->waits());
    AnswerAfter({}, kWindow);
  }
  EXPECT_EQ(caller->answer.value().code, KeyedCode::kStoreAway);
}

TEST_F(SharedKeys, AServerIsAwayOnlyIfAnswersTakeAShareOfAWindow) {
  constexpr Duration kShare = Duration(kWindow) / SharedLease::kLateShare;
  for (const Duration way : {kShare, kShare + milliseconds(1)}) {
    RefuseWhenAway();
    PassUntilEndLess(kShare + way);
    const Caller caller = Take("a");
    AnswerAfter(way, {});
    AnswerAfter({}, way);
    EXPECT_EQ(caller->waits(), way == kShare) << way.count();
    EXPECT_EQ(caller->waits(), asked_.size() == 1) << "asks again at once";
  }
}

TEST_F(SharedKeys, SharesTheNextWindowAfterTwoAnswersNearTheEdge) {
  PassUntilEndLess(microseconds(100));
  const Caller caller = Take("a");
  AnswerAfter(microseconds(50), {});
  ASSERT_TRUE(caller->waits());
  AnswerAfter({}, microseconds(50));
  ASSERT_TRUE(caller->waits());
  server_.Lease("a", {.window = kWindow, .limit = kLimit, .grants = kLimit - 2}, ServersNow());
  Answer();
  EXPECT_TRUE(caller->granted());
  EXPECT_FALSE(LeaseOf("a").alone);
  EXPECT_EQ(TakeAll("a", kLimit), 1u);
}

TEST_F(SharedKeys, CountsOnlyLateAnswersThatFollowEachOther) {
  RefuseWhenAway();
  PassUntilEndLess(microseconds(100));
  const Caller caller = Take("a");
  AnswerAfter({}, kWindow);
  AnswerAfter(microseconds(50), {});
  AnswerAfter({}, kWindow);
  EXPECT_TRUE(caller->waits());
}

TEST_F(SharedKeys, KeepsTheLineInOrderAndRefusesCallersThatMayNotWait) {
  server_.Lease("a", {.window = kWindow, .limit = kLimit, .grants = kLimit - 2}, ServersNow());
  const Caller first = Take("a"), second = Wait("a"), third = Take("a"), fourth = Wait("a"), fifth = Wait("a"),
               sixth = Wait("a"), seventh = Wait("a");
  Answer();
  Answer();
  EXPECT_TRUE(first->granted() && second->granted());
  EXPECT_EQ(third->answer.value().code, KeyedCode::kNoRoom);
  EXPECT_TRUE(fourth->waits() && fifth->waits() && sixth->waits());
  EXPECT_EQ(seventh->answer.value().code, KeyedCode::kLineFull);
  EXPECT_EQ(limiter().Counts().waiting, 3u);
  Pass(kWindow);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_GE(asked_.front().wish.grants, 3u);
  const Caller late = Take("a");
  EXPECT_TRUE(late->waits());
  Answer();
  EXPECT_TRUE(fourth->granted() && fifth->granted() && sixth->granted());
  if (!asked_.empty()) Answer();
  EXPECT_TRUE(late->granted());
}

TEST_F(SharedKeys, BoundsTheCallersThatWaitForALease) {
  std::vector<Caller> callers;
  for (uint32_t i = 0; i < kLimit; ++i) callers.push_back(Take("a"));
  EXPECT_EQ(Take("a")->answer.value().code, KeyedCode::kNoRoom);
  for (int i = 0; i < 3; ++i) callers.push_back(Wait("a"));
  EXPECT_EQ(Wait("a")->answer.value().code, KeyedCode::kLineFull);
  AnswerAll();
  for (uint32_t i = 0; i < kLimit; ++i) EXPECT_TRUE(callers[i]->granted());
  for (uint32_t i = kLimit; i < kLimit + 3; ++i) EXPECT_TRUE(callers[i]->waits());
}

TEST_F(SharedKeys, ForgetsACallerThatLeavesBeforeTheLeaseComes) {
  const Caller left = Take("a"), stays = Take("a");
  limiter().Leave("a", *left->ticket);
  Answer();
  EXPECT_FALSE(left->answer);
  EXPECT_TRUE(stays->granted());
  EXPECT_EQ(limiter().Counts().waiting, 0u);
}

TEST_F(SharedKeys, GivesBackToTheLeaseWhileItsWindowRuns) {
  EXPECT_EQ(TakeAll("a", kLimit - 1), kLimit - 1);
  const Caller last = Take("a");
  AnswerAll();
  ASSERT_TRUE(last->granted());
  EXPECT_EQ(TakeAll("a", 1), 0u);
  const Caller waiting = Wait("a");
  EXPECT_TRUE(GiveBack("a", last->answer->grant));
  EXPECT_FALSE(GiveBack("a", last->answer->grant));
  EXPECT_TRUE(waiting->granted());
  EXPECT_TRUE(asked_.empty());
  Pass(kWindow);
  EXPECT_FALSE(GiveBack("a", waiting->answer->grant));
}

TEST_F(SharedKeys, CountsAloneWhileTheWindowsAreAway) {
  EXPECT_EQ(TakeAll("a", 5), 5u);
  for (uint32_t left = LeaseOf("a").left; left > 0; --left) Take("a");
  const uint32_t before = static_cast<uint32_t>(limiter().Counts().granted);
  const Caller caller = Take("a");
  AnswerAway();
  EXPECT_TRUE(caller->granted());
  EXPECT_TRUE(LeaseOf("a").alone);
  uint32_t more = 0;
  while (more < kLimit && Take("a")->granted()) ++more;
  EXPECT_EQ(before + 1 + more, kLimit);  // within the window, by this process alone
  EXPECT_TRUE(asked_.empty());
  Pass(kWindow);
  EXPECT_TRUE(Take("a")->waits());
  AnswerAway();
  for (uint32_t i = 1; i < kLimit; ++i) EXPECT_TRUE(Take("a")->granted());
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
}

TEST_F(SharedKeys, ReturnsToTheWindowsAndCountsItsOwnGrants) {
  EXPECT_EQ(TakeAll("a", 1), 1u);
  Take("a");
  AnswerAway();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Take("a")->granted());
  EXPECT_TRUE(asked_.empty());
  clock_.Advance(SharedLease::kAwayPause);
  EXPECT_TRUE(Take("a")->granted());  // and it asks the server in the background
  ASSERT_EQ(asked_.size(), 1u);
  server_.Use("a", kLimit - 2);
  Answer();
  EXPECT_FALSE(LeaseOf("a").alone);
  EXPECT_EQ(TakeAll("a", 5), 1u);
}

TEST_F(SharedKeys, GoesBackFromAWindowOfItsOwnToThatOfTheOthers) {
  clock_.Advance(milliseconds(700));
  Take("a");
  AnswerAway();  // it does not know yet when a window begins
  for (uint32_t i = 1; i < kLimit; ++i) EXPECT_TRUE(Take("a")->granted());
  const Caller waiting = Wait("a");
  EXPECT_EQ(Describe("a")->until_room, kWindow);
  EXPECT_TRUE(asked_.empty());
  Pass(SharedLease::kAwayPause);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_.front().wish.grants, 0u) << "there is nothing that it might spend";
  Answer();
  EXPECT_TRUE(waiting->waits());
  EXPECT_EQ(Describe("a")->until_room, milliseconds(200));
  Pass(milliseconds(200));
  Answer();
  EXPECT_TRUE(waiting->granted());
}

TEST_F(SharedKeys, AsksForNoMoreWhenItHasSpentTheLimitAlone) {
  EXPECT_EQ(TakeAll("a", 1), 1u);
  Take("a");
  AnswerAway();
  for (uint32_t i = 2; i < kLimit - 1; ++i) EXPECT_TRUE(Take("a")->granted());
  clock_.Advance(SharedLease::kAwayPause);
  EXPECT_TRUE(Take("a")->granted());
  EXPECT_EQ(Answer().granted, 0u);  // although the server does not know of the other grants
  EXPECT_EQ(TakeAll("a", 1), 0u);
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(SharedKeys, RefusesWhileTheWindowsAreAwayIfItIsTold) {
  RefuseWhenAway();
  const Caller refused = Take("a"), waiting = Wait("a");
  AnswerAway();
  ASSERT_EQ(refused->answer.value().code, KeyedCode::kStoreAway);
  EXPECT_EQ(refused->answer->until_room, SharedLease::kAwayPause);
  EXPECT_TRUE(waiting->waits());
  EXPECT_EQ(CodeOf("a"), KeyedCode::kStoreAway);
  EXPECT_TRUE(asked_.empty());
  Pass(SharedLease::kAwayPause);
  AnswerAway();
  EXPECT_TRUE(waiting->waits());
  Pass(SharedLease::kAwayPause);
  Answer();
  EXPECT_TRUE(waiting->granted());
}

TEST_F(SharedKeys, SpendsItsLeaseWhileTheWindowsAreAway) {
  RefuseWhenAway();
  const Caller first = Take("a");
  Answer();
  Take("a");
  AnswerAway();
  EXPECT_EQ(CodeOf("a"), KeyedCode::kStoreAway);
  EXPECT_TRUE(GiveBack("a", first->answer.value().grant));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
  EXPECT_EQ(CodeOf("a"), KeyedCode::kStoreAway);
}

TEST_F(SharedKeys, AnswersAllCallersWhenItCloses) {
  const Caller hasty = Take("a"), waiting = Wait("b");
  limiter().Close();
  EXPECT_EQ(hasty->answer.value().code, KeyedCode::kClosed);
  EXPECT_EQ(waiting->answer.value().code, KeyedCode::kClosed);
  AnswerAll();
  EXPECT_EQ(CodeOf("a"), KeyedCode::kClosed);
  EXPECT_EQ(limiter().Counts().unspent, limiter().Counts().leased);
}

TEST_F(SharedKeys, EndsWithQuestionsOnTheirWay) {
  const Caller hasty = Take("a"), waiting = Wait("b");
  limiter_.reset();
  EXPECT_TRUE(hasty->answer && waiting->answer);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(SharedKeys, ForgetsAnUnusedKeyButNotWhileALeaseIsPending) {
  Take("a");
  for (int i = 0; i < 100; ++i) Pass(kWindow);
  EXPECT_EQ(limiter().Counts().keys, 1u);
  Answer();
  for (int i = 0; i < 100; ++i) {
    Pass(kWindow);
    AnswerAll();
  }
  EXPECT_EQ(limiter().Counts().keys, 0u);
}

TEST_F(SharedKeys, CountsUnsharedKeysByItself) {
  for (KeyedLimits limits :
       {KeyedLimits{.window = kWindow, .kind = WindowKind::kSliding},
        KeyedLimits{.window = kMinSharedWindow - milliseconds(1)}, KeyedLimits{.window = kWindow, .shared = false}}) {
    limits.max_requests = 1;
    Share(limits);
    EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
    EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
    EXPECT_TRUE(asked_.empty());
    EXPECT_FALSE(Describe("a")->lease);
  }
}

TEST_F(SharedKeys, FollowsItsRulesWhileALeaseIsOnItsWay) {
  const auto rules = [](KeyedLimits limits) { return std::make_shared<KeyedRules>(limits); };
  KeyedLimits limits = Limits();
  const Caller caller = Wait("a");
  limits.window *= 2;
  limiter().SetRules(rules(limits));
  ASSERT_EQ(asked_.size(), 2u);  // one of them for its new window
  Answer();
  EXPECT_TRUE(caller->waits());
  Answer();
  EXPECT_TRUE(caller->granted());

  const Caller second = Wait("a");
  limits.shared = false;
  limits.max_requests = 2;
  limiter().SetRules(rules(limits));
  limiter().Tick();
  EXPECT_TRUE(second->granted());
  AnswerAll();
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
}

TEST_F(SharedKeys, AsksAgainWhenItsLimitIsRaised) {
  EXPECT_EQ(TakeAll("a", kLimit + 5), kLimit);
  const Caller waiting = Wait("a");
  EXPECT_TRUE(asked_.empty());
  KeyedLimits limits = Limits();
  limits.max_requests += 1;
  limiter().SetRules(std::make_shared<KeyedRules>(limits));
  ASSERT_EQ(asked_.size(), 1u);
  Answer();
  EXPECT_TRUE(waiting->granted());
  EXPECT_EQ(TakeAll("a", 1), 0u);
}

TEST_F(SharedKeys, AsksAgainSoonIfTheStoreIsAwayWhenALimitIsRaised) {
  config_.overrides = true;
  RefuseWhenAway();
  EXPECT_EQ(TakeAll("a", kLimit + 5), kLimit);
  const Caller waiting = Wait("a");
  ASSERT_TRUE(waiting->waits());  // until the window ends
  const Caller raising = Take({.key = "a", .may_wait = true, .max_requests = kLimit + 2});
  AnswerAway();
  ASSERT_TRUE(waiting->waits() && raising->waits());
  Pass(SharedLease::kAwayPause);
  ASSERT_EQ(asked_.size(), 1u);
  Answer();
  EXPECT_TRUE(waiting->granted() && raising->granted());
}

TEST_F(SharedKeys, CountsWholeWindowsAfterSharingHasEnded) {
  for (const bool away_at_first : {false, true}) {
    Share(Limits());
    PassUntilEndLess(SharedLease::kAwayPause + milliseconds(10));
    Take("a");
    if (away_at_first) {
      AnswerAway();
      clock_.Advance(SharedLease::kAwayPause);
      Take("a");
    }
    Answer();
    KeyedLimits limits = Limits();
    limits.shared = false;
    limiter().SetRules(std::make_shared<KeyedRules>(limits));
    PassUntilEndLess({});
    for (uint32_t i = 0; i < kLimit; ++i) EXPECT_TRUE(Take("a")->granted());
    clock_.Advance(kWindow - milliseconds(1));
    EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom) << away_at_first;
    clock_.Advance(milliseconds(1));
    EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
  }
}

// The server's clock has stepped back, so its window has more than its length left.
TEST_F(SharedKeys, AWindowWithMoreThanItsLengthLeftCountsUntilItsEnd) {
  const Caller caller = Take("a");
  NextAsked().done(
      {.answered = true, .window = 8, .granted = 1, .used = kLimit, .remaining = Duration(kWindow) * 3 / 2});
  ASSERT_TRUE(caller->granted());
  EXPECT_EQ(caller->answer->until_room, Duration(kWindow) * 3 / 2);
  KeyedLimits limits = Limits();
  limits.shared = false;
  limiter().SetRules(std::make_shared<KeyedRules>(limits));
  for (uint32_t i = 1; i < kLimit; ++i) EXPECT_TRUE(Take("a")->granted());
  clock_.Advance(kWindow);
  const Caller refused = Take("a");
  EXPECT_EQ(refused->answer.value().code, KeyedCode::kNoRoom);
  EXPECT_EQ(refused->answer->until_room, Duration(kWindow) / 2);
  clock_.Advance(kWindow / 2 - milliseconds(1));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
  clock_.Advance(milliseconds(1));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
}

TEST_F(SharedKeys, GrantsALongLineInTurnsThatFollowAtOnce) {
  constexpr uint32_t kMany = 3000;
  Share({.window = kWindow, .max_requests = kMany, .max_waiting = kMany});
  server_.Lease("a", {.window = kWindow, .limit = kMany, .grants = kMany}, ServersNow());
  std::vector<Caller> callers;
  for (uint32_t i = 0; i < kMany; ++i) callers.push_back(Wait("a"));
  Answer();
  EXPECT_TRUE(asked_.empty());
  Pass(kWindow);
  Answer();
  for (int i = 0; i < 3; ++i) limiter().Tick();
  for (const Caller& caller : callers) EXPECT_TRUE(caller->granted());
}

}  // namespace
}  // namespace weir
