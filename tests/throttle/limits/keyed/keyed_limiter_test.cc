#include "throttle/limits/keyed/keyed_limiter.h"

#include <set>

#include "tests/throttle/limits/keyed/keyed_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using KeyedLimiterTest = KeyedFixture;

TEST_F(KeyedLimiterTest, GrantsTheFirstOfAWindowAndRefusesTheRest) {
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
  clock_.Advance(milliseconds(400));
  const KeyedAnswer refused = Take("a")->answer.value();
  EXPECT_EQ(refused.code, KeyedCode::kNoRoom);
  EXPECT_EQ(refused.used, 2u);
  EXPECT_EQ(refused.limits, Limits());
  EXPECT_EQ(refused.until_room, milliseconds(600));
  clock_.Advance(milliseconds(600));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
}

TEST_F(KeyedLimiterTest, CountsEachKeyApart) {
  for (const char* key : {"a", "b", "a", "b"}) EXPECT_EQ(CodeOf(key), KeyedCode::kGranted);
  for (const char* key : {"a", "b"}) EXPECT_EQ(CodeOf(key), KeyedCode::kNoRoom);
}

TEST_F(KeyedLimiterTest, QueuesWaitersUpToItsBoundAndGrantsThemInOrder) {
  Take("a"), Take("a");
  const Caller first = Wait("a"), second = Wait("a"), third = Wait("a");
  EXPECT_EQ(Wait("a")->answer.value().code, KeyedCode::kLineFull);
  for (const Caller& caller : {first, second, third}) EXPECT_TRUE(caller->waits());
  Pass(milliseconds(999));
  EXPECT_TRUE(first->waits());
  Pass(milliseconds(1));
  EXPECT_TRUE(first->granted() && second->granted() && third->waits());
  EXPECT_EQ(first->answer->waited, seconds(1));
  Pass(seconds(1));
  EXPECT_TRUE(third->granted());
}

TEST_F(KeyedLimiterTest, NewcomersDoNotOvertakeTheLine) {
  Take("a"), Take("a");
  const Caller first = Wait("a"), second = Wait("a"), third = Wait("a");
  clock_.Advance(seconds(1));  // without a tick
  const Caller newcomer = Take("a");
  EXPECT_TRUE(first->granted() && second->granted() && third->waits());
  EXPECT_EQ(newcomer->answer.value().code, KeyedCode::kNoRoom);
}

TEST_F(KeyedLimiterTest, SaysWhenItWantsToTick) {
  EXPECT_EQ(limiter().Tick(), TimePoint::max());
  Take("a"), Take("a"), Wait("a");
  clock_.Advance(milliseconds(950));
  EXPECT_EQ(limiter().Tick(), clock_.Now() + milliseconds(50));
}

TEST_F(KeyedLimiterTest, GivesAGrantBackOnce) {
  const uint64_t grant = Take("a")->answer.value().grant;
  Take("a");
  EXPECT_FALSE(GiveBack("a", grant + 5));
  EXPECT_FALSE(GiveBack("b", grant));
  EXPECT_TRUE(GiveBack("a", grant));
  EXPECT_FALSE(GiveBack("a", grant));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
}

TEST_F(KeyedLimiterTest, GivesNothingBackOfAWindowThatIsOver) {
  const uint64_t grant = Take("a")->answer.value().grant;
  Pass(seconds(1));
  Take("a"), Take("a");
  EXPECT_FALSE(GiveBack("a", grant));
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
}

TEST_F(KeyedLimiterTest, AGrantGivenBackGoesToAWaiter) {
  const uint64_t grant = Take("a")->answer.value().grant;
  Take("a");
  const Caller waiting = Wait("a");
  EXPECT_TRUE(GiveBack("a", grant));
  EXPECT_TRUE(waiting->granted());
}

TEST_F(KeyedLimiterTest, ALeavingCallerConsumesNothing) {
  Take("a"), Take("a");
  const Caller first = Wait("a"), second = Wait("a"), third = Wait("a");
  limiter().Leave("a", second->ticket.value());
  limiter().Leave("a", second->ticket.value());
  EXPECT_TRUE(Wait("a")->waits()) << "its place in line is free";
  Pass(seconds(1));
  EXPECT_TRUE(first->granted() && third->granted());
  EXPECT_FALSE(second->answer);
  limiter().Leave("a", first->ticket.value());  // too late
  EXPECT_EQ(limiter().Counts().left, 1u);
  EXPECT_EQ(limiter().Counts().waiting, 1u);
}

TEST_F(KeyedLimiterTest, HoldsTheLimitAcrossAnEdgeOfASlidingWindow) {
  KeyedLimits limits = Limits();
  limits.kind = WindowKind::kSliding;
  config_.rules = std::make_shared<KeyedRules>(limits);
  Take("x");
  clock_.Advance(milliseconds(990));
  Take("a"), Take("a");
  const Caller waiting = Wait("a");
  Pass(milliseconds(990));
  EXPECT_TRUE(waiting->waits());
  Pass(milliseconds(50));  // within a 32nd of a window
  EXPECT_TRUE(waiting->granted());
}

TEST_F(KeyedLimiterTest, ALimitOfZeroRefusesWithoutWaiting) {
  config_.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = 0});
  EXPECT_EQ(Wait("a")->answer.value().code, KeyedCode::kNoRoom);
  EXPECT_EQ(limiter().Counts().waiting, 0u);
}

TEST_F(KeyedLimiterTest, TakesALineOfZero) {
  config_.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = 1, .max_waiting = 0});
  Take("a");
  EXPECT_EQ(Wait("a")->answer.value().code, KeyedCode::kLineFull);
}

TEST_F(KeyedLimiterTest, TakesLimitsOfARequestOnlyIfTheOperatorAllows) {
  EXPECT_EQ(Take({.key = "a", .max_requests = 5})->answer.value().code, KeyedCode::kOverridesOff);
  limiter_.reset();
  config_.overrides = true;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Take({.key = "a", .max_requests = 5})->granted());
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
  EXPECT_EQ(Describe("a")->limits.max_requests, 5u);
  EXPECT_EQ(Describe("a")->limits.max_waiting, Limits().max_waiting);
}

TEST_F(KeyedLimiterTest, RefusesInvalidKeys) {
  EXPECT_EQ(CodeOf(""), KeyedCode::kInvalidKey);
  EXPECT_EQ(CodeOf(std::string(kMostKeyBytes + 1, 'k')), KeyedCode::kInvalidKey);
  EXPECT_EQ(CodeOf(std::string(kMostKeyBytes, 'k')), KeyedCode::kGranted);
  EXPECT_EQ(CodeOf(std::string("\0\n%", 3)), KeyedCode::kGranted);
}

TEST_F(KeyedLimiterTest, HoldsSoManyKeysAndNoMoreUntilSomeAreForgotten) {
  config_.max_keys = 50;
  for (int i = 0; i < 50; ++i) EXPECT_EQ(CodeOf("k" + std::to_string(i)), KeyedCode::kGranted);
  EXPECT_EQ(CodeOf("another"), KeyedCode::kTooManyKeys);
  EXPECT_EQ(CodeOf("k7"), KeyedCode::kGranted);
  for (int i = 0; i < 200; ++i) Pass(milliseconds(100));
  EXPECT_EQ(limiter().Counts().keys, 0u);
  EXPECT_EQ(CodeOf("another"), KeyedCode::kGranted);
}

TEST_F(KeyedLimiterTest, HoldsFewerKeysIfEachHoldsMore) {
  config_.max_keys = 50;
  const auto held = [&](const std::string& name) {
    limiter_.reset();
    for (int i = 0; i < 100; ++i) Take(name + std::to_string(i));
    const uint64_t keys = limiter().Counts().keys;
    for (int i = 0; i < 200; ++i) Pass(milliseconds(100));
    EXPECT_EQ(limiter().Counts().keys, 0u);
    EXPECT_EQ(CodeOf(name), KeyedCode::kGranted) << "the room is free again";
    return keys;
  };
  EXPECT_EQ(held(std::string(78, 'k')), 50u);
  EXPECT_LE(held(std::string(510, 'k')), 50 * kUsualKeyBytes / 510 + 1);
  KeyedLimits limits = Limits();
  limits.kind = WindowKind::kSliding;
  config_.rules = std::make_shared<KeyedRules>(limits);
  EXPECT_LT(held("k"), 25u);
}

TEST_F(KeyedLimiterTest, CountsTheMemoryOfGrantsThatWereGivenBack) {
  config_.max_keys = 4;
  config_.rules = std::make_shared<KeyedRules>(KeyedLimits{.window = kWindow, .max_requests = 1000});
  std::vector<uint64_t> grants;
  for (int i = 0; i < 100; ++i) grants.push_back(Take("a")->answer.value().grant);
  for (size_t i = 0; i < grants.size(); i += 2) EXPECT_TRUE(GiveBack("a", grants[i])) << "with room or without";
  EXPECT_EQ(Describe("a")->used, 50u);
  EXPECT_EQ(CodeOf("b"), KeyedCode::kTooManyKeys);
  EXPECT_FALSE(GiveBack("a", grants[1])) << "the oldest are forgotten";
}

TEST_F(KeyedLimiterTest, KeepsRoomForOtherClientsWhenOneNamesEndlessKeys) {
  constexpr int kMost = 20'000;
  config_.max_keys = kMost;
  const auto granted = [&](uint64_t client, const std::string& names) {
    int keys = 0;
    for (int i = 0; i < kMost; ++i)
      keys += Take({.key = names + std::to_string(i), .client = client})->granted() ? 1 : 0;
    return keys;
  };
  const int of_first = granted(1, "first");
  EXPECT_EQ(of_first, kMost * 3 / 4);
  EXPECT_GE(granted(2, "second"), 50);
  EXPECT_GE(granted(3, "third"), 50);
  EXPECT_EQ(Take({.key = "first of all", .client = 1})->answer.value().code, KeyedCode::kTooManyKeys);
  EXPECT_TRUE(Take({.key = "first0", .client = 2})->granted()) << "a key that is held is everybody's";
  for (int i = 0; i < 200; ++i) Pass(milliseconds(100));
  EXPECT_EQ(granted(1, "again"), of_first);
}

TEST_F(KeyedLimiterTest, LetsSoManyWaitAndNoMore) {
  config_.max_waiting = 2;
  for (const char* key : {"a", "a", "b", "b"}) Take(key);
  const Caller first = Wait("a"), second = Wait("b");
  EXPECT_EQ(Wait("b")->answer.value().code, KeyedCode::kTooManyWaiting);
  limiter().Leave("a", first->ticket.value());
  EXPECT_TRUE(Wait("b")->waits());
  EXPECT_TRUE(second->waits());
}

TEST_F(KeyedLimiterTest, ForgetsAKeyThatWasUnusedForThreeWindows) {
  Take("a");
  // Its own window, and two more.
  for (int i = 0; i < 30; ++i) Pass(milliseconds(100));
  EXPECT_TRUE(Describe("a"));
  for (int i = 0; i < 30; ++i) Pass(milliseconds(100));
  EXPECT_FALSE(Describe("a"));
  EXPECT_EQ(limiter().Tick(), TimePoint::max()) << "nothing is left to be done";
}

TEST_F(KeyedLimiterTest, ForgetsNoKeyThatHasWaiters) {
  config_.rules = std::make_shared<KeyedRules>(KeyedLimits{.window = kWindow, .max_requests = 1, .max_waiting = 20});
  Take("a");
  std::vector<Caller> line;
  for (int i = 0; i < 20; ++i) line.push_back(Wait("a"));
  for (int i = 0; i < 200; ++i) Pass(milliseconds(100));
  for (const Caller& caller : line) EXPECT_TRUE(caller->granted());
}

TEST_F(KeyedLimiterTest, KnowsAnOldGrantOfAKeyThatWasForgottenNoMore) {
  const uint64_t grant = Take("a")->answer.value().grant;
  for (int i = 0; i < 100; ++i) Pass(milliseconds(100));
  Take("a");
  EXPECT_FALSE(GiveBack("a", grant));
}

TEST_F(KeyedLimiterTest, AppliesNewRulesToTheKeysThatThereAre) {
  Take("a"), Take("a");
  const Caller first = Wait("a"), second = Wait("a");
  limiter().SetRules(std::make_shared<KeyedRules>(KeyedLimits{.window = kWindow, .max_requests = 3}));
  EXPECT_TRUE(first->granted() && second->waits());
  limiter().SetRules(std::make_shared<KeyedRules>(KeyedLimits{.window = milliseconds(10), .max_requests = 1}));
  Pass(milliseconds(10));
  EXPECT_TRUE(second->granted());
  EXPECT_EQ(CodeOf("a"), KeyedCode::kNoRoom);
}

TEST_F(KeyedLimiterTest, RefusesTheLineWhenTheLimitBecomesZero) {
  for (const WindowKind kind : {WindowKind::kFixed, WindowKind::kSliding}) {
    limiter().SetRules(std::make_shared<KeyedRules>(KeyedLimits{.window = kWindow, .max_requests = 1, .kind = kind}));
    Pass(seconds(10));
    EXPECT_EQ(CodeOf("a"), KeyedCode::kGranted);
    const Caller waits = Wait("a");
    ASSERT_TRUE(waits->waits());
    limiter().SetRules(std::make_shared<KeyedRules>(KeyedLimits{.window = kWindow, .max_requests = 0, .kind = kind}));
    Pass(seconds(2));
    EXPECT_EQ(waits->answer.value().code, KeyedCode::kNoRoom);
    EXPECT_EQ(limiter().Counts().waiting, 0u);
  }
}

TEST_F(KeyedLimiterTest, DescribesItsKeys) {
  Take("a"), Take("a"), Take("a"), Wait("a");
  clock_.Advance(milliseconds(300));
  const KeyState state = Describe("a").value();
  EXPECT_EQ(state.key, "a");
  EXPECT_EQ(state.used, 2u);
  EXPECT_EQ(state.waiting, 1u);
  EXPECT_EQ(state.refused, 1u);
  EXPECT_EQ(state.until_room, milliseconds(700));
  Take("b");
  Take("c");
  std::set<std::string> keys;
  limiter().DescribeAll(1000, [&](std::vector<KeyState> states) {
    for (const KeyState& each : states) keys.insert(each.key);
  });
  EXPECT_EQ(keys, (std::set<std::string>{"a", "b", "c"}));
}

TEST_F(KeyedLimiterTest, DescribesAllKeysInPagesOfABoundedSize) {
  for (const std::string& padding : {std::string(), std::string(500, 'x')}) {
    limiter_.reset();
    constexpr int kKeys = 1000;
    for (int i = 0; i < kKeys; ++i) Take(std::to_string(i) + padding);
    std::set<std::string> keys;
    int pages = 0;
    for (std::optional<PagePlace> place = PagePlace(); place; ++pages) {
      limiter().DescribePage(*place, [&](const Page<KeyState>& page) {
        size_t bytes = 0;
        for (const KeyState& state : page.states()) bytes += state.key.size();
        EXPECT_LE(page.states().size(), Page<KeyState>::kMostNames + 8) << "but for the last of a bucket";
        EXPECT_LE(bytes, Page<KeyState>::kMostNameBytes + size_t{8} * 504);
        for (const KeyState& state : page.states()) EXPECT_TRUE(keys.insert(state.key).second) << state.key;
        place = page.next();
      });
    }
    EXPECT_EQ(keys.size(), size_t{kKeys});
    EXPECT_GE(pages, padding.empty() ? 8 : 20);
    EXPECT_LE(pages, 60);
  }
  limiter().DescribePage({.shard = 1000, .bucket = 7}, [](const Page<KeyState>& page) {
    EXPECT_TRUE(page.states().empty());
    EXPECT_FALSE(page.next());
  });
}

TEST_F(KeyedLimiterTest, KeepsNoKeyAliveByDescribingIt) {
  Take("a");
  for (int i = 0; i < 100; ++i) {
    Pass(milliseconds(100));
    Describe("a");
    limiter().DescribeAll(10, [](const std::vector<KeyState>&) {});
    limiter().DescribePage({}, [](const Page<KeyState>&) {});
  }
  EXPECT_EQ(limiter().Counts().keys, 0u);
}

TEST_F(KeyedLimiterTest, CountsGrantsRefusalsReturnsAndWaits) {
  const uint64_t grant = Take("a")->answer.value().grant;
  Take("a"), Take("a");
  GiveBack("a", grant), GiveBack("a", grant);
  Take("a"), Wait("a");
  const KeyedCounts counts = limiter().Counts();
  EXPECT_EQ(counts.granted, 3u);
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.given_back, 1u);
  EXPECT_EQ(counts.waited, 1u);
  EXPECT_EQ(counts.waiting, 1u);
  EXPECT_EQ(counts.keys, 1u);
}

TEST_F(KeyedLimiterTest, AnswersWaitersWhenItCloses) {
  Take("a"), Take("a");
  const Caller waiting = Wait("a");
  limiter().Close();
  EXPECT_EQ(waiting->answer.value().code, KeyedCode::kClosed);
  EXPECT_EQ(CodeOf("b"), KeyedCode::kClosed);
  EXPECT_EQ(limiter().Counts().keys, 0u);
  EXPECT_EQ(limiter().Counts().waiting, 0u);
}

TEST_F(KeyedLimiterTest, MayBeCalledFromAnAnswer) {
  struct Again : RecordingCaller {
    void OnAnswer(const KeyedAnswer& given) override {
      RecordingCaller::OnAnswer(given);
      limiter->Take({.key = "a"}, next);
    }
    KeyedLimiter* limiter = nullptr;
    Caller next = std::make_shared<RecordingCaller>();
  };
  const auto caller = std::make_shared<Again>();
  caller->limiter = &limiter();
  limiter().Take({.key = "a"}, caller);
  EXPECT_TRUE(caller->granted() && caller->next->granted());
}

TEST_F(KeyedLimiterTest, GrantsALongLineAtOnceWhenItsLimitIsRaised) {
  constexpr uint32_t kMany = 3000;
  config_.overrides = true;
  config_.rules = std::make_shared<KeyedRules>(KeyedLimits{.max_requests = 1, .max_waiting = kMany});
  Take("a");
  std::vector<Caller> callers;
  for (uint32_t i = 0; i < kMany; ++i) callers.push_back(Wait("a"));
  Take({.key = "a", .max_requests = kMany + 1});
  for (int i = 0; i < 3; ++i) limiter().Tick();
  for (const Caller& caller : callers) EXPECT_TRUE(caller->granted());
}

}  // namespace
}  // namespace weir
