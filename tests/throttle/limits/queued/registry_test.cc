#include <algorithm>

#include "tests/throttle/limits/queued/queued_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Names = std::vector<std::string>;

using RegistryTest = QueuedFixture;

TEST_F(RegistryTest, GivesAPathItsOwnEndpointWithItsAncestorsSettings) {
  config_.rules = Made({{.path = "/api", .rate = 10, .max_queue_size = 7}, {.path = "/api/v2", .rate = 20}});
  const Caller users = Take("/api/v2/users/7"), other = Take("/api/x"), itself = Take("/api");
  EXPECT_EQ(users->endpoint, "/api/v2/users/7");
  EXPECT_TRUE(users->served() && other->served() && itself->served()) << "each has its own rate";
  const EndpointState state = Describe("/api/v2/users/7").value();
  EXPECT_TRUE(state.dynamic);
  EXPECT_EQ(state.config->rate, 20);
  EXPECT_EQ(state.config->max_queue_size, 7u);
  EXPECT_FALSE(Describe("/api")->dynamic);
}

TEST_F(RegistryTest, RefusesInvalidPathsAndPathsWithoutAnAncestor) {
  Configure();
  EXPECT_EQ(Take("/b")->code(), QueuedCode::kUnknownPath);
  EXPECT_EQ(Take("/")->code(), QueuedCode::kUnknownPath);
  EXPECT_EQ(Take("/ab")->code(), QueuedCode::kUnknownPath);
  EXPECT_EQ(Take("")->code(), QueuedCode::kInvalidPath);
  EXPECT_EQ(Take("a/b")->code(), QueuedCode::kInvalidPath);
  EXPECT_EQ(Take("/a/" + std::string(kMostPathBytes, 'x'))->code(), QueuedCode::kInvalidPath);
  EXPECT_TRUE(Take("/a/" + std::string(kMostPathBytes - 3, 'x'))->served());
  EXPECT_EQ(Paths().size(), 2u);
}

TEST_F(RegistryTest, SeesOnePathHoweverManySlashesEndIt) {
  Configure();
  EXPECT_TRUE(Take("/a")->served());
  EXPECT_TRUE(Take("/a//")->waits());
  EXPECT_EQ(Paths(), Names{"/a"});
}

TEST_F(RegistryTest, LetsTheAncestorServeIfThereAreTooManyEndpoints) {
  config_.rules = Made({{.path = "/a", .rate = 10}}, 3);
  for (const char* path : {"/a/1", "/a/2", "/a/3"}) EXPECT_EQ(Take(path)->endpoint, path);
  EXPECT_EQ(Take("/a/4")->endpoint, "/a");
  const Caller waiting = Take("/a/5");
  EXPECT_TRUE(waiting->waits());
  EXPECT_EQ(Describe("/a")->queued, 1u);
  EXPECT_EQ(Take("/a/1")->ticket.has_value(), true) << "those that there are go on";
  EXPECT_EQ(limiter().Counts().dynamic, 3u);
  Leave(waiting);
  EXPECT_EQ(Describe("/a")->queued, 0u);
}

TEST_F(RegistryTest, EndsUnusedEndpoints) {
  config_.idle_after = minutes(1);
  Configure();
  for (int i = 0; i < 100; ++i) Take("/a/" + std::to_string(i));
  EXPECT_EQ(limiter().Counts().dynamic, 100u);
  for (int i = 0; i < 50; ++i) Pass(seconds(1));
  Take("/a/7");
  for (int i = 0; i < 20; ++i) Pass(seconds(1));
  EXPECT_EQ(Paths(), (Names{"/a", "/a/7"}));
  for (int i = 0; i < 60; ++i) Pass(seconds(1));
  EXPECT_EQ(Paths(), Names{"/a"});
  EXPECT_EQ(limiter().Tick(), TimePoint::max()) << "nothing is left to be done";
}

TEST_F(RegistryTest, EndsNoEndpointWithWaitersOrCounts) {
  config_.idle_after = seconds(1);
  config_.rules = Made({{.path = "/a", .rate = 1, .unit = EndpointConfig::Unit::kPerMinute}});
  Take("/a/1"), Take("/a/2");
  const Caller waiting = Take("/a/1");
  for (int i = 0; i < 59; ++i) Pass(seconds(1));
  EXPECT_EQ(Paths(), (Names{"/a", "/a/1", "/a/2"}));
  EXPECT_TRUE(Take("/a/2")->waits()) << "to end must not be a way to another minute's request";
  Pass(seconds(1));
  EXPECT_TRUE(waiting->served());
  for (int i = 0; i < 130; ++i) Pass(seconds(1));
  EXPECT_EQ(Paths(), Names{"/a"});
}

TEST_F(RegistryTest, EndsAHundredThousandEndpoints) {
  config_.idle_after = seconds(10);
  config_.rules = Made({{.path = "/a", .rate = 10}}, 100'000);
  for (int i = 0; i < 100'000; ++i)
    limiter().Take({.path = "/a/" + std::to_string(i)}, std::make_shared<RecordingQueuedCaller>());
  EXPECT_EQ(limiter().Counts().dynamic, 100'000u);
  clock_.Advance(seconds(10));
  for (int i = 0; i < 20; ++i) limiter().Tick();
  EXPECT_EQ(limiter().Counts().dynamic, 0u);
  EXPECT_EQ(Paths(), Names{"/a"});
}

TEST_F(RegistryTest, DescribesAllInTheirOrder) {
  config_.rules = Made({{.path = "/b", .rate = 1}, {.path = "/a", .rate = 1}});
  EXPECT_EQ(Paths(), (Names{"/a", "/b"})) << "also those that nobody has named";
  Take("/b/z"), Take("/b/c"), Take("/a"), Take("/a");
  EXPECT_EQ(Paths(), (Names{"/a", "/b", "/b/c", "/b/z"}));
  const EndpointState state = Describe("/a").value();
  EXPECT_EQ(state.served, 1u);
  EXPECT_EQ(state.queued, 1u);
  EXPECT_EQ(state.left, 0u);
}

TEST_F(RegistryTest, NewRulesApplyToWaitingRequests) {
  config_.rules = Made({{.path = "/a", .rate = 1}});
  Take(), Take("/a/x");
  std::vector<Caller> waiting;
  for (int i = 0; i < 10; ++i) waiting.push_back(Take()), waiting.push_back(Take("/a/x"));
  limiter().SetRules(Made({{.path = "/a", .rate = 100}}));
  for (int i = 0; i < 11; ++i) Pass(milliseconds(10));
  EXPECT_TRUE(std::ranges::all_of(waiting, [](const Caller& caller) { return caller->served(); }));
  EXPECT_EQ(Describe("/a/x")->config->rate, 100);
}

TEST_F(RegistryTest, ANewSchedulerOrAlgorithmAppliesToWaitingRequests) {
  Configure({.rate = 1});
  Take();
  Take({.path = "/a"}, "a"), Take({.path = "/a", .priority = 1}, "b"), Take({.path = "/a", .priority = 2}, "c");
  TakeOrder();
  limiter().SetRules(Made({{.path = "/a", .rate = 1, .scheduler = Scheduler::kPriority}}));
  Pass(seconds(1));
  EXPECT_EQ(TakeOrder(), Names{"c"});
  limiter().SetRules(Made({{.path = "/a", .algorithm = Algorithm::kTokenWindow, .tokens_per_window = 10}}));
  EXPECT_EQ(TakeOrder(), (Names{"a", "b"}));
}

TEST_F(RegistryTest, EmptiesAQueueThatMayHoldNoRequestAnyMore) {
  Configure({.max_queue_size = 2, .overflow = Overflow::kBlock});
  Take();
  for (const char* name : {"a", "b", "c", "d"}) Take({.path = "/a"}, name);
  limiter().SetRules(Made({{.path = "/a", .rate = 10, .max_queue_size = 0}}));
  EXPECT_EQ(Take()->code(), QueuedCode::kQueueFull);
  TakeOrder();
  for (int i = 0; i < 4; ++i) Pass(milliseconds(100));
  EXPECT_EQ(TakeOrder(), (Names{"a", "b", "c", "d"}));
}

TEST_F(RegistryTest, AnswersWaitersOfAPathThatIsNoLongerServed) {
  config_.rules = Made({{.path = "/a", .rate = 1}, {.path = "/b", .rate = 1}});
  Take("/a"), Take("/a/x"), Take("/b");
  const Caller gone = Take("/a"), below = Take("/a/x"), stays = Take("/b");
  limiter().SetRules(Made({{.path = "/b", .rate = 1}}));
  EXPECT_EQ(gone->code(), QueuedCode::kUnknownPath);
  EXPECT_EQ(below->code(), QueuedCode::kUnknownPath);
  EXPECT_EQ(Paths(), Names{"/b"});
  EXPECT_EQ(limiter().Counts().dynamic, 0u);
  Pass(seconds(1));
  EXPECT_TRUE(stays->served());
}

TEST_F(RegistryTest, LearnsWhichEndpointsAreConfigured) {
  config_.idle_after = seconds(10);
  config_.rules = Made({{.path = "/a", .rate = 1}, {.path = "/a/x", .rate = 2}}, 1);
  Take("/a/y");
  EXPECT_EQ(limiter().Counts().dynamic, 1u);
  limiter().SetRules(Made({{.path = "/a", .rate = 1}, {.path = "/a/y", .rate = 3}}, 1));
  EXPECT_TRUE(Describe("/a/x")->dynamic);
  EXPECT_FALSE(Describe("/a/y")->dynamic);
  EXPECT_EQ(limiter().Counts().dynamic, 1u);
  for (int i = 0; i < 30; ++i) Pass(seconds(1));
  EXPECT_EQ(Paths(), (Names{"/a", "/a/y"}));
  limiter().SetRules(Made({{.path = "/a", .rate = 1}}, 0));
  EXPECT_EQ(Take("/a/z")->endpoint, "/a");
}

}  // namespace
}  // namespace weir
