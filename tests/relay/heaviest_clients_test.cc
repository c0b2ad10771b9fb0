#include "relay/heaviest_clients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace weir {
namespace {

TEST(HeaviestClients, HaveTheHeaviestByEachMeasureHoweverManyThereAre) {
  using Address = HeaviestClients::Address;
  for (const size_t others : {size_t{0}, HeaviestClients::kMost - 3, HeaviestClients::kMost, size_t{100}}) {
    std::vector<Address> addresses = {{.address = "connections", .connections = 9},
                                      {.address = "memory", .held_bytes = 9'000},
                                      {.address = "work", .work = 9e6}};
    for (size_t n = 0; n < others; ++n)
      addresses.push_back({.address = std::to_string(n), .work = 8e6, .held_bytes = 8'000, .connections = 8});
    KeepHeaviest(&addresses);
    EXPECT_EQ(addresses.size(), std::min(others + 3, HeaviestClients::kMost));
    for (const char* heaviest : {"work", "memory", "connections"})
      EXPECT_EQ(std::ranges::count(addresses, heaviest, &Address::address), 1) << heaviest << " of " << others;
    EXPECT_TRUE(std::ranges::is_sorted(addresses, std::greater<>(), &Address::work));
    EXPECT_EQ(addresses.front().address, "work");
  }
}

}  // namespace
}  // namespace weir
