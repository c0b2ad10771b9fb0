#include "relay/observe/trace/trace_ids.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/text/hex.h"

namespace weir {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";

TEST(TraceParentTest, IsReadAsW3cSays) {
  const auto parent = ParseTraceParent("00-" + kTrace + "-" + kSpan + "-01");
  ASSERT_TRUE(parent);
  EXPECT_EQ(ToHex(parent->trace.data(), parent->trace.size()), kTrace);
  EXPECT_EQ(ToHex(parent->span.data(), parent->span.size()), kSpan);
  EXPECT_TRUE(parent->sampled);
  EXPECT_FALSE(ParseTraceParent("00-" + kTrace + "-" + kSpan + "-00")->sampled);
  EXPECT_FALSE(ParseTraceParent("00-" + kTrace + "-" + kSpan + "-fe")->sampled) << "the lowest bit alone says so";
  EXPECT_TRUE(ParseTraceParent("cc-" + kTrace + "-" + kSpan + "-01-what-comes")->sampled) << "a version to come";
}

TEST(TraceParentTest, MalformedTextIsRefused) {
  const std::string good = "00-" + kTrace + "-" + kSpan + "-01";
  for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(ParseTraceParent(good.substr(0, cut))) << cut;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = 'G';
    EXPECT_FALSE(ParseTraceParent(bad)) << bad;
  }
  EXPECT_FALSE(ParseTraceParent(good + "-")) << "this version has no more";
  EXPECT_FALSE(ParseTraceParent("ff" + good.substr(2)));
  EXPECT_FALSE(ParseTraceParent("01" + good.substr(2) + "x")) << "a version to come goes on with -";
  EXPECT_FALSE(ParseTraceParent("00-" + std::string(32, '0') + "-" + kSpan + "-01"));
  EXPECT_FALSE(ParseTraceParent("00-" + kTrace + "-" + std::string(16, '0') + "-01"));
  EXPECT_FALSE(ParseTraceParent("00-0AF7651916CD43DD8448EB211C80319C-" + kSpan + "-01")) << "lower case alone";
}

TEST(TraceIdsTest, AreNotGivenTwiceOnAnyThread) {
  constexpr size_t kEach = 2000;
  std::vector<std::vector<TraceId>> made(4);
  std::vector<std::thread> threads;
  for (auto& ids : made) {
    threads.emplace_back([&ids] {
      for (size_t n = 0; n < kEach; ++n) ids.push_back(NewTraceId());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<TraceId> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), made.size() * kEach);
  EXPECT_FALSE(all.contains(TraceId{}));
}

}  // namespace
}  // namespace weir
