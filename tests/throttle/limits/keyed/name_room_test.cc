#include "throttle/limits/keyed/name_room.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr size_t kRoom = 10'000'000;
constexpr size_t kName = 100;

size_t Fill(NameRoom* room, uint16_t party) {
  size_t names = 0;
  while (names <= kRoom / kName && room->Take(party, kName)) ++names;
  return names;
}

TEST(NameRoom, IsUsableWithoutAPartyUpToItsLastByte) {
  NameRoom room(1, kRoom + 1);
  EXPECT_EQ(Fill(&room, NameRoom::kNoParty), kRoom / kName);
  EXPECT_TRUE(room.Take(NameRoom::kNoParty, 1));
  EXPECT_FALSE(room.Take(NameRoom::kNoParty, 1));
  EXPECT_EQ(room.names(), kRoom / kName + 1);
}

TEST(NameRoom, LeavesSomeForTheNextPartyHoweverManyFillIt) {
  NameRoom room(kRoom / kName, kName);
  EXPECT_EQ(Fill(&room, 0), kRoom / kName * 3 / 4);
  for (uint16_t party = 1; party < 100; ++party) EXPECT_GT(Fill(&room, party), 50U) << party;
  EXPECT_FALSE(room.HasRoom(0, 1));
  EXPECT_TRUE(room.HasRoom(100, kName));
  EXPECT_GT(kRoom / kName - room.names(), kRoom / kName / 20);
}

TEST(NameRoom, ASmallRoomHasANameForEachParty) {
  for (const size_t names : {8, 100, 1000}) {
    NameRoom room(names, kName);
    size_t held = 0;
    for (uint16_t party = 0; party < names; ++party) held += room.Take(party, kName) ? 1 : 0;
    EXPECT_EQ(held, names);
  }
}

TEST(NameRoom, ReservesNothingInARoomForAFewNames) {
  for (const size_t names : {1, 2, 3}) {
    NameRoom room(names, kName);
    EXPECT_EQ(Fill(&room, 7), names);
  }
}

TEST(NameRoom, GivesBackHeldNames) {
  NameRoom room(kRoom / kName, kName);
  const size_t names = Fill(&room, 7);
  for (size_t i = 0; i < names; ++i) room.GiveBack(7, kName);
  EXPECT_EQ(room.names(), 0U);
  EXPECT_EQ(Fill(&room, 7), names);
}

TEST(NameRoom, CountsTheNewSizeOfAChangedName) {
  NameRoom room(kRoom / kName, kName);
  ASSERT_TRUE(room.Take(7, kName));
  room.Change(7, kName, 2 * kRoom);
  EXPECT_FALSE(room.Take(8, 1)) << "beyond the room";
  room.Change(7, 2 * kRoom, kRoom / 2);
  EXPECT_EQ(Fill(&room, 7), kRoom / kName / 4) << "three quarters in all";
  room.GiveBack(7, kRoom / 2);
  EXPECT_EQ(Fill(&room, 7), kRoom / kName / 2);
}

TEST(NameRoom, KnowsPartiesByTheirHash) {
  EXPECT_EQ(NameRoom::PartyOf(std::nullopt), NameRoom::kNoParty);
  EXPECT_EQ(NameRoom::PartyOf(5), NameRoom::PartyOf(5 + NameRoom::kNoParty));
  EXPECT_NE(NameRoom::PartyOf(5), NameRoom::PartyOf(6));
  EXPECT_LT(NameRoom::PartyOf(UINT64_MAX), NameRoom::kNoParty);
}

}  // namespace
}  // namespace weir
