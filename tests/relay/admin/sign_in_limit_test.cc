#include "relay/admin/sign_in_limit.h"

#include <gtest/gtest.h>

#include "config/manual_clock.h"

namespace weir {
namespace {

using std::chrono::seconds;

constexpr uint64_t kClient = 7;

class SignInLimitTest : public testing::Test {
 protected:
  ManualClock clock_{TimePoint(seconds(1000))};
  SignInLimit limit_{clock_};
};

TEST_F(SignInLimitTest, FiveAtOnceThenOneInTwelveSeconds) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(limit_.Wait(kClient));
    limit_.NoteWrong(kClient);
  }
  EXPECT_EQ(limit_.Wait(kClient), seconds(12));
  EXPECT_FALSE(limit_.Wait(kClient + 1)) << "each client has its own";
  clock_.Advance(seconds(12));
  EXPECT_FALSE(limit_.Wait(kClient));
  limit_.NoteWrong(kClient);
  EXPECT_EQ(limit_.Wait(kClient), seconds(12));
  clock_.Advance(seconds(60));
  for (int i = 0; i < 4; ++i) limit_.NoteWrong(kClient);
  EXPECT_FALSE(limit_.Wait(kClient)) << "all are there again";
}

TEST_F(SignInLimitTest, BoundsTheClientsItRemembersAndForgetsThemInTime) {
  for (size_t i = 0; i < 3 * SignInLimit::kMostClients; ++i) limit_.NoteWrong(i);
  EXPECT_EQ(limit_.clients(), SignInLimit::kMostClients);
  clock_.Advance(seconds(12));
  limit_.NoteWrong(1);
  EXPECT_EQ(limit_.clients(), 1U);
}

}  // namespace
}  // namespace weir
