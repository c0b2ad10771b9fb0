#include "relay/nostr/event.h"

#include <gtest/gtest.h>

#include "config/text/json_scanner.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

Event Make(std::string_view tags_json, uint16_t kind = 1) {
  return EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, kind, tags_json, "hello")).value();
}

TEST(Event, KindsAreStoredAsNip01Says) {
  for (uint16_t kind : {1, 2, 4, 44, 1000, 9999, 40000, 65535, 45, 999}) {
    EXPECT_EQ(ClassOf(kind), KindClass::kRegular) << kind;
  }
  for (uint16_t kind : {0, 3, 10000, 19999}) EXPECT_EQ(ClassOf(kind), KindClass::kReplaceable) << kind;
  for (uint16_t kind : {20000, 29999}) EXPECT_EQ(ClassOf(kind), KindClass::kEphemeral) << kind;
  for (uint16_t kind : {30000, 39999}) EXPECT_EQ(ClassOf(kind), KindClass::kAddressable) << kind;
}

TEST(Event, TheRecordIsAsDocumented) {
  const Event event = Make(R"([["t","ab"],["long","x"],["Z","\n"]])");
  const std::string& record = *event.record();
  const std::string json(event.view().json());
  const std::string tags = record.substr(92, record.size() - 92 - json.size());
  EXPECT_EQ(tags, std::string("t\2\0\0\0abZ\1\0\0\0\n", 13));
  EXPECT_EQ(record.substr(64, 8), std::string("\x00\xF1\x53\x65\0\0\0\0", 8));
  EXPECT_EQ(record.substr(80, 2), std::string("\1\0", 2));
  EXPECT_EQ(record.capacity(), record.size()) << "made in one piece";
}

TEST(Event, TagsComeInOrder) {
  const Event event = Make(R"([["e","1"],["p","2"],["e","3"],["t",""],["x"]])");
  std::string seen;
  for (const TagView tag : event.view().tags()) seen += std::string{tag.letter} + "=" + std::string(tag.value) + " ";
  EXPECT_EQ(seen, "e=1 p=2 e=3 t= ");
  EXPECT_EQ(event.view().FirstTag('e'), "1");
  EXPECT_NE(event.view().FirstTag('t').data(), nullptr) << "there, and empty";
  EXPECT_EQ(event.view().FirstTag('x').data(), nullptr);
  EXPECT_TRUE(Make("[]").view().tags().empty());
}

TEST(Event, TagsNamedHaveAllTheirItems) {
  const Event event = Make(R"([["nonce","77","20"],["t","x"],["nonce"],["relay","wss:\/\/a"]])");
  const std::vector<std::vector<std::string>> nonces = {{"nonce", "77", "20"}, {"nonce"}};
  EXPECT_EQ(TagsNamed(event.view(), "nonce"), nonces);
  EXPECT_EQ(TagsNamed(event.view(), "relay").at(0).at(1), "wss://a");
  EXPECT_TRUE(TagsNamed(event.view(), "challenge").empty());
  EXPECT_TRUE(TagsNamed(Make("[]").view(), "nonce").empty());
}

TEST(Event, OnlyTheTagOfOneDashProtects) {
  EXPECT_TRUE(Make(R"([["-"]])").view().is_protected());
  EXPECT_TRUE(Make(R"([["t","x"],["\u002d","why"]])").view().is_protected());
  EXPECT_FALSE(Make(R"([["t","-"],["--"]])").view().is_protected());
}

TEST(Event, RecordsThatDoNotFitTogetherAreNotWellFormed) {
  const std::string good = *Make(R"([["t","ab"]])").record();
  EXPECT_TRUE(EventView::WellFormed(good));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(EventView::WellFormed(good.substr(0, size))) << size;
  const auto with = [&good](size_t at, char byte) {
    std::string record = good;
    record[at] = byte;
    return record;
  };
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kTagBytes, 8))) << "one tag byte too many";
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kTagBytes + 3, 1)));
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kSignature + 1, 9)));
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kTags, '-')));
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kTags + 1, 3)));
  EXPECT_FALSE(EventView::WellFormed(with(RecordLayout::kTags + 4, '\x80')));
}

TEST(Hex, IsLowerCaseAndWhole) {
  Bytes32 bytes{};
  bytes[0] = 0x0f;
  bytes[31] = 0xa5;
  const std::string hex = ToHex(bytes);
  EXPECT_EQ(hex, "0f" + std::string(60, '0') + "a5");
  Bytes32 again{};
  ASSERT_TRUE(FromHex(hex, again.data(), again.size()));
  EXPECT_EQ(again, bytes);
  for (const std::string& bad : {std::string(), hex.substr(2), hex + "00", hex.substr(0, 63)}) {
    EXPECT_FALSE(FromHex(bad, again.data(), again.size()));
  }
  for (int c = 0; c < 256; ++c) {
    std::string text = hex;
    text[17] = static_cast<char>(c);
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    EXPECT_EQ(FromHex(text, again.data(), again.size()), digit) << c;
  }
}

// A damaged record's JSON need not be UTF-8.
TEST(JsonScanner, SaysNothingOfWhatStandsBehindItsText) {
  const std::string_view buffer = "\"\\\xF0secret";
  JsonString string;
  JsonScanner in(buffer.substr(0, 3));
  EXPECT_FALSE(in.ReadString(&string));
  EXPECT_FALSE(Has(in.error(), "secret")) << in.error();
  EXPECT_EQ(JsonScanner(buffer.substr(2, 1)).Found(), "\xF0");
}

}  // namespace
}  // namespace weir
