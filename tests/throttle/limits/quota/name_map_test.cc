#include "throttle/limits/quota/name_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace weir {
namespace {

constexpr int kNames = 4096;
constexpr std::string_view kLongPrefix = "a-model-with-a-long-name-";

TEST(NameMap, FindsEachNameAndNoOther) {
  NameMap<int> map;
  EXPECT_EQ(map.Find("0"), nullptr);
  for (int i = 0; i < kNames; ++i) map.Set(std::to_string(i), i);
  map.Set("7", -7);
  for (int i = 0; i < kNames; ++i) {
    const int* found = map.Find(std::to_string(i));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, i == 7 ? -7 : i);
  }
  EXPECT_EQ(map.Find(std::to_string(kNames)), nullptr);
  EXPECT_EQ(map.Find(""), nullptr);
  EXPECT_EQ(map.begin()->first, "0");
  EXPECT_EQ(map.end() - map.begin(), kNames);
}

TEST(HashOfName, KnowsEveryByteAndTheLength) {
  for (size_t size = 1; size <= 40; ++size) {
    const std::string name(size, 'a');
    std::set<uint64_t> hashes = {HashOfName(name), HashOfName(name + 'a')};
    for (size_t at = 0; at < size; ++at) {
      std::string other = name;
      other[at] = 'b';
      hashes.insert(HashOfName(other));
    }
    EXPECT_EQ(hashes.size(), size + 2) << "of " << size << " bytes";
  }
}

// Names that end in a running number, behind any prefix: a map takes the lowest bits of the hash, the memory store's
// shards take others. The seed is random: among 1,500 seeds the least was 19 names in a place, and the most 121.
TEST(HashOfName, ScattersNamesThatDifferAtTheirEnd) {
  constexpr size_t kPlaces = 64;
  for (size_t size = 0; size <= kLongPrefix.size(); ++size) {
    for (const int shift : {0, 6, 32}) {
      std::array<int, kPlaces> names{};
      for (int i = 0; i < kNames; ++i) {
        const std::string name = std::string(kLongPrefix.substr(0, size)) + std::to_string(i);
        ++names[HashOfName(name) >> shift & (kPlaces - 1)];
      }
      const int even = kNames / static_cast<int>(kPlaces);
      EXPECT_LT(std::ranges::max(names), 3 * even) << size << " bytes before the number, bits from " << shift;
      EXPECT_GT(std::ranges::min(names), even / 6) << size << " bytes before the number, bits from " << shift;
    }
  }
}

}  // namespace
}  // namespace weir
