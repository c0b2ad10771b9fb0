// The matchers of rules, beside slow ones that are obviously right.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/rules/address_set.h"
#include "relay/rules/key_set.h"
#include "relay/rules/kind_set.h"
#include "relay/rules/tag_set.h"
#include "relay/rules/word_set.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

Bytes32 KeyOf(const std::vector<uint8_t>& bytes) {
  Bytes32 key{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), key.size()), key.begin());
  return key;
}

// Keys that differ only in their first or last bytes share places of the table.
RC_GTEST_PROP(MatchersProperty, KeySetHasWhatItWasMadeOf, (std::vector<std::vector<uint8_t>> made, bool at_end)) {
  std::vector<Bytes32> keys;
  for (const auto& bytes : made) keys.push_back(KeyOf(bytes));
  if (at_end)
    for (Bytes32& key : keys) std::ranges::reverse(key);
  const std::set<Bytes32> reference(keys.begin(), keys.end());
  const KeySet set(keys);
  RC_ASSERT(set.size() == reference.size());
  for (const Bytes32& key : keys) {
    RC_ASSERT(set.Has(key));
    Bytes32 near = key;
    near[9] ^= 1;
    RC_ASSERT(set.Has(near) == reference.contains(near));
  }
}

RC_GTEST_PROP(MatchersProperty, KindSetHasTheKindsOfItsRanges,
              (std::vector<std::pair<uint16_t, uint16_t>> ranges, uint16_t asked)) {
  KindSet set;
  bool expected = false;
  for (auto [first, last] : ranges) {
    if (first > last) std::swap(first, last);
    set.Add(first, last);
    expected = expected || (first <= asked && asked <= last);
  }
  RC_ASSERT(set.Has(asked) == expected);
  RC_ASSERT(set.empty() == ranges.empty());
  RC_ASSERT((set - set).empty());
  RC_ASSERT((set | KindSet::All()) == KindSet::All());
}

// The reference compares bit by bit. Few different bytes make networks that overlap and touch.
RC_GTEST_PROP(MatchersProperty, AddressSetHasTheAddressesOfItsNetworks, ()) {
  const auto byte = rc::gen::element<uint8_t>(0, 1, 127, 128, 255);
  const auto address = rc::gen::container<std::vector<uint8_t>>(4, byte);
  const auto networks = *rc::gen::container<std::vector<std::pair<std::vector<uint8_t>, unsigned>>>(
      rc::gen::pair(address, rc::gen::inRange(0U, 33U)));
  const auto asked = *address;
  const auto bit = [](const std::vector<uint8_t>& bytes, unsigned n) { return bytes[n / 8] >> (7 - n % 8) & 1; };
  const auto text = [](const std::vector<uint8_t>& b) {
    return std::to_string(b[0]) + "." + std::to_string(b[1]) + "." + std::to_string(b[2]) + "." + std::to_string(b[3]);
  };
  std::vector<AddressRange> ranges;
  bool expected = false;
  for (auto [bytes, bits] : networks) {
    for (unsigned n = bits; n < 32; ++n) bytes[n / 8] &= static_cast<uint8_t>(~(0x80 >> n % 8));
    const Result<AddressRange> range = ParseNetwork(text(bytes) + "/" + std::to_string(bits));
    RC_ASSERT(range.ok());
    ranges.push_back(range.value());
    bool same = true;
    for (unsigned n = 0; n < bits; ++n) same = same && bit(bytes, n) == bit(asked, n);
    expected = expected || same;
  }
  RC_ASSERT(AddressSet(ranges).Has(*ParseAddressBytes(text(asked))) == expected);
}

RC_GTEST_PROP(MatchersProperty, WordSetFindsTheFirstOfItsPlainWords, ()) {
  const auto letters = rc::gen::element('a', 'b', 'c', '\n');
  const auto text = *rc::gen::container<std::string>(letters);
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'))));
  const auto first = std::ranges::find_if(words, [&](const std::string& word) { return Has(text, word); });
  const std::optional<size_t> found = WordSet(words).Find(text);
  RC_ASSERT(found.has_value() == (first != words.end()));
  if (found) RC_ASSERT(*found == static_cast<size_t>(first - words.begin()));
}

TEST(AddressSet, KeepsAddressesOfIpv4AndIpv6Apart) {
  const AddressSet set({ParseNetwork("10.0.0.0/8").value(), ParseNetwork("2001:db8::/32").value()});
  for (const char* in : {"10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "2001:db8::1"})
    EXPECT_TRUE(set.Has(*ParseAddressBytes(in))) << in;
  for (const char* out : {"9.255.255.255", "11.0.0.0", "2001:db7:ffff::1", "2001:db9::", "::10.0.0.1"})
    EXPECT_FALSE(set.Has(*ParseAddressBytes(out))) << out;
}

TEST(AddressSet, JoinsNetworksThatTouch) {
  const auto network = [](const char* text) { return ParseNetwork(text).value(); };
  EXPECT_EQ(AddressSet({network("10.0.1.0/24"), network("10.0.0.0/24"), network("10.0.0.7")}).size(), 1U);
  EXPECT_EQ(AddressSet({network("::/0"), network("ffff::/16")}).size(), 1U);
}

TEST(AddressSet, ErrorsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "is not an address or network"},
      {"10.0.0", "is not an address or network"},
      {"10.0.0.0/33", "is not an address"},
      {"10.0.0.0/", "is not an address or network"},
      {"10.0.0.1/8", "the network is 10.0.0.0/8"},
      {"2001:db8::1/32", "the network is 2001:db8::/32"},
      {"host.example", "is not an address or network"},
  };
  for (const auto& [text, part] : cases) {
    const Result<AddressRange> range = ParseNetwork(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_TRUE(Has(range.status().message(), part)) << text << " " << range.status().message();
  }
}

TEST(AddressSet, FindsLinkLocalAddressesWhateverTheirZone) {
  const AddressSet set({ParseNetwork("fe80::/10").value()});
  for (const char* in : {"fe80::1", "fe80::1%2", "fe80::1%eth0"}) {
    ASSERT_TRUE(ParseAddressBytes(in)) << in;
    EXPECT_TRUE(set.Has(*ParseAddressBytes(in))) << in;
  }
  EXPECT_FALSE(ParseAddressBytes("10.0.0.1%2"));
}

TEST(AddressSet, AClientOfIpv6IsASixtyFour) {
  EXPECT_EQ(ClientAddressOf(*ParseAddressBytes("2001:db8::1:2:3:4")), *ParseAddressBytes("2001:db8::"));
  EXPECT_EQ(ClientAddressOf(*ParseAddressBytes("10.1.2.3")), *ParseAddressBytes("10.1.2.3"));
}

TEST(KindSet, IsShownAsNumbersAndRanges) {
  KindSet set;
  set.Add(0, 3);
  set.Add(7, 7);
  set.Add(65535, 65535);
  EXPECT_EQ(set.InWords(), "0-3, 7, 65535");
  EXPECT_EQ(KindSet::All().InWords(), "all kinds");
  for (uint16_t kind = 100; kind < 200; kind = static_cast<uint16_t>(kind + 2)) set.Add(kind, kind);
  EXPECT_TRUE(set.InWords().ends_with("114, …")) << set.InWords();
}

TEST(TagSet, MatchesLetterAndWholeValue) {
  TagSet set;
  EXPECT_TRUE(set.empty());
  set.Add('t', "casino");
  set.Add('K', "");
  const auto matches = [&](const std::string& tags) {
    return set.Match(EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, 1, tags, "")).value().view());
  };
  EXPECT_TRUE(matches(R"([["e","x"],["t","casino"]])"));
  EXPECT_TRUE(matches(R"([["K",""]])"));
  EXPECT_FALSE(matches(R"([["t","casinos"],["T","casino"],["r","casino"],["topic","casino"],["t"]])"));
}

TEST(WordSet, RefusesExpressionsThatAreWrongOrMatchEverything) {
  const std::pair<const char*, const char*> cases[] = {{"(a", "is no regular expression"},
                                                       {"a*", "matches the empty text"},
                                                       {"(((a{100}){100}){100})", "is no regular expression"},
                                                       {"(?<=a)b", "is no regular expression"},
                                                       {"(?i)win.{0,100}bitcoin", "takes too long to search"}};
  for (const auto& [text, part] : cases) {
    const Status status = WordSet::CheckExpression(text);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_TRUE(Has(status.message(), part)) << text << " " << status.message();
  }
  EXPECT_TRUE(WordSet::CheckExpression("(?i)free bitcoin").ok());
}

// The expressions are searched one by one, in one pass, and with a repetition, which makes the pieces short.
TEST(WordSet, FindsAMatchWhereverItLiesInALongText) {
  const std::vector<std::string> lists[] = {
      {"casino"}, {"lottery", "poker", "casino"}, {"(?i)win.{0,40}bitcoin", "\\bcas.*ino\\b"}};
  const std::string before(40'000, '.');
  for (const std::vector<std::string>& list : lists) {
    const WordSet words(list);
    for (size_t at = 0; at < before.size(); at += 251) {
      std::string text = before;
      EXPECT_EQ(words.Find(text.insert(at, " casino ")), list.size() - 1) << at;
    }
    EXPECT_EQ(words.Find(before), std::nullopt);
  }
}

TEST(WordSet, TheBeginningOfAPieceIsNotThatOfTheText) {
  const std::string text(40'000, 'a');
  EXPECT_EQ(WordSet({"x^a", "a$x", "^b|^aa*b", "\\ba\\b"}).Find(text), std::nullopt);
  EXPECT_EQ(WordSet({"^a"}).Find(text), 0U);
  EXPECT_EQ(WordSet({"(?i)(win.{0,40})?aa$"}).Find(text), 0U);
}

TEST(WordSet, AStepSearchesAPieceOfBoundedCost) {
  const std::string text(128 << 10, 'x');
  for (const auto& [expression, least, most] : {std::tuple{"abc", 1U, 40U}, {"(?i)win.{0,40}bitcoin", 100U, 520U}}) {
    const WordSet words({expression});
    unsigned steps = 0;
    for (WordSet::Place place; !words.IsOver(place); ++steps) EXPECT_EQ(words.FindSome(text, &place), std::nullopt);
    EXPECT_GE(steps, least) << expression;
    EXPECT_LE(steps, most) << expression;
  }
}

// In one pass for all of them, a text that is made for them would make a step cost several times as much.
TEST(WordSet, ExpressionsWithRepetitionsAreSearchedApart) {
  const std::string text(32 << 10, 'x');
  std::vector<std::string> list;
  for (int i = 0; i < 20; ++i) list.push_back("a[ab]{" + std::to_string(60 + i) + "}c");
  const WordSet words(list);
  unsigned steps = 0;
  for (WordSet::Place place; !words.IsOver(place); ++steps) EXPECT_EQ(words.FindSome(text, &place), std::nullopt);
  EXPECT_GE(steps, 200U);
}

TEST(WordSet, FindsWhatExpressionsSay) {
  const WordSet words({"(?i)free bitcoin", "^casino$", "Ünï"});
  EXPECT_EQ(words.Find("get FREE Bitcoin now"), 0U);
  EXPECT_EQ(words.Find("casino"), 1U);
  EXPECT_EQ(words.Find("a Ünïcode word"), 2U);
  EXPECT_EQ(words.Find("a casino"), std::nullopt);
  EXPECT_EQ(words.Find(""), std::nullopt);
}

}  // namespace
}  // namespace weir
