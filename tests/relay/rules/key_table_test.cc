// Sets of keys that change, beside a std::set, and while other threads look keys up.
#include "relay/rules/key_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "relay/rules/shared_key_set.h"

namespace weir {
namespace {

// KeyOf(0) has only zeros.
Bytes32 KeyOf(uint32_t number) {
  Bytes32 key{};
  std::memcpy(key.data() + 12, &number, sizeof number);
  return key;
}

// The smallest table has 16 places, so of 14 keys most stand behind others, also around the end of the table.
RC_GTEST_PROP(KeyTableProperty, HasWhatWasAddedAndNotRemoved, ()) {
  const auto changes = *rc::gen::container<std::vector<std::pair<bool, uint32_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange(uint32_t{0}, uint32_t{20})));
  KeyTable table(14);
  SharedKeySet set;
  std::set<uint32_t> reference;
  uint64_t made = 0;
  for (const auto& [add, number] : changes) {
    const bool expected = add ? reference.size() < 14 && reference.insert(number).second : reference.erase(number) > 0;
    made += expected ? 1 : 0;
    if (add && !table.full()) RC_ASSERT(table.Add(KeyOf(number)) == expected);
    if (!add) RC_ASSERT(table.Remove(KeyOf(number)) == expected);
    if (add && reference.contains(number)) set.Add(KeyOf(number));
    if (!add) set.Remove(KeyOf(number));
    RC_ASSERT(table.full() == (reference.size() == 14));
    RC_ASSERT(table.size() == reference.size());
    RC_ASSERT(set.size() == reference.size());
    RC_ASSERT(set.changes() == made);
    for (uint32_t n = 0; n < 20; ++n) {
      RC_ASSERT(table.Has(KeyOf(n)) == reference.contains(n));
      RC_ASSERT(set.Has(KeyOf(n)) == reference.contains(n));
    }
  }
}

TEST(KeyTableTest, HasRoomForAsManyKeysAsItWasMadeFor) {
  for (const uint32_t keys : {0U, 1U, 14U, 15U, 28U, 29U, 1000U, 114'688U, 114'689U}) {
    KeyTable table(keys);
    for (uint32_t n = 0; n < keys; ++n) {
      ASSERT_FALSE(table.full()) << keys;
      ASSERT_TRUE(table.Add(KeyOf(n)));
    }
    EXPECT_EQ(table.size(), keys);
    EXPECT_FALSE(table.Has(KeyOf(keys)));
  }
}

TEST(SharedKeySetTest, KnowsEachKeyThatIsInIt) {
  SharedKeySet set;
  for (uint32_t n = 0; n < 2000; ++n) set.Add(KeyOf(n));
  for (uint32_t n = 0; n < 2000; n += 2) set.Remove(KeyOf(n));
  set.Remove(KeyOf(5000));
  set.Add(KeyOf(1));
  EXPECT_EQ(set.size(), 1000U);
  EXPECT_EQ(set.changes(), 3000U);
  for (uint32_t n = 0; n < 2000; ++n) EXPECT_EQ(set.Has(KeyOf(n)), n % 2 == 1);
}

// Keys that stay are found, and keys that were never added are not, while others come, move and go in a table that is
// nearly full, and while the table is replaced.
TEST(SharedKeySetTest, MayChangeWhileOthersLook) {
  constexpr uint32_t kStay = 800;
  SharedKeySet set;
  for (uint32_t n = 0; n < kStay; ++n) set.Add(KeyOf(n));
  std::atomic<uint64_t> wrong = 0;
  {
    std::vector<std::jthread> readers;
    for (uint32_t reader = 0; reader < 2; ++reader)
      readers.emplace_back([&, reader](const std::stop_token& stop) {
        for (uint32_t n = reader; !stop.stop_requested(); n = (n + 7) % kStay) {
          if (!set.Has(KeyOf(n))) ++wrong;
          if (set.Has(KeyOf(n + 1'000'000))) ++wrong;
        }
      });
    for (uint32_t round = 0; round < 50; ++round) {
      for (uint32_t n = kStay; n < kStay + 90 + round * 20; ++n) set.Add(KeyOf(n));
      for (uint32_t n = kStay; n < kStay + 90 + round * 20; ++n) set.Remove(KeyOf(n));
    }
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(set.size(), kStay);
}

}  // namespace
}  // namespace weir
