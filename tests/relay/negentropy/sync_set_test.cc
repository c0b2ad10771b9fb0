#include "relay/negentropy/sync_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <set>
#include <stdexcept>

#include "relay/negentropy/reconciler.h"
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
  const auto order = *rc::gen::inRange(0, 3);
  if (order == 1) std::sort(items.begin(), items.end());
  if (order == 2) std::sort(items.begin(), items.end(), std::greater());
  SyncSet set;
  for (const SyncItem& item : items) set.Add(item);
  const auto steps = *rc::gen::inRange<size_t>(1, 5000);
  size_t calls = 0;
  while (!set.Seal(steps)) Must(++calls <= 100 * count, "sealing ends");
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

TEST(SyncSet, RefusesItemsThatCannotBeInIt) {
  SyncSet set;
  const SyncItem item{.created_at = 5, .id = {2}};
  set.Add(item);
  EXPECT_THROW(set.Add(kInfinity), std::logic_error);
  set.Add({.created_at = 5, .id = {1}});
  EXPECT_TRUE(set.Seal());
  EXPECT_THROW(set.Add({.created_at = 1, .id = {1}}), std::logic_error) << "it is sealed";
}

TEST(SyncSet, RefusesAnItemTwice) {
  for (const uint64_t others : {0, 10, 5000}) {
    SyncSet set;
    for (uint64_t n = 0; n < others; ++n) set.Add(ItemOf(n));
    set.Add(ItemOf(others / 2));
    set.Add(ItemOf(others / 2));
    EXPECT_THROW(set.Seal(), std::logic_error) << others;
  }
  SyncSet same;
  for (int n = 0; n < 1000; ++n) same.Add(ItemOf(1));
  EXPECT_THROW(same.Seal(), std::logic_error);
}

TEST(SyncSet, APartIsASetOfItsOwn) {
  const SyncSet set = SetOfNumbers(0, 3000);  // three in a second, from 1'700'000'000 on
  const SyncSet middle = SetOfNumbers(300, 1500);
  const SyncPart part(set, 1'700'000'100, 1'700'000'499);
  ASSERT_EQ(part.size(), middle.size());
  for (size_t i = 0; i < middle.size(); ++i) ASSERT_EQ(part[i], middle[i]);
  EXPECT_EQ(part.FingerprintOf(0, 1200), middle.FingerprintOf(0, 1200));
  EXPECT_EQ(part.FingerprintOf(17, 600), middle.FingerprintOf(17, 600));
  EXPECT_EQ(part.FirstAtOrBehind(kInfinity, 0), 1200U);
  EXPECT_EQ(part.FirstAtOrBehind(middle[700], 20), 700U);
  EXPECT_EQ(SyncPart(set, 0, UINT64_MAX).size(), 3000U);
  EXPECT_EQ(SyncPart(set, 1'800'000'000, UINT64_MAX).size(), 0U);
  EXPECT_EQ(Reconciler::FirstMessage(part, 10'000), Reconciler::FirstMessage(middle, 10'000));
}

TEST(SyncSet, AnItemTakesFortyOneBytesAtMost) {
  EXPECT_LE(SetOfNumbers(0, 4 * SyncSet::kBlockItems).bytes(), 4 * SyncSet::kBlockItems * SyncSet::kItemBytes);
  EXPECT_EQ(SyncSet().bytes(), 0U);
}

}  // namespace
}  // namespace weir
