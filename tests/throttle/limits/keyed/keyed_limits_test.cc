#include "throttle/limits/keyed/keyed_limits.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

KeyedRules::Rule Rule(std::string key, bool is_pattern, uint32_t max_requests) {
  return {.key = std::move(key), .is_pattern = is_pattern, .limits = {.max_requests = max_requests}};
}

TEST(KeyedRules, FindsAnExactKeyBeforePatternsAndPatternsInOrder) {
  const auto rules = KeyedRules::Make({.max_requests = 9}, {Rule("user-.*", true, 1), Rule("user-7", false, 2),
                                                            Rule("user-[0-9]+|bot", true, 3), Rule("a", false, 4)});
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  const KeyedRules& of = *rules.value();
  EXPECT_EQ(of.Of("user-7").max_requests, 2u);
  EXPECT_EQ(of.Of("user-8").max_requests, 1u);
  EXPECT_EQ(of.Of("bot").max_requests, 3u);
  EXPECT_EQ(of.Of("a").max_requests, 4u);
  EXPECT_EQ(of.Of("aa").max_requests, 9u);
  EXPECT_EQ(of.Of("the user-8").max_requests, 9u) << "a pattern matches the whole key";
}

TEST(KeyedRules, RefusesInvalidRules) {
  const struct {
    KeyedRules::Rule rule;
    std::string_view message;
  } kCases[] = {
      {Rule("(", true, 1), "pattern '(': missing ): ("},
      {{.key = "k", .limits = {.window = std::chrono::milliseconds(0)}},
       "key 'k': the window in milliseconds is 0; it is 1 to 2678400000"},
      {Rule("k", false, 2'000'000'000),
       "key 'k': the number of requests in a window is 2000000000; it is 0 to 1000000000"},
      {{.key = "k", .limits = {.max_waiting = 1'000'001}},
       "key 'k': the number of requests that may wait is 1000001; it is 0 to 1000000"},
  };
  for (const auto& [rule, message] : kCases) EXPECT_EQ(KeyedRules::Make({}, {rule}).status().message(), message);
  EXPECT_EQ(KeyedRules::Make({}, {Rule("k", false, 1), Rule("k", false, 2)}).status().message(),
            "key 'k' is there twice");
  EXPECT_EQ(KeyedRules::Make({}, {Rule("a.*", true, 1), Rule("b", true, 1), Rule("a.*", true, 2)}).status().message(),
            "pattern 'a.*' is there twice");
  EXPECT_TRUE(KeyedRules::Make({}, {Rule("a", true, 1), Rule("a", false, 2)}).ok());
}

TEST(KeyedRules, MatchesAPatternThatExplodesElsewhere) {
  const auto rules = KeyedRules::Make({.max_requests = 9}, {Rule("(a+)+(b+)+", true, 1)});
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules.value()->Of(std::string(500, 'a')).max_requests, 9u);
}

}  // namespace
}  // namespace weir
