#include "relay/account/ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace weir {
namespace {

constexpr uint64_t kAlice = 1;
constexpr uint64_t kBob = 2;

TEST(Ledger, ConnectionsOfOneAddressShareItsBound) {
  Ledger ledger({.address_bytes = 100});
  const auto first = ledger.Open(kAlice);
  const auto second = ledger.Open(kAlice);
  EXPECT_TRUE(first->TryTake(60));
  EXPECT_FALSE(second->TryTake(41));
  EXPECT_EQ(second->bytes(), 0U);
  EXPECT_TRUE(second->TryTake(40));
  EXPECT_EQ(first->address_bytes(), 100U);
  EXPECT_TRUE(ledger.Open(kBob)->TryTake(100)) << "somebody else has a bound of his own";
}

TEST(Ledger, TheTotalAlwaysHasRoomForANewAddress) {
  Ledger ledger({.total_bytes = 1000});
  std::vector<std::shared_ptr<Account>> accounts;
  for (uint64_t address = 0; address < 20; ++address) {
    accounts.push_back(ledger.Open(address));
    while (accounts.back()->TryTake(1)) ASSERT_LE(ledger.bytes(), 1000U);
  }
  EXPECT_EQ(accounts[0]->bytes(), 500U) << "alone, as much as is left for others";
  EXPECT_LT(ledger.bytes(), 1000U);
  for (const auto& account : accounts) account->GiveBack(account->bytes());
  for (bool took = true; took;) {
    took = false;
    for (const auto& account : accounts) took = account->TryTake(1) || took;
    ASSERT_LE(ledger.bytes(), 1000U);
  }
  for (const auto& account : accounts) EXPECT_NEAR(static_cast<double>(account->bytes()), 1000.0 / 21, 1);
  EXPECT_TRUE(ledger.Open(20)->TryTake(20)) << "who comes next has half of what is left";
}

TEST(Ledger, NoAddressCanTakeTheMinimumOfAnother) {
  Ledger ledger({.address_bytes = 500, .total_bytes = 100, .always_bytes = 10});
  const auto heavy = ledger.Open(kAlice);
  heavy->Take(1000);
  const auto light = ledger.Open(kBob);
  EXPECT_TRUE(light->TryTake(10));
  EXPECT_FALSE(light->TryTake(1));
  EXPECT_FALSE(heavy->TryTake(1));
  ledger.BoundTotal(10'000);
  EXPECT_TRUE(light->TryTake(1));
}

TEST(Ledger, NotifiesAWaiterOnceWhenThereIsRoom) {
  Ledger ledger({.address_bytes = 100});
  const auto alice = ledger.Open(kAlice);
  const auto bob = ledger.Open(kBob);
  alice->Take(90);
  bob->Take(100);
  int told_alice = 0;
  int told_bob = 0;
  alice->WhenRoom(20, [&] { ++told_alice; });
  bob->WhenRoom(50, [&] { ++told_bob; });
  bob->GiveBack(40);
  EXPECT_EQ(told_alice + told_bob, 0) << "there is not enough for either";
  bob->GiveBack(10);
  EXPECT_EQ(told_bob, 1);
  alice->GiveBack(10);
  bob->GiveBack(10);
  EXPECT_EQ(told_alice, 1);
  EXPECT_EQ(told_bob, 1);
}

TEST(Ledger, AClosedAccountWaitsForNothing) {
  Ledger ledger({.address_bytes = 100});
  const auto stays = ledger.Open(kAlice);
  stays->Take(100);
  int told = 0;
  ledger.Open(kAlice)->WhenRoom(1, [&] { ++told; });
  stays->GiveBack(100);
  EXPECT_EQ(told, 0);
}

TEST(Ledger, OnlyOwnBytesCountAsTheProgramsMemory) {
  int64_t own = 0;
  int64_t waiting = 0;
  Ledger ledger({}, [&](int64_t bytes, OwnUse use) { (use == OwnUse::kWaiting ? waiting : own) += bytes; });
  const auto account = ledger.Open(kAlice);
  account->Take(10);
  account->Take(5, Memory::kShared);
  account->Take(3, Memory::kWaiting);
  EXPECT_EQ(own, 10);
  EXPECT_EQ(waiting, 3) << "which is told apart";
  EXPECT_EQ(account->bytes(), 18U);
  EXPECT_EQ(ledger.bytes(), 18U);
  account->GiveBack(10);
  account->GiveBack(5, Memory::kShared);
  account->GiveBack(3, Memory::kWaiting);
  EXPECT_EQ(own, 0);
  EXPECT_EQ(waiting, 0);
  EXPECT_EQ(ledger.bytes(), 0U);
}

TEST(Ledger, TheLastHolderGivesHeldBytesBackOnce) {
  Ledger ledger({});
  const auto account = ledger.Open(kAlice);
  {
    HeldBytes held(account, 10);
    HeldBytes moved = std::move(held);
    EXPECT_EQ(moved.bytes(), 10U);
    HeldBytes other(account, 3);
    other = std::move(moved);
    EXPECT_EQ(other.bytes(), 10U);
    EXPECT_EQ(account->bytes(), 13U) << "what was swapped out lives on in what was moved from";
  }
  EXPECT_EQ(account->bytes(), 0U);
}

TEST(Ledger, AsksTheHeaviestAddressFromItsLargestAccountOn) {
  Ledger ledger({});
  std::string asked;
  const auto a1 = ledger.Open(kAlice, [&] { asked += "a1 "; });
  const auto a2 = ledger.Open(kAlice, [&] { asked += "a2 "; });
  const auto a3 = ledger.Open(kAlice, [&] { asked += "a3 "; });
  const auto bob = ledger.Open(kBob, [&] { asked += "bob "; });
  a1->Take(30);
  a2->Take(40);
  a3->Take(10);
  bob->Take(50);  // more than any of Alice's, less than all of them
  EXPECT_EQ(ledger.heaviest_bytes(), 80U);
  EXPECT_EQ(ledger.AskHeaviest(60), 70U);
  EXPECT_EQ(asked, "a2 a1 ");
}

TEST(Ledger, AnAddressIsForgottenWithItsLastAccount) {
  Ledger ledger({});
  auto account = ledger.Open(kAlice, [] { FAIL() << "it is closed"; });
  account->Take(7);
  account->GiveBack(7);
  account.reset();
  EXPECT_EQ(ledger.heaviest_bytes(), 0U);
  EXPECT_EQ(ledger.AskHeaviest(1), 0U);
}

TEST(Ledger, BytesAreTriedAndHeldInOne) {
  Ledger ledger({.address_bytes = 100});
  const auto account = ledger.Open(kAlice);
  EXPECT_FALSE(HeldBytes::Try(account, 101).has_value());
  {
    std::optional<HeldBytes> held = HeldBytes::Try(account, 60);
    ASSERT_TRUE(held.has_value());
    EXPECT_FALSE(held->TryAdd(41));
    EXPECT_TRUE(held->TryAdd(40));
    EXPECT_EQ(account->bytes(), 100U);
  }
  EXPECT_EQ(ledger.bytes(), 0U);
}

TEST(Ledger, AnAccountBesideIsOfTheSameAddressAndAskedByItself) {
  Ledger ledger({.address_bytes = 100});
  const auto account = ledger.Open(kAlice);
  bool asked = false;
  const auto beside = account->OpenBeside([&asked] { asked = true; });
  EXPECT_TRUE(beside->TryTake(60));
  EXPECT_FALSE(account->TryTake(41));
  EXPECT_EQ(ledger.AskHeaviest(1), 60U);
  EXPECT_TRUE(asked);
}

TEST(Ledger, ListsTheHeaviestAddresses) {
  Ledger ledger({});
  const auto a = ledger.Open(1);
  const auto b = ledger.Open(2);
  const auto b_too = ledger.Open(2);
  const auto c = ledger.Open(3);
  const auto nothing = ledger.Open(4);
  a->Take(10);
  b->Take(6);
  b_too->Take(6);
  c->Take(1);
  const auto holders = ledger.Heaviest(2);
  ASSERT_EQ(holders.size(), 2U);
  EXPECT_EQ(holders[0].address, 2U);
  EXPECT_EQ(holders[0].bytes, 12U);
  EXPECT_EQ(holders[1].address, 1U);
  EXPECT_EQ(ledger.Heaviest(9).size(), 3U) << "who holds nothing is not shown";
}

}  // namespace
}  // namespace weir
