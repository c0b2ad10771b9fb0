// The lines that an operator finds in the log when a store is away.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "relay/limiters/quota/store_health.h"

namespace weir {
namespace {

using Breaker = StoreHealth::Breaker;

class StoreLogTest : public testing::Test {
 protected:
  // Returns what is logged of one look, without the time. A look comes every two seconds.
  std::string Look(Breaker breaker, const std::string& problem) {
    testing::internal::CaptureStdout();
    log_.Look({.breaker = breaker, .problem = problem}, now_ += std::chrono::seconds(2));
    const std::string line = testing::internal::GetCapturedStdout();
    const size_t text = line.find("redis://a");
    return text == line.npos ? line : line.substr(text);
  }

  TimePoint now_;
  StoreLog log_{"redis://a"};
};

TEST_F(StoreLogTest, SaysWhyAlsoWhereThatIsKnownLaterOnly) {
  EXPECT_EQ(Look(Breaker::kHalfOpen, ""), "redis://a is in trouble: it does not answer\n");
  EXPECT_EQ(Look(Breaker::kHalfOpen, ""), "");
  EXPECT_EQ(Look(Breaker::kOpen, "wrong password"), "redis://a is in trouble: wrong password\n");
  EXPECT_EQ(Look(Breaker::kHalfOpen, "wrong password"), "") << "once";
  EXPECT_EQ(Look(Breaker::kOpen, ""), "") << "no other reason";
  EXPECT_EQ(Look(Breaker::kOpen, "out of memory"), "redis://a is in trouble: out of memory\n");
  EXPECT_EQ(Look(Breaker::kClosed, "").find("redis://a is well again, after 12"), 0U);
  EXPECT_EQ(Look(Breaker::kOpen, "out of memory"), "redis://a is in trouble: out of memory\n") << "once more";
}

}  // namespace
}  // namespace weir
