#include "relay/negentropy/range_wire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "relay/negentropy/varint.h"
#include "tests/fixtures/must.h"
#include "tests/relay/negentropy/sync_items.h"

namespace weir {
namespace {

std::string Varint(uint64_t number) {
  std::string bytes;
  AppendVarint(number, &bytes);
  return bytes;
}
// Returns the error of the ranges in this message, or "" if all are well-formed.
std::string ErrorOf(std::string_view hex) {
  const std::string bytes = BytesOfHex(hex);
  RangeReader in(bytes);
  while (!in.at_end()) {
    if (const Result<SyncRange> range = in.Next(); !range.ok()) return range.status().message();
  }
  return "";
}

TEST(Varint, HasTheHighestDigitFirst) {
  EXPECT_EQ(Varint(0), BytesOfHex("00"));
  EXPECT_EQ(Varint(127), BytesOfHex("7f"));
  EXPECT_EQ(Varint(128), BytesOfHex("8100"));
  EXPECT_EQ(Varint(UINT64_MAX), BytesOfHex("81ffffffffffffffff7f"));
}

RC_GTEST_PROP(VarintProperty, IsReadAsItWasWritten, ()) {
  const uint64_t number = *rc::gen::arbitrary<uint64_t>() >> *rc::gen::inRange(0, 64);
  const std::string bytes = Varint(number) + "x";
  std::string_view in = bytes;
  Must(TakeVarint(&in) == number && in == "x");
  Must(bytes.size() == VarintBytes(number) + 1);
}

TEST(Varint, RefusesWhatNoNumberIsWrittenAs) {
  for (const char* const hex : {"", "81", "8000", "808001", "82ffffffffffffffff7f", "81ffffffffffffffffff7f"}) {
    const std::string bytes = BytesOfHex(hex);
    std::string_view in = bytes;
    EXPECT_EQ(TakeVarint(&in), std::nullopt) << hex;
  }
}

TEST(RangeReader, ReadsEachMode) {
  const std::string bytes = BytesOfHex(
      "060200ff00"                                    // to date 5 and an id from 00ff, nothing
      "010300ff01010102030405060708090a0b0c0d0e0f10"  // to the same date and a later id, a fingerprint
      "00000201" +
      std::string(64, 'a'));  // to the end, an id
  RangeReader in(bytes);
  SyncItem end{.created_at = 5, .id = {0, 0xff}};
  const SyncRange first = in.Next().value();
  EXPECT_EQ(first.end, end);
  EXPECT_EQ(first.mode, RangeMode::kSkip);
  const SyncRange second = in.Next().value();
  end.id[2] = 1;
  EXPECT_EQ(second.end, end);
  EXPECT_EQ(second.mode, RangeMode::kFingerprint);
  EXPECT_EQ(second.payload, BytesOfHex("0102030405060708090a0b0c0d0e0f10"));
  const SyncRange third = in.Next().value();
  EXPECT_EQ(third.end, kInfinity);
  EXPECT_EQ(third.mode, RangeMode::kIds);
  EXPECT_EQ(third.payload, std::string(32, '\xaa'));
  EXPECT_TRUE(in.at_end());
}

TEST(RangeReader, TakesAnEmptyRangeAtTheEnd) {
  EXPECT_EQ(ErrorOf("000000"
                    "000002"
                    "00"),
            "");
}

TEST(RangeReader, RefusesHostileRanges) {
  const std::string number = " of a range is cut off, has more than 64 bits, or has more digits than it needs";
  EXPECT_EQ(ErrorOf("06"), "the end" + number);
  EXPECT_EQ(ErrorOf("8006"
                    "0000"),
            "the end" + number);
  EXPECT_EQ(ErrorOf("0602ff"), "the end of a range is cut off");
  EXPECT_EQ(ErrorOf("0600"), "the mode" + number);
  EXPECT_EQ(ErrorOf("060003"), "a range has the mode 3, not 0, 1 or 2");
  EXPECT_EQ(ErrorOf("0621" + std::string(66, '1') + "00"),
            "the end of a range has 33 bytes of an id; at most 32 are possible");
  EXPECT_EQ(ErrorOf("00010100"), "the end of a range has 1 bytes of an id; at most 0 are possible") << "infinity";
  EXPECT_EQ(ErrorOf("060001" + std::string(30, '0')), "the fingerprint of a range is cut off");
  EXPECT_EQ(ErrorOf("060002"), "the number of ids" + number);
  EXPECT_EQ(ErrorOf("06000201" + std::string(62, '0')), "the list of ids of a range is cut off");
  EXPECT_EQ(ErrorOf("06000281808080808080808000" + std::string(64, '0')), "the list of ids of a range is cut off")
      << "2^64 bytes are as few as 0";
  EXPECT_EQ(ErrorOf("0601ff00"
                    "0101fe00"),
            "a range ends before it begins");
  EXPECT_EQ(ErrorOf("000000"
                    "010000"),
            "the end of a range has a date of more than 64 bits");
  EXPECT_EQ(ErrorOf("0a0000"
                    "81ffffffffffffffff7f0000"),
            "the end of a range has a date of more than 64 bits");
}

TEST(RangeWriter, JoinsSkippedRangesAndLeavesOutTheLast) {
  RangeWriter out(1000);
  EXPECT_TRUE(out.is_empty());
  out.Skip({.created_at = 3});
  out.Skip({.created_at = 5, .id = {7}});
  EXPECT_TRUE(out.is_empty());
  out.WriteFingerprint({.created_at = 6}, {});
  out.Skip(kInfinity);
  EXPECT_FALSE(out.is_empty());
  EXPECT_EQ(ToHex(out.Take()),
            "61"
            "06010700"
            "020001" +
                std::string(32, '0'));
}

TEST(EndBetween, IsAsShortAsPossible) {
  const SyncItem a{.created_at = 3, .id = {1, 2, 3, 4}};
  EXPECT_EQ(EndBetween(a, {.created_at = 4, .id = {9}}), SyncItem{.created_at = 4});
  EXPECT_EQ(EndBetween(a, {.created_at = 3, .id = {1, 2, 4, 5}}), (SyncItem{.created_at = 3, .id = {1, 2, 4}}));
  SyncItem behind = a;
  behind.id[31] = 1;
  EXPECT_EQ(EndBetween(a, behind), behind);
}

RC_GTEST_PROP(EndBetweenProperty, PartsTheItems, ()) {
  const auto equal = *rc::gen::inRange<size_t>(0, 32);
  SyncItem a = ItemOf(*rc::gen::inRange(0, 100));
  SyncItem b = ItemOf(*rc::gen::inRange(0, 100));
  std::copy_n(a.id.begin(), equal, b.id.begin());
  if (a == b) return;
  if (b < a) std::swap(a, b);
  const SyncItem end = EndBetween(a, b);
  Must(a < end && end <= b);
}

}  // namespace
}  // namespace weir
