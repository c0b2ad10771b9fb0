#include "relay/negentropy/sync_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <stdexcept>

#include "tests/fixtures/must.h"
#include "tests/relay/negentropy/sync_items.h"

namespace weir {
namespace {

std::string HexOf(const Fingerprint& fingerprint) { return ToHex(fingerprint.data(), fingerprint.size()); }

// The figures of the protocol's author's program.
TEST(SyncSet, GivesTheFingerprintsOfOtherPrograms) {
  const SyncSet set = SetOfNumbers(0, 1000);
  EXPECT_EQ(HexOf(set.FingerprintOf(0, 1000)), "2d3e39a6431f77e4b637149e492c64dd");
  EXPECT_EQ(HexOf(set.FingerprintOf(0, 0)), "7f9c9e31ac8256ca2f258583df262dbc");
  EXPECT_EQ(HexOf(set.FingerprintOf(10, 300)), "5904e17e43d192ac4f5b64e071fa707a");
}

TEST(SyncSet, AnEmptySetHasTheFingerprintOfNoItems) {
  const SyncSet set = SealedSetOf({});
  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(set.FirstAtOrBehind(kInfinity, 0), 0U);
  EXPECT_EQ(HexOf(set.FingerprintOf(0, 0)), "7f9c9e31ac8256ca2f258583df262dbc");
}

// Sums that carry over all 256 bits, and back.
TEST(SyncSet, SumsWrapAround) {
  std::vector<SyncItem> items;
  for (uint64_t n = 0; n < 600; ++n) {
    SyncItem item{.created_at = n};
    item.id.fill(0xff);
    item.id[0] = static_cast<uint8_t>(n);
    items.push_back(item);
  }
  const SyncSet set = SealedSetOf(items);
  EXPECT_EQ(set.FingerprintOf(0, 600), SlowFingerprint(items));
  EXPECT_EQ(set.FingerprintOf(300, 301), SlowFingerprint({items[300]}));
}

RC_GTEST_PROP(SyncSetProperty, AnyRangeIsWhatASortedListHas, ()) {
  const auto count = *rc::gen::weightedElement<size_t>({{1, 0}, {4, 20}, {4, 255}, {4, 256}, {4, 257}, {4, 1500}});
  const auto seconds = *rc::gen::element<uint64_t>(1, 3, 1000);
  const auto seed = *rc::gen::arbitrary<uint32_t>();
  std::vector<SyncItem> items;
  for (uint64_t n = 0; n < count; ++n) {
    const Bytes32 id = Sha256(std::to_string(seed) + " " + std::to_string(n));
    items.push_back({.created_at = id[0] % seconds, .id = id});
  }
  std::sort(items.begin(), items.end(), [](const SyncItem& a, const SyncItem& b) {
    return a.created_at != b.created_at ? a.created_at > b.created_at : a.id < b.id;
  });
  SyncSet set;
  for (const SyncItem& item : items) set.Add(item);
  const auto steps = *rc::gen::inRange<size_t>(SyncSet::kBlockItems + 1, 5000);
  size_t calls = 0;
  while (!set.Seal(steps)) Must(++calls <= 3 * count, "sealing ends");
  std::sort(items.begin(), items.end());
  Must(set.size() == items.size());
  for (size_t i = 0; i < items.size(); ++i) Must(set[i] == items[i], "order");
  for (int n = 0; n < 10; ++n) {
    const auto begin = *rc::gen::inRange<size_t>(0, count + 1);
    const auto end = *rc::gen::inRange<size_t>(begin, count + 1);
    const std::vector<SyncItem> range(items.begin() + static_cast<ptrdiff_t>(begin),
                                      items.begin() + static_cast<ptrdiff_t>(end));
    Must(set.FingerprintOf(begin, end) == SlowFingerprint(range), "fingerprint");
    if (end == count) continue;
    Must(set.FirstAtOrBehind(items[end], begin) == end, "the place of an item");
    SyncItem before = items[end];
    before.id[31] ^= 1;
    const auto place = std::lower_bound(items.begin(), items.end(), before) - items.begin();
    Must(set.FirstAtOrBehind(before, 0) == static_cast<size_t>(place), "a place between items");
  }
}

TEST(SyncSet, RefusesItemsOutOfOrder) {
  SyncSet set;
  const SyncItem item{.created_at = 5, .id = {2}};
  set.Add(item);
  EXPECT_THROW(set.Add(item), std::logic_error) << "twice";
  EXPECT_THROW(set.Add({.created_at = 5, .id = {1}}), std::logic_error);
  EXPECT_THROW(set.Add({.created_at = 6, .id = {9}}), std::logic_error);
  EXPECT_THROW(SyncSet().Add(kInfinity), std::logic_error);
  set.Add({.created_at = 5, .id = {3}});
  EXPECT_TRUE(set.Seal());
  EXPECT_THROW(set.Add({.created_at = 1, .id = {1}}), std::logic_error) << "it is sealed";
}

TEST(SyncSet, AnItemTakesFortyOneBytesAtMost) {
  EXPECT_LE(SetOfNumbers(0, 4 * SyncSet::kBlockItems).bytes(), 4 * SyncSet::kBlockItems * SyncSet::kItemBytes);
  EXPECT_EQ(SyncSet().bytes(), 0U);
}

}  // namespace
}  // namespace weir
