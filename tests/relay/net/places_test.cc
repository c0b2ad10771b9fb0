// Clients that get a connection, and connections that give way.
#include "relay/net/places.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir {
namespace {

IpAddress Address(const std::string& text) { return boost::asio::ip::make_address(text); }
// 198.18.0.0/15 has enough of them.
IpAddress Number(uint32_t n) { return boost::asio::ip::make_address_v4(0xC612'0000 + n); }

class PlacesTest : public testing::Test {
 protected:
  static constexpr uint64_t kMost = 100;
  static constexpr uint64_t kMostOfAClient = 40;

  // Each place is heard from later than those before; one that gives way is free at once.
  Refusal Take(const IpAddress& client) {
    std::unique_ptr<TakenPlace> place;
    const Refusal refusal = places_.Take(client, &place);
    if (place != nullptr) Keep(std::move(place), client.to_string());
    return refusal;
  }
  TakenPlace* Keep(std::unique_ptr<TakenPlace> place, const std::string& name) {
    TakenPlace* const kept = place.get();
    place->Heard(TakenPlace::Time(std::chrono::seconds(++now_)));
    place->OnGiveWay([this, kept, name] {
      gone_.push_back(name);
      left_.push_back(kept);
    });
    places_of_[name].push_back(std::move(place));
    return kept;
  }
  // Takes places until it is refused.
  size_t TakeAll(const IpAddress& client) {
    size_t taken = 0;
    while (taken <= kMost && Take(client) == Refusal::kNone) ++taken;
    return taken;
  }

  Places places_{kMost, kMostOfAClient};
  std::map<std::string, std::vector<std::unique_ptr<TakenPlace>>> places_of_;
  std::vector<std::string> gone_;  // gave way
  std::vector<TakenPlace*> left_;  // likewise
  int now_ = 0;
};

TEST_F(PlacesTest, AClientHasAsManyAsItMay) {
  EXPECT_EQ(TakeAll(Address("192.0.2.1")), kMostOfAClient);
  EXPECT_EQ(Take(Address("192.0.2.1")), Refusal::kAddress);
  EXPECT_EQ(Take(Address("192.0.2.2")), Refusal::kNone);
  places_of_["192.0.2.1"].pop_back();
  EXPECT_EQ(Take(Address("192.0.2.1")), Refusal::kNone);
  EXPECT_EQ(places_.taken(), kMostOfAClient + 1);
}

TEST_F(PlacesTest, AnIpv6ClientIsANetwork) {
  EXPECT_EQ(TakeAll(Address("2001:db8::1")), kMostOfAClient);
  EXPECT_EQ(Take(Address("2001:db8::2")), Refusal::kAddress);
  EXPECT_EQ(Take(Address("2001:db8:0:1::1")), Refusal::kNone);
}

TEST_F(PlacesTest, TheLastTenthIsForClientsBelowTheirShare) {
  Places places(kMost, kMost);
  std::vector<std::unique_ptr<TakenPlace>> taken;
  const auto take = [&](const IpAddress& client) {
    std::unique_ptr<TakenPlace> place;
    const Refusal refusal = places.Take(client, &place);
    if (place != nullptr) taken.push_back(std::move(place));
    return refusal;
  };
  while (taken.size() <= kMost && take(Number(1)) == Refusal::kNone) continue;
  EXPECT_EQ(taken.size(), 90U) << "one alone has nine tenths";
  for (uint32_t n = 2; n <= 11; ++n) EXPECT_EQ(take(Number(n)), Refusal::kNone);
  EXPECT_EQ(places.taken(), kMost);
}

TEST_F(PlacesTest, HoweverManyAddressesFillItANewcomerIsLetIn) {
  for (uint32_t n = 0; n < 50; ++n) TakeAll(Number(n));
  const uint64_t full = places_.taken();
  const size_t gone = gone_.size();
  for (uint32_t n = 100; n < 120; ++n) EXPECT_EQ(Take(Number(n)), Refusal::kNone);
  EXPECT_LE(places_.taken(), kMost);
  EXPECT_EQ(gone_.size() - gone + kMost - full, 20U) << "each has one that was free, or another's";
}

TEST_F(PlacesTest, TheMostSilentOfTheLargestHolderGivesWay) {
  for (int n = 0; n < 40; ++n) ASSERT_EQ(Take(Address("192.0.2.1")), Refusal::kNone);
  for (int n = 0; n < 30; ++n) ASSERT_EQ(Take(Address("192.0.2.2")), Refusal::kNone);
  for (uint32_t n = 0; n < 30; ++n) ASSERT_EQ(Take(Number(n)), Refusal::kNone);
  ASSERT_EQ(places_.taken(), kMost);
  std::vector<std::unique_ptr<TakenPlace>>& largest = places_of_["192.0.2.1"];
  largest[0]->Heard(TakenPlace::Time(std::chrono::hours(1)));
  EXPECT_EQ(Take(Address("203.0.113.1")), Refusal::kNone);
  EXPECT_EQ(left_, std::vector<TakenPlace*>{largest[1].get()});
  EXPECT_EQ(places_.taken(), kMost) << "its place is taken by who needed it";
  largest.erase(largest.begin() + 1);
  EXPECT_EQ(places_.taken(), kMost) << "and is not free again when it has gone";
}

TEST_F(PlacesTest, RefusesAClientWithAsManyAsTheLargest) {
  for (uint32_t n = 0; n < 50; ++n)
    for (int twice = 0; twice < 2; ++twice) ASSERT_EQ(Take(Number(n)), Refusal::kNone);
  EXPECT_EQ(Take(Number(0)), Refusal::kTotal);
  EXPECT_TRUE(gone_.empty());
  for (uint32_t n = 100; n < 150; ++n) EXPECT_EQ(Take(Number(n)), Refusal::kNone);
  EXPECT_EQ(gone_.size(), 50U);
  EXPECT_EQ(Take(Number(200)), Refusal::kTotal) << "nobody has more than one";
}

TEST_F(PlacesTest, AConnectionThatCannotBeAskedYetStays) {
  std::vector<std::unique_ptr<TakenPlace>> places(kMost);
  for (uint32_t n = 0; n < kMost; ++n) ASSERT_EQ(places_.Take(Number(n / 2), &places[n]), Refusal::kNone);
  EXPECT_EQ(Take(Number(1000)), Refusal::kTotal);
}

// 65,536 clients have one address each, of one network.
TEST_F(PlacesTest, AnIpv6NetworkIsOneHolderIfPlacesAreShort) {
  size_t taken = 0;
  for (int n = 0; n < 200; ++n)
    taken += Take(Address("2001:db8:0:" + std::to_string(n) + "::1")) == Refusal::kNone ? 1 : 0;
  EXPECT_EQ(taken, 90U) << "as one address of IPv4 would have";
  for (uint32_t n = 0; n < 20; ++n) EXPECT_EQ(Take(Number(n)), Refusal::kNone);
  EXPECT_EQ(gone_.size(), 10U);
  for (const std::string& name : gone_) EXPECT_TRUE(name.starts_with("2001:db8:")) << name;
}

TEST_F(PlacesTest, WithinAFullNetworkOfIpv6TheLargestPartGivesWay) {
  for (int n = 0; n < 90; ++n)  // all in 2001:db8:1:100::/56
    ASSERT_EQ(Take(Address("2001:db8:1:1" + std::to_string(10 + n % 45) + "::1")), Refusal::kNone);
  for (uint32_t n = 0; n < 10; ++n) ASSERT_EQ(Take(Number(n)), Refusal::kNone);
  EXPECT_EQ(Take(Address("2001:db8:1:200::1")), Refusal::kNone) << "another /56 of the same /48";
  ASSERT_EQ(gone_.size(), 1U);
  EXPECT_TRUE(gone_.front().starts_with("2001:db8:1:1")) << gone_.front();
  EXPECT_EQ(Take(Address("2001:db8:1:199::1")), Refusal::kNone) << "another /64 of that /56";
  ASSERT_EQ(gone_.size(), 2U);
  EXPECT_TRUE(gone_.back().starts_with("2001:db8:1:1")) << gone_.back();
  EXPECT_EQ(Take(Address("2001:db8:1:110::9")), Refusal::kTotal) << "it has as many as the largest";
}

TEST_F(PlacesTest, ConnectionsOfAProxyCountForTheirClients) {
  std::vector<std::unique_ptr<TakenPlace>> places(kMostOfAClient + 1);
  for (std::unique_ptr<TakenPlace>& place : places) {
    ASSERT_EQ(places_.TakeUnnamed(&place), Refusal::kNone);
    EXPECT_FALSE(place->has_name());
  }
  for (size_t n = 0; n < kMostOfAClient; ++n) EXPECT_EQ(places_.Name(*places[n], Number(1)), Refusal::kNone);
  EXPECT_EQ(places_.Name(*places.back(), Number(1)), Refusal::kAddress);
  EXPECT_FALSE(places.back()->has_name());
  EXPECT_EQ(places_.Name(*places.back(), Number(2)), Refusal::kNone);
  EXPECT_EQ(places_.taken(), kMostOfAClient + 1) << "each has one place, with a name or without";
}

TEST_F(PlacesTest, ConnectionsOfAProxyDisplaceTheLargestHolderToo) {
  for (int n = 0; n < 40; ++n) ASSERT_EQ(Take(Address("192.0.2.1")), Refusal::kNone);
  for (uint32_t n = 0; n < 60; ++n) ASSERT_EQ(Take(Number(n)), Refusal::kNone);
  std::vector<std::unique_ptr<TakenPlace>> by_proxy(kMost);
  size_t taken = 0;
  while (taken < kMost && places_.TakeUnnamed(&by_proxy[taken]) == Refusal::kNone) ++taken;
  EXPECT_EQ(taken, 20U) << "those without a name have no more than the largest holder";
  EXPECT_EQ(gone_, std::vector<std::string>(20, "192.0.2.1"));
}

TEST_F(PlacesTest, LoopbackHasPlacesOfItsOwn) {
  for (uint32_t n = 0; n < kMost; ++n) ASSERT_EQ(Take(Number(n)), Refusal::kNone);
  for (size_t n = 0; n < Places::kMostOfHere; ++n) EXPECT_TRUE(Keep(places_.TakeOfHere(), "here")->is_of_here());
  EXPECT_EQ(places_.taken(), kMost);
  EXPECT_TRUE(gone_.empty());
  places_of_["here"][0]->Heard(TakenPlace::Time(std::chrono::hours(1)));
  Keep(places_.TakeOfHere(), "one more");
  EXPECT_EQ(left_, std::vector<TakenPlace*>{places_of_["here"][1].get()}) << "the most silent gives way";
}

TEST_F(PlacesTest, ListsTheHeaviestClientsAndTheOnesAskedFor) {
  for (const char* address : {"192.0.2.1", "192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2", "192.0.2.7"})
    EXPECT_EQ(Take(Address(address)), Refusal::kNone);
  const auto heaviest = places_.Heaviest(1, {GroupOf(Address("192.0.2.7")), GroupOf(Address("192.0.2.99"))});
  ASSERT_EQ(heaviest.size(), 2U);
  EXPECT_EQ(heaviest[0].address, "192.0.2.1");
  EXPECT_EQ(heaviest[0].connections, 3U);
  EXPECT_EQ(heaviest[0].group, GroupOf(Address("192.0.2.1")));
  EXPECT_EQ(heaviest[1].address, "192.0.2.7");
  const auto two = places_.Heaviest(2, {});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].address, "2001:db8::/64");
  EXPECT_TRUE(places_.Heaviest(0, {}).empty());
  const auto all = places_.Heaviest(9, {});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].address, "2001:db8::/64");
  EXPECT_EQ(all[1].connections, 2U);
}

}  // namespace
}  // namespace weir
