#include "throttle/limits/queued/endpoint_config.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Algorithm = EndpointConfig::Algorithm;

std::shared_ptr<const QueuedRules> Made(std::vector<EndpointRule> rules) {
  return QueuedRules::Make(std::move(rules)).value();
}
std::string Wrong(std::vector<EndpointRule> rules) { return QueuedRules::Make(std::move(rules)).status().message(); }
const EndpointConfig& Of(const QueuedRules& rules, std::string_view path) { return *rules.Nearest(path)->second; }

TEST(QueuedRules, FillsGapsFromTheNearestAncestorThenFromTheDefaults) {
  const auto rules = Made({
      {.path = "/", .rate = 7, .overflow = EndpointConfig::Overflow::kBlock},
      {.path = "/api", .rate = 10, .scheduler = EndpointConfig::Scheduler::kLifo, .queue_timeout = seconds(3)},
      {.path = "/api/v2/users", .max_queue_size = 20, .queue_timeout = milliseconds(0)},
  });
  const EndpointConfig& users = Of(*rules, "/api/v2/users");
  EXPECT_EQ(users.rate, 10);
  EXPECT_EQ(users.scheduler, EndpointConfig::Scheduler::kLifo);
  EXPECT_EQ(users.overflow, EndpointConfig::Overflow::kBlock);
  EXPECT_EQ(users.max_queue_size, 20u);
  EXPECT_EQ(users.queue_timeout, milliseconds(0)) << "a zero is written";
  EXPECT_EQ(Of(*rules, "/api").max_queue_size, 500u);
  EXPECT_EQ(Of(*rules, "/api").algorithm, Algorithm::kStrict);
}

TEST(QueuedRules, UsesTheGivenDefaultsIfNoAncestorSetsAValue) {
  const auto rules = QueuedRules::Make({{.path = "/api", .rate = 1, .scheduler = EndpointConfig::Scheduler::kLifo},
                                        {.path = "/api/users", .max_queue_size = 20},
                                        {.path = "/other", .rate = 1}},
                                       1000,
                                       {.unit = EndpointConfig::Unit::kPerMinute,
                                        .scheduler = EndpointConfig::Scheduler::kPriority,
                                        .max_queue_size = 7})
                         .value();
  EXPECT_EQ(Of(*rules, "/api/users").scheduler, EndpointConfig::Scheduler::kLifo);
  EXPECT_EQ(Of(*rules, "/api/users").max_queue_size, 20u);
  EXPECT_EQ(Of(*rules, "/api/users").unit, EndpointConfig::Unit::kPerMinute);
  EXPECT_EQ(Of(*rules, "/api").max_queue_size, 7u);
  EXPECT_EQ(Of(*rules, "/other").scheduler, EndpointConfig::Scheduler::kPriority);
}

TEST(QueuedRules, FindsTheNearestAncestorByWholeNames) {
  const auto rules = Made({{.path = "/api", .rate = 1}, {.path = "/api/v2/", .rate = 2}});
  const auto nearest = [&](std::string_view path) -> std::string {
    const auto* found = rules->Nearest(path);
    return found == nullptr ? "" : found->first;
  };
  EXPECT_EQ(nearest("/api"), "/api");
  EXPECT_EQ(nearest("/api/users"), "/api");
  EXPECT_EQ(nearest("/api/v2"), "/api/v2");
  EXPECT_EQ(nearest("/api/v2/users/7"), "/api/v2");
  EXPECT_EQ(nearest("/api/v22"), "/api");
  EXPECT_EQ(nearest("/apis"), "");
  EXPECT_EQ(nearest("/ap"), "");
  EXPECT_EQ(nearest("/"), "");
  EXPECT_EQ(nearest("/api" + std::string(500, '/')), "/api");
  EXPECT_EQ(Made({})->Nearest("/api"), nullptr);
  EXPECT_EQ(Made({{.path = "/", .rate = 1}})->Nearest("/a/b")->first, "/");
}

TEST(QueuedRules, MakesOfARateABurstAndAWindow) {
  const auto rules = Made({
      {.path = "/bucket", .rate = 30, .algorithm = Algorithm::kTokenBucket},
      {.path = "/slow", .rate = 30, .unit = EndpointConfig::Unit::kPerMinute, .algorithm = Algorithm::kTokenBucket},
      {.path = "/second", .rate = 30, .algorithm = Algorithm::kSlidingWindow},
      {.path = "/minute", .rate = 30, .unit = EndpointConfig::Unit::kPerMinute, .algorithm = Algorithm::kSlidingWindow},
      {.path = "/ten", .rate = 0.1, .algorithm = Algorithm::kSlidingWindow, .window = seconds(30)},
      {.path = "/llm", .algorithm = Algorithm::kTokenWindow, .tokens_per_window = 500},
  });
  EXPECT_EQ(Of(*rules, "/bucket").burst_size, 30u);
  EXPECT_EQ(Of(*rules, "/slow").burst_size, 1u);
  EXPECT_EQ(Of(*rules, "/second").window, seconds(1));
  EXPECT_EQ(Of(*rules, "/second").most_in_window, 30u);
  EXPECT_EQ(Of(*rules, "/minute").window, minutes(1));
  EXPECT_EQ(Of(*rules, "/minute").most_in_window, 30u);
  EXPECT_EQ(Of(*rules, "/ten").most_in_window, 3u);
  EXPECT_EQ(Of(*rules, "/llm").window, minutes(1));
  EXPECT_EQ(Of(*rules, "/llm").default_tokens, 1u);
  EXPECT_EQ(Of(*rules, "/llm").rate, 0);
}

TEST(QueuedRules, NamesThePathAndItsMistake) {
  EXPECT_EQ(Wrong({{.path = "/a"}}), "path '/a': it needs a rate, the requests in each second or (unit: rpm) minute");
  EXPECT_EQ(Wrong({{.path = "/a", .rate = 0}}), "path '/a': rate is 0; it is 0.001..1000000000 (requests in a unit)");
  EXPECT_EQ(Wrong({{.path = "/a", .rate = 1, .max_queue_size = 1'000'001}}),
            "path '/a': max_queue_size is 1000001; it is 0..1000000 (requests)");
  EXPECT_EQ(Wrong({{.path = "/a", .rate = 1, .algorithm = Algorithm::kTokenBucket, .burst_size = 0}}),
            "path '/a': burst_size is 0; it is 1..1000000 (requests)");
  EXPECT_EQ(Wrong({{.path = "/a", .algorithm = Algorithm::kTokenWindow}}),
            "path '/a': it needs tokens_per_window, for its algorithm is token_window");
  EXPECT_EQ(Wrong({{.path = "/a", .algorithm = Algorithm::kTokenWindow, .tokens_per_window = 5, .default_tokens = 6}}),
            "path '/a': default_tokens is 6; it is 1..5 (tokens)");
  EXPECT_EQ(Wrong({{.path = "/a", .rate = 0.1, .algorithm = Algorithm::kSlidingWindow}}),
            "path '/a': what the rate lets through in window_seconds is 0; it is 1..1000000000 (requests)");
  EXPECT_EQ(Wrong({{.path = "/a", .rate = 1, .queue_timeout = milliseconds(-1)}}),
            "path '/a': queue_timeout is -0.001; it is 0..2678400 (seconds)");
  EXPECT_EQ(Wrong({{.path = "/a/", .rate = 1}, {.path = "/a", .rate = 2}}), "path '/a' is there twice");
  for (const char* path : {"", "a", "/a?b", "/a b", "/a#"})
    EXPECT_EQ(Wrong({{.path = path, .rate = 1}}),
              "path '" + std::string(path) + "': a path begins with /, has at most 512 bytes, and no blank, ? or #");
}

TEST(QueuedRules, TellsTheCanonicalPathOfTheWrongRule) {
  for (const EndpointRule& wrong : {EndpointRule{.path = "/b/"}, EndpointRule{.path = "/b c/", .rate = 1}}) {
    std::string wrong_path;
    const auto made = QueuedRules::Make({wrong, {.path = "/a", .rate = 1}}, 0, {}, &wrong_path);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(wrong_path, CanonicalPath(wrong.path));
  }
}

}  // namespace
}  // namespace weir
