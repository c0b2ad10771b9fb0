// weir info on a real database: what a terminal and a program get.
#include "relay/commands/info_command.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/npub.h"
#include "relay/nostr/signature.h"
#include "relay/store/rocksdb_store.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class InfoCommandTest : public testing::Test {
 protected:
  // Stores two notes of author 1 and a reaction of author 2 that is a hundred days old.
  InfoCommandTest() {
    const uint64_t now = WallClock::System().NowSeconds();
    const std::vector<Event> events{
        Made(1, now, 1, R"([["t","\u202eweir"]])"),
        Made(1, now - 1, 1, R"([["t","\u202eweir"]])"),
        Made(2, now - uint64_t{100} * 86'400, 7, "[]"),
    };
    const auto store = RocksDbStore::Open({.path = directory_ / "events", .memory_target_bytes = 256ull << 20});
    EXPECT_TRUE(store.ok()) << store.status().message();
    std::vector<SaveResult> results(events.size());
    EXPECT_TRUE(store.value()->Save(events, 0, results).ok());
  }
  static Event Made(uint64_t author, uint64_t at, uint16_t kind, const std::string& tags) {
    return EventParser().Parse(Signer(author).SignedEvent(at, kind, tags, "a")).value();
  }
  Ran Info(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"weir info", "--data-dir", directory_.path()});
    return CallCommand(InfoCommand, std::move(words));
  }

  const TempDirectory directory_;
};

TEST_F(InfoCommandTest, PrintsWhatIsStored) {
  const Ran ran = Info();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("3 events are stored. ")) << ran.out;
  for (const char* title : {"Stored, by kind", "Stored, by created_at", "Stored, by the day", "Largest authors",
                            "Index entries of tags", "Largest tag values"})
    EXPECT_TRUE(Has(ran.out, title)) << title << "\n" << ran.out;
  EXPECT_TRUE(Has(ran.out, ToNpub(Signer(1).pubkey()))) << ran.out;
  EXPECT_FALSE(Has(ran.out, "\u202e")) << "unsafe to show";
  EXPECT_FALSE(Has(ran.out, "The rule"));
}

TEST_F(InfoCommandTest, SaysWhatARuleOfAgeWouldRemove) {
  EXPECT_TRUE(Has(Info({"--age", "90d"}).out, "The rule matches 1 events")) << Info({"--age", "90d"}).err;
  EXPECT_TRUE(Has(Info({"--age", "90d", "--kinds", "1,7"}).out, "The rule matches 1 events"));
  EXPECT_TRUE(Has(Info({"--age", "90d", "--kinds", "1"}).out, "The rule matches 0 events"));
  EXPECT_TRUE(Has(Info({"--age", "101d"}).out, "The rule matches 0 events"));
}

TEST_F(InfoCommandTest, JsonHasTheSameFigures) {
  const Ran ran = Info({"--json", "--age", "90d", "--kinds", "7"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(ran.out).get(json), simdjson::SUCCESS) << ran.out;
  EXPECT_EQ(uint64_t(json["events"]), 3U);
  EXPECT_EQ(uint64_t(json["rule"]["events"]), 1U);
  EXPECT_EQ(std::string_view(json["rule"]["kinds"]), "7");
  EXPECT_EQ(json["kinds"].get_array().size(), 2U);
  EXPECT_EQ(uint64_t(json["kinds"].at(0)["kind"]), 1U);
  EXPECT_EQ(uint64_t(json["kinds"].at(0)["events"]), 2U);
  EXPECT_GT(uint64_t(json["kinds"].at(0)["disk_bytes"]), 0U);
  EXPECT_EQ(std::string_view(json["authors"].at(0)["pubkey"]), ToHex(Signer(1).pubkey()));
  EXPECT_EQ(std::string_view(json["tags"].at(0)["value"]), "\u202eweir");
  EXPECT_EQ(uint64_t(json["tags"].at(0)["entries"]), 2U);
}

TEST_F(InfoCommandTest, WrongFlagsAreErrors) {
  EXPECT_EQ(Info({"--kinds", "1"}).code, 2) << "without effect";
  for (const std::string wrong : {"90", "d", "0d", "-1d", "1.5d", "99999999999999d"}) {
    const Ran ran = Info({"--age=" + wrong});
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_TRUE(Has(ran.err, "--age")) << ran.err;
  }
  const Ran kind = Info({"--age", "1d", "--kinds", "65536"});
  EXPECT_EQ(kind.code, 2);
  EXPECT_TRUE(Has(kind.err, "65536")) << kind.err;
  EXPECT_EQ(CallCommand(InfoCommand, {"weir info", "--data-dir", directory_ / "none"}).code, 2);
}

}  // namespace
}  // namespace weir
