// The record of ended reservations, for several models that share a bound.
#include "throttle/limits/quota/ended_holds.h"

#include <gtest/gtest.h>

#include <deque>

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};
constexpr size_t kRoom = 30;

ReservationToken TokenOf(size_t model, size_t number) { return {model, number}; }

class EndedHoldsTest : public testing::Test {
 protected:
  EndedHolds& NewModel() { return models_.emplace_back(100, bound_); }
  void End(size_t model, size_t number) {
    models_[model].Add(TokenOf(model, number), {.kept_until = kNow + std::chrono::seconds(1 + number)});
    Forget(model);
  }
  size_t Forget(size_t model) {
    size_t forgotten = 0;
    while (models_[model].TakeForgotten(kNow)) ++forgotten;
    return forgotten;
  }
  bool Knows(size_t model, size_t number) { return models_[model].Find(TokenOf(model, number), kNow) != nullptr; }

  EndsBound bound_{kRoom};
  std::deque<EndedHolds> models_;
};

TEST_F(EndedHoldsTest, AModelKeepsItsNewestWhenOthersFillTheRoom) {
  for (size_t model = 0; model < 3; ++model) {
    NewModel();
    for (size_t n = 0; n < 10; ++n) End(model, n);
  }
  NewModel();
  End(3, 0);
  EXPECT_TRUE(Knows(3, 0));
  EXPECT_EQ(Forget(0), 1U) << "of more than a fourth, until there is room";
  EXPECT_FALSE(Knows(0, 0));
  EXPECT_TRUE(Knows(0, 9));
}

TEST_F(EndedHoldsTest, AModelAloneHasTheWholeRoom) {
  NewModel();
  for (size_t n = 0; n < kRoom + 5; ++n) End(0, n);
  EXPECT_FALSE(Knows(0, 4));
  EXPECT_TRUE(Knows(0, 5));
  EXPECT_TRUE(Knows(0, kRoom + 4));
}

// A reservation is made, refunded and made again with one idempotency key.
TEST_F(EndedHoldsTest, AnEndThatIsReplacedAgainAndAgainTakesNoMoreMemory) {
  NewModel();
  for (size_t n = 0; n < 10'000; ++n) models_[0].Add(TokenOf(0, 0), {.kept_until = kNow + std::chrono::seconds(1 + n)});
  EXPECT_LE(models_[0].due_entries(), 70U);
  EXPECT_EQ(models_[0].Find(TokenOf(0, 0), kNow)->kept_until, kNow + std::chrono::seconds(10'000));
  EXPECT_TRUE(models_[0].TakeForgotten(kNow + std::chrono::seconds(10'000)));
  EXPECT_TRUE(models_[0].empty());
}

TEST_F(EndedHoldsTest, TheShareOfAModelThatForgetsAllIsFreeAgain) {
  NewModel();
  NewModel();
  for (size_t n = 0; n < kRoom / 2; ++n) End(0, n);
  for (size_t n = 0; n < kRoom / 2; ++n) End(1, n);
  End(1, kRoom);
  EXPECT_FALSE(Knows(1, 0)) << "it has more than half";
  while (models_[0].TakeForgotten(kNow + std::chrono::hours(1))) continue;
  for (size_t n = 0; n < kRoom / 2; ++n) End(1, kRoom + 1 + n);
  EXPECT_TRUE(Knows(1, 1));
}

}  // namespace
}  // namespace weir
