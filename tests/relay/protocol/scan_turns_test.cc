#include "relay/protocol/scan_turns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

TEST(ScanTurns, FirstComeFirstServedWithinAnAddress) {
  ScanTurns turns;
  std::string order;
  std::vector<std::unique_ptr<ScanTurns::Place>> places;
  for (size_t i = 0; i < ScanTurns::kMostAtOnce; ++i) places.push_back(turns.TryEnter(7));
  EXPECT_EQ(turns.TryEnter(7), nullptr);
  EXPECT_NE(turns.TryEnter(8), nullptr) << "another address has turns of its own";
  auto a = turns.Enter(7, [&] { order += "a"; });
  auto b = turns.Enter(7, [&] { order += "b"; });
  auto c = turns.Enter(7, [&] { order += "c"; });
  EXPECT_EQ(turns.waiting(), 3U);
  b.reset();  // gives up
  places.pop_back();
  EXPECT_EQ(order, "a");
  a.reset();
  EXPECT_EQ(order, "ac");
  places.clear();
  c.reset();
  EXPECT_EQ(turns.waiting(), 0U);
  auto d = turns.Enter(7, [&] { order += "d"; });
  EXPECT_EQ(order, "acd") << "at once where there is a turn";
}

}  // namespace
}  // namespace weir
