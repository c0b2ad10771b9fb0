#include "config/birth_process.h"

#include <gtest/gtest.h>

#include "tests/fixtures/own_process.h"

namespace weir {
namespace {

TEST(BirthProcessTest, OnlyAChildOfTheProcessIsForked) {
  const BirthProcess here;
  EXPECT_FALSE(here.IsForked());
  EXPECT_EQ(CodeOfForkedChild([&here] {
              EXPECT_TRUE(here.IsForked());
              const BirthProcess child;
              EXPECT_FALSE(child.IsForked()) << "it was made in the child";
              EXPECT_EQ(CodeOfForkedChild([&child] { EXPECT_TRUE(child.IsForked()); }), 0);
            }),
            0);
  EXPECT_FALSE(here.IsForked()) << "the parent stays what it is";
}

}  // namespace
}  // namespace weir
