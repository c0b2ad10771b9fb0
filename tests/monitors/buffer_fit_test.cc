#include "monitors/buffer_fit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;

TEST(BufferFit, MergesAsManyAsWaitInTheLastEighth) {
  struct Case {
    uint64_t limit_mebibytes;
    size_t families;
    FamilyBuffers each;
    int most;
  };
  constexpr FamilyBuffers kTwo{.buffer_bytes = 4 * kMebibyte, .wanted_per_flush = 2};
  constexpr FamilyBuffers kFour{.buffer_bytes = 4 * kMebibyte, .wanted_per_flush = 4};
  constexpr FamilyBuffers kGiven{.buffer_bytes = 4 * kMebibyte, .given_per_flush = 2, .wanted_per_flush = 2};
  constexpr FamilyBuffers kHistory{
      .buffer_bytes = 4 * kMebibyte, .wanted_per_flush = 2, .history_bytes = 4 * kMebibyte};
  for (const Case& c : {Case{12, 8, kTwo, 1}, Case{255, 8, kTwo, 1}, Case{256, 8, kTwo, 2}, Case{32, 1, kTwo, 2},
                        Case{31, 1, kTwo, 1}, Case{32, 1, kFour, 2}, Case{64, 1, kFour, 3}, Case{96, 1, kFour, 4},
                        Case{1024, 8, kFour, 4}, Case{64, 1, kHistory, 2}, Case{63, 1, kHistory, 1},
                        Case{8, 1, kGiven, 1}, Case{32, 1, kGiven, 2}, Case{12, 0, kTwo, 1}}) {
    const Result<BufferFit> fit =
        FitBuffers(c.limit_mebibytes * kMebibyte, std::vector<FamilyBuffers>(c.families, c.each));
    ASSERT_TRUE(fit.ok()) << fit.status().message();
    EXPECT_EQ(fit.value().most_per_flush, c.most) << c.families << " families in " << c.limit_mebibytes << " MiB";
  }
}

TEST(BufferFit, OnlyTheFamiliesThatMergeMoreMergeFewer) {
  const std::vector<FamilyBuffers> families{{.buffer_bytes = 2 * kMebibyte, .wanted_per_flush = 2},
                                            {.buffer_bytes = 2 * kMebibyte, .wanted_per_flush = 5}};
  EXPECT_EQ(FitBuffers(48 * kMebibyte, families).value().most_per_flush, 3);
}

TEST(BufferFit, TheBlocksOfAllFamiliesTakeASixteenthInStepsOfFourKibibytes) {
  const std::pair<size_t, uint64_t> cases[] = {{1, 768 << 10}, {8, 96 << 10}, {28, 24 << 10}, {1000, 4 << 10}};
  for (const auto& [families, block_bytes] : cases)
    EXPECT_EQ(FitBuffers(12 * kMebibyte, std::vector<FamilyBuffers>(families)).value().block_bytes, block_bytes)
        << families;
}

TEST(BufferFit, WhatTheProgramKeepsMayTakeHalfAtMost) {
  const std::vector<FamilyBuffers> families(
      8, {.buffer_bytes = kMebibyte, .given_per_flush = 2, .history_bytes = kMebibyte});
  EXPECT_TRUE(FitBuffers(32 * kMebibyte, families).ok());
  const Status refused = FitBuffers(12 * kMebibyte, families).status();
  for (const char* part : {"8 column families may keep 8 MiB of full write buffers", "8 MiB of flushed ones as history",
                           "WriteBufferManager of 12 MiB", "give the manager at least 32 MiB"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << " in: " << refused.message();
  }
}

}  // namespace
}  // namespace weir
