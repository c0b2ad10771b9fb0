// The layout of keys: they sort as the answers do, and what is written is read back.
#include "relay/store/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/sorted_entries.h"
#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

std::vector<std::pair<std::string, std::string>> EntriesOf(const PlainEvent& plain, uint64_t serial) {
  std::vector<std::pair<std::string, std::string>> entries;
  const Event event = ToEvent(plain);
  ForEachEntry(event.view(), serial,
               [&](std::string_view key, std::string_view value) { entries.emplace_back(key, value); });
  return entries;
}

std::string EntryWith(const PlainEvent& plain, uint64_t serial, char first) {
  for (auto& [key, value] : EntriesOf(plain, serial))
    if (key[0] == first) return key;
  return "";
}

TEST(Keys, EveryEventHasItsEntries) {
  const auto firsts = [](const PlainEvent& plain) {
    std::string letters;
    for (const auto& [key, value] : EntriesOf(plain, 1)) letters.push_back(key[0]);
    std::ranges::sort(letters);
    return letters;
  };
  EXPECT_EQ(firsts(Plain(Author(1), 5, 1)), "acik");
  EXPECT_EQ(firsts(Plain(Author(1), 5, 1, {{"e", Author(2)}, {"p", Author(3)}, {"alt", "x"}})), "aciktt");
  EXPECT_EQ(firsts(Plain(Author(1), 5, 0)), "acdik");
  EXPECT_EQ(firsts(Plain(Author(1), 5, 1, {{"expiration", "9"}})), "acikx");
}

TEST(Keys, NewestFirstAndOfEqualAgeTheLowestId) {
  std::vector<PlainEvent> events;
  for (const uint64_t at :
       {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{1} << 40, uint64_t{1} << 62})
    for (int i = 0; i < 5; ++i) events.push_back(Plain(Author(1), at, 1, {{"t", "a"}}, std::to_string(i)));
  std::mt19937_64 random(1);
  for (const char first : {'a', 't', 'k', 'c'}) {
    std::ranges::shuffle(events, random);
    std::ranges::sort(events, {}, [first](const PlainEvent& e) { return EntryWith(e, 7, first); });
    EXPECT_TRUE(std::ranges::is_sorted(events, [](const PlainEvent& a, const PlainEvent& b) {
      return a.created_at != b.created_at ? a.created_at > b.created_at : a.id < b.id;
    })) << first;
  }
}

TEST(Keys, AnEntryIsReadBack) {
  const PlainEvent plain = Plain(Author(1), 1234567, 30023, {{"d", "x"}});
  const Event event = ToEvent(plain);
  const PublicKey author = event.view().pubkey();
  const uint64_t serial = (uint64_t{1} << 48) - 2;
  const std::pair<Key, char> ranges[] = {{AuthorRange(author).Number(30023, 2), 'a'},
                                         {TagRange('d', "x").Number(30023, 2), 't'},
                                         {KindRange(30023), 'k'},
                                         {TimeRange(), 'c'}};
  for (const auto& [range, first] : ranges) {
    const std::string key = EntryWith(plain, serial, first);
    ASSERT_TRUE(key.starts_with(range.view())) << first;
    IndexEntry entry;
    ASSERT_TRUE(ReadEntry(key, range.view().size(), &entry)) << first;
    EXPECT_EQ(~entry.inverted_time, 1234567U);
    EXPECT_EQ(entry.serial, serial);
    EXPECT_EQ(entry.kind, 30023);
    EXPECT_EQ(entry.id, std::stoul(plain.id.substr(0, 8), nullptr, 16));
    EXPECT_EQ(entry.by, std::stoul(plain.pubkey.substr(0, 8), nullptr, 16));
    EXPECT_FALSE(ReadEntry(key + "x", range.view().size(), &entry));
    EXPECT_FALSE(ReadEntry(key.substr(0, key.size() - 1), range.view().size(), &entry));
  }
}

TEST(Keys, AddressesAreOfKindAuthorAndName) {
  const PublicKey author = ToBytes(Author(1));
  const Address address = AddressOf(30023, author, "x");
  EXPECT_EQ(address, AddressOf(ToEvent(Plain(Author(1), 9, 30023, {{"d", "x"}, {"d", "y"}})).view()));
  EXPECT_NE(address, AddressOf(30024, author, "x"));
  EXPECT_NE(address, AddressOf(30023, ToBytes(Author(2)), "x"));
  EXPECT_NE(address, AddressOf(30023, author, ""));
  // Only addressable kinds have a name.
  EXPECT_EQ(AddressOf(10002, author, ""), AddressOf(ToEvent(Plain(Author(1), 9, 10002, {{"d", "x"}})).view()));
}

TEST(Keys, NamesOfAddressesAreReadStrictly) {
  const std::string name = "30023:" + Author(1) + ":a:b";
  const auto named = ParseAddress(name);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->kind, 30023);
  EXPECT_EQ(named->author, ToBytes(Author(1)));
  EXPECT_EQ(named->d, "a:b");
  EXPECT_TRUE(ParseAddress("0:" + Author(1) + ":"));
  for (const std::string& bad : {std::string(), std::string(":"), "30023:" + Author(1), "1:" + Author(1) + ":",
                                 "0:" + Author(1) + ":d", "99999:" + Author(1) + ":", "-1:" + Author(1) + ":",
                                 "30023:" + Author(1).substr(1) + ":", " 30023:" + Author(1) + ":"})
    EXPECT_FALSE(ParseAddress(bad)) << bad;
}

TEST(Keys, TagValuesOfAllKindsAreHashed) {
  // Values that only begin alike are told apart: a key that was made to begin like another has ranges of its own.
  EXPECT_NE(TagHash(std::string(16, 'a') + std::string(48, '0')), TagHash(std::string(64, 'a')));
  EXPECT_NE(TagHash("a"), TagHash("b"));
  EXPECT_NE(TagHash("a"), TagHash(std::string("a\0", 2)));
  EXPECT_NE(TagHash(std::string(8, 'a')), TagHash(std::string(16, 'a')));
}

TEST(Keys, SortedEntriesComeInOrderAndOnce) {
  SortedEntries entries;
  const std::vector<std::string> keys = {"k2", "a", "k10", std::string("a\0", 2), "kkkkkkkkz", "kkkkkkkka", "k2"};
  for (const std::string& key : keys) entries.Add(key, "value of " + key);
  std::vector<std::string> seen;
  entries.ForEach([&](std::string_view key, std::string_view value) {
    EXPECT_EQ(value, "value of " + std::string(key));
    seen.emplace_back(key);
  });
  std::vector<std::string> expected(keys.begin(), keys.end() - 1);
  std::ranges::sort(expected);
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace weir
