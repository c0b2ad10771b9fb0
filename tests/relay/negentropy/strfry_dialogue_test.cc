// Dialogues that were recorded with the program library that strfry uses, on both sides. Its sync sends frames of up to
// 60,000 bytes, and its relay of up to 500,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "config/text/hex.h"
#include "relay/negentropy/reconciler.h"
#include "tests/relay/negentropy/sync_items.h"

namespace weir {
namespace {

constexpr size_t kNoBound = 64 << 20;

// Returns the items below `count` without the multiples of `missing`.
std::vector<SyncItem> ItemsWithout(uint64_t count, uint64_t missing) {
  std::vector<SyncItem> items;
  for (uint64_t number = 0; number < count; ++number)
    if (number % missing != 0) items.push_back(ItemOf(number));
  return items;
}

std::string AnswerTo(const SyncSet& set, const std::string& message, SyncDifferences* found = nullptr) {
  Reconciler side(set, message, kNoBound, found);
  const Result<bool> done = side.Next(UINT64_MAX / 2);
  EXPECT_TRUE(done.ok() && done.value()) << done.status().message();
  return side.Take();
}

std::string Digest(const std::string& message) {
  const Bytes32 hash = Sha256(message);
  return std::to_string(message.size()) + " " + ToHex(hash.data(), 8);
}

TEST(StrfryDialogue, EachSideSaysTheSameBytes) {
  const struct {
    uint64_t count;
    uint64_t missing_here;
    uint64_t missing_there;
    std::vector<std::string> digests;  // the client says the first message, the relay the second, and so on
  } cases[] = {
      {300, 3, 5, {"313 99cdf3eaed89b461", "7753 faef931a0eecf092"}},
      {10'000,
       101,
       97,
       {"330 5be9ddab2a9470b8", "5030 db5fa4c031c38afd", "50936 3267cd8dfa5f9b68", "17096 74c2f8ee375c69d7"}},
      {10'000,
       7,
       11,
       {"331 a5f5194a3311d4b4", "5031 4bd3bf5da4131494", "80355 5f2ae02981e3732b", "150439 19f9f7166379819d"}},
      {100'000,
       10'001,
       9'973,
       {"334 266fe198d08b3945", "3669 d81a07a32801209d", "4141 cfd54188d57d11ac", "15020 8155e2e9209d8899"}},
  };
  for (const auto& [count, missing_here, missing_there, digests] : cases) {
    const SyncSet here = SealedSetOf(ItemsWithout(count, missing_here));
    const SyncSet there = SealedSetOf(ItemsWithout(count, missing_there));
    std::vector<std::string> said;
    SyncDifferences found;
    for (std::string message = Reconciler::FirstMessage(here, kNoBound); !message.empty();) {
      said.push_back(Digest(message));
      const std::string answer = AnswerTo(there, message);
      said.push_back(Digest(answer));
      message = AnswerTo(here, answer, &found);
    }
    EXPECT_EQ(said, digests) << count;
  }
}

// strfry cuts frames at other places than weir does, so here each side only has to understand what is cut.
TEST(StrfryDialogue, FramesThatWereCutAreUnderstood) {
  const std::vector<SyncItem> client_items = ItemsWithout(300, 3);
  const SyncSet client = SealedSetOf(client_items);
  const SyncSet relay = SealedSetOf(ItemsWithout(300, 5));
  std::ifstream file(WEIR_SOURCE_DIR "/tests/relay/negentropy/data/strfry_dialogue.txt");
  SyncDifferences recorded;
  SyncDifferences own;
  size_t rounds = 0;
  for (std::string message, answer; file >> message >> answer; ++rounds) {
    AnswerTo(client, BytesOfHex(answer), &recorded);
    AnswerTo(client, AnswerTo(relay, BytesOfHex(message)), &own);
  }
  EXPECT_EQ(rounds, 3U);
  std::vector<EventId> have;
  std::vector<EventId> need;
  for (uint64_t number = 0; number < 300; ++number) {
    if (number % 3 != 0 && number % 5 == 0) have.push_back(ItemOf(number).id);
    if (number % 3 == 0 && number % 5 != 0) need.push_back(ItemOf(number).id);
  }
  const auto ids = [](std::vector<EventId> list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  };
  for (const SyncDifferences* found : {&recorded, &own}) {
    EXPECT_EQ(ids(found->have), ids(have));
    EXPECT_EQ(ids(found->need), ids(need));
  }
}

}  // namespace
}  // namespace weir
