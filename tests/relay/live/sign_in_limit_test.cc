#include "relay/live/sign_in_limit.h"

#include <gtest/gtest.h>

#include <string>

#include "config/manual_clock.h"

namespace weir {
namespace {

using std::chrono::seconds;

class SignInLimitTest : public testing::Test {
 protected:
  ManualClock clock_{TimePoint(seconds(1000))};
  SignInLimit limit_{clock_};
};

TEST_F(SignInLimitTest, FiveAtOnceThenOneInTwelveSeconds) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(limit_.Wait("a"));
    limit_.NoteWrong("a");
  }
  EXPECT_EQ(limit_.Wait("a"), seconds(12));
  EXPECT_FALSE(limit_.Wait("b")) << "each address has its own";
  clock_.Advance(seconds(12));
  EXPECT_FALSE(limit_.Wait("a"));
  limit_.NoteWrong("a");
  EXPECT_EQ(limit_.Wait("a"), seconds(12));
  clock_.Advance(seconds(60));
  for (int i = 0; i < 4; ++i) limit_.NoteWrong("a");
  EXPECT_FALSE(limit_.Wait("a")) << "all are there again";
}

TEST_F(SignInLimitTest, RemembersSoManyAddressesAndForgetsWhoIsGoodAgain) {
  for (size_t i = 0; i < 3 * SignInLimit::kMostAddresses; ++i) limit_.NoteWrong(std::to_string(i));
  EXPECT_EQ(limit_.addresses(), SignInLimit::kMostAddresses);
  clock_.Advance(seconds(12));
  limit_.NoteWrong("one more");
  EXPECT_EQ(limit_.addresses(), 1U);
}

}  // namespace
}  // namespace weir
