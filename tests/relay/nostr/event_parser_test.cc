// The events that EventParser takes and refuses, and what it says then. Random events are in event_property_test.cc.
#include "relay/nostr/event_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/relay/nostr/reference_event.h"

namespace weir {
namespace {

// A good event in parts, so that a test can spoil one.
struct Parts {
  std::string id;  // empty: the right one
  std::string pubkey = "\"" + std::string(64, 'a') + "\"";
  std::string created_at = "1700000000";
  std::string kind = "1";
  std::string tags = "[[\"t\",\"x\"]]";
  std::string content = "\"hello\"";
  std::string sig = "\"" + std::string(128, 'b') + "\"";
  std::string more;  // fields behind the others, with their comma

  std::string Json() const {
    const auto with = [this](const std::string& quoted_id) {
      return "{\"id\":" + quoted_id + ",\"pubkey\":" + pubkey + ",\"created_at\":" + created_at + ",\"kind\":" + kind +
             ",\"tags\":" + tags + ",\"content\":" + content + ",\"sig\":" + sig + more + "}";
    };
    if (!id.empty()) return with(id);
    const std::string any = "\"" + std::string(64, '0') + "\"";
    const auto event = ReadReferenceEvent(with(any));
    return with(event ? "\"" + event->true_ids[0] + "\"" : any);
  }
};

std::string ErrorOf(std::string_view json, const EventLimits& limits = {}) {
  const Result<Event> event = EventParser(limits).Parse(json);
  return event.ok() ? "taken" : event.status().message();
}
std::string ErrorOf(const Parts& parts, const EventLimits& limits = {}) { return ErrorOf(parts.Json(), limits); }

TEST(EventParser, ReadsEveryField) {
  const Parts parts{.created_at = "1700000001",
                    .kind = "30023",
                    .tags = R"([["d","a\"b"],["e"],["alt","x"],["-"],["expiration","1800000000"],["d","2"]])"};
  EventParser parser;
  const Result<Event> event = parser.Parse(parts.Json());
  ASSERT_TRUE(event.ok()) << event.status().message();
  const EventView view = event.value().view();
  EXPECT_EQ(view.created_at(), 1'700'000'001U);
  EXPECT_EQ(view.kind(), 30023);
  EXPECT_EQ(view.expiration(), 1'800'000'000U);
  EXPECT_TRUE(view.is_protected());
  EXPECT_EQ(view.FirstTag('d'), "a\"b");
  EXPECT_EQ(view.FirstTag('e').data(), nullptr) << "a tag without a value is not in the record";
  EXPECT_EQ(ToHex(view.pubkey()), std::string(64, 'a'));
  EXPECT_EQ(ToHex(view.signature().data(), 64), std::string(128, 'b'));
  EXPECT_EQ(view.json(), parts.Json());
}

struct BadCase {
  const char* what;
  Parts parts;
  std::string error;
};

TEST(EventParser, RefusesABadFieldByNameAndSaysWhatItFound) {
  const std::string upper = std::string(63, 'a') + "A";
  const std::vector<BadCase> cases = {
      {"id not a string", {.id = "5"}, "id must be 64 lower-case hexadecimal digits, not 5"},
      {"id short", {.id = "\"ab\""}, "id must be 64 lower-case hexadecimal digits, not \"ab\""},
      {"upper case",
       {.pubkey = '"' + upper + '"'},
       "pubkey must be 64 lower-case hexadecimal digits, not \"" + upper + '"'},
      {"escape in hex",
       {.pubkey = "\"\\u0061" + std::string(63, 'a') + "\""},
       "pubkey must be 64 lower-case hexadecimal digits, not \"\\u0061" + std::string(63, 'a') + "\""},
      {"sig of 64", {.sig = "\"00\""}, "sig must be 128 lower-case hexadecimal digits, not \"00\""},
      {"sig null", {.sig = "null"}, "sig must be 128 lower-case hexadecimal digits, not null"},
      {"tags null", {.tags = "null"}, "tags must be an array of arrays of strings, not null"},
      {"tags an object", {.tags = "{}"}, "tags must be an array of arrays of strings, not an object"},
      {"tag a string", {.tags = "[[\"a\"],\"e\"]"}, "tags[1] must be an array of strings, not \"e\""},
      {"tag empty", {.tags = "[[]]"}, "tags[0] must have one string or more"},
      {"item a number", {.tags = "[[\"a\",1]]"}, "tags[0][1] must be a string, not 1"},
      {"item null", {.tags = "[[null]]"}, "tags[0][0] must be a string, not null"},
      {"item nested", {.tags = "[[[\"a\"]]]"}, "tags[0][0] must be a string, not an array"},
      {"comma at the end", {.tags = "[[\"a\",]]"}, "tags[0][1] must be a string, not ]"},
      {"content a number", {.content = "1"}, "content must be a string, not 1"},
      {"content null", {.content = "null"}, "content must be a string, not null"},
      {"bare line break", {.content = "\"a\nb\""}, "content has a control character that is not escaped"},
      {"NUL", {.content = R"("\u0000")"}, "content has the character \\u0000, which is not allowed"},
      {"NUL in a tag", {.tags = R"([["\u0000"]])"}, "tags[0][0] has the character \\u0000, which is not allowed"},
      {"high half", {.content = R"("\uD83D")"}, "content has half of a surrogate pair, \\uD83D"},
      {"two high halves", {.content = R"("\ud83d\ud83d")"}, "content has half of a surrogate pair, \\ud83d"},
      {"low half", {.content = R"("\ude00")"}, "content has half of a surrogate pair, \\ude00"},
      {"odd escape",
       {.content = R"("\x41")"},
       "content has an escape that JSON does not know, a backslash before \"x\""},
      {"short escape", {.content = R"("\u12g4")"}, "content has \\u without four hexadecimal digits"},
      {"twice", {.more = ",\"kind\":1"}, "the field kind must be there only once"},
      {"twice, escaped", {.more = R"(,"k\u0069nd":1)"}, "the field kind must be there only once"},
  };
  for (const BadCase& bad : cases) {
    EXPECT_EQ(ErrorOf(bad.parts), bad.error) << bad.what;
  }
}

TEST(EventParser, AWrongIdIsToldTheRightOne) {
  const Parts wrong{.id = '"' + std::string(64, '1') + '"'};
  const std::string right = ReadReferenceEvent(wrong.Json())->true_ids[0];
  EXPECT_EQ(ErrorOf(wrong), "id must be the hash of the event, " + right + ", not " + std::string(64, '1'));
}

TEST(EventParser, NumbersAreWholeAndWrittenSo) {
  for (const char* bad : {"1.0", "1e3", "-0", "-1", "+1", "01", "00", "\"1\"", "true", "null", "1.", ".5", "0x1", "1_0",
                          "65536", "99999999999999999999999999", "Infinity", "NaN"}) {
    EXPECT_EQ(ErrorOf({.kind = bad}), std::string("kind must be a whole number from 0 to 65535, not ") + bad);
  }
  for (const char* bad : {"-1", "1.5", "9223372036854775808", "18446744073709551616"}) {
    EXPECT_EQ(ErrorOf({.created_at = bad}),
              std::string("created_at must be a whole number from 0 to 9223372036854775807, not ") + bad);
  }
  EXPECT_EQ(ErrorOf({.kind = "[]"}), "kind must be a whole number from 0 to 65535, not an array");
  EXPECT_EQ(ErrorOf({.kind = ""}), "kind must be a whole number from 0 to 65535, not ,");
  for (const char* good : {"0", "1", "65535"}) EXPECT_EQ(ErrorOf({.kind = good}), "taken");
  for (const char* good : {"0", "9223372036854775807"}) EXPECT_EQ(ErrorOf({.created_at = good}), "taken");
}

TEST(EventParser, EveryFieldIsNeeded) {
  const std::string good = Parts().Json();
  const auto tree = ReadJsonTree(good);
  for (size_t i = 0; i < tree->items.size(); ++i) {
    JsonTree without = *tree;
    without.items.erase(without.items.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(ErrorOf(MinimalText(without)), "the field " + tree->items[i].name + " is missing");
  }
  EXPECT_EQ(ErrorOf("{}"), "the field id is missing");
}

TEST(EventParser, AnythingButOneObjectIsRefused) {
  const std::string good = Parts().Json();
  EXPECT_EQ(ErrorOf(""), "an event must be a JSON object, not the end of the text");
  EXPECT_EQ(ErrorOf(" \n"), "an event must be a JSON object, not the end of the text");
  EXPECT_EQ(ErrorOf("[1]"), "an event must be a JSON object, not an array");
  EXPECT_EQ(ErrorOf("null"), "an event must be a JSON object, not null");
  EXPECT_EQ(ErrorOf(good + "{}"), "nothing may follow the event's object, but there is an object");
  EXPECT_EQ(ErrorOf(good + ","), "nothing may follow the event's object, but there is ,");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBF" + good), "an event must be a JSON object, not \xEF\xBB\xBF");
  EXPECT_EQ(ErrorOf(good.substr(0, good.size() - 1) + ",}"), "the name of a field must be a string, not }");
  EXPECT_EQ(ErrorOf("{\"id\" 1}"), "JSON must have : at byte 6, not 1");
  for (size_t size = 0; size < good.size(); ++size) EXPECT_NE(ErrorOf(good.substr(0, size)), "taken") << size;
}

TEST(EventParser, InvalidUtf8IsRefusedWhereverItStands) {
  for (const char* bad : {"\x80", "\xC0\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_EQ(ErrorOf({.content = '"' + std::string(bad) + '"'}), "an event must be valid UTF-8");
    EXPECT_EQ(ErrorOf({.more = ",\"x\":\"" + std::string(bad) + '"'}), "an event must be valid UTF-8");
  }
}

TEST(EventParser, LimitsAreInBytesOfWhatIsMeant) {
  const EventLimits limits{.max_bytes = 600, .max_tags = 2, .max_tag_bytes = 4, .max_content_bytes = 5};
  EXPECT_EQ(ErrorOf({.content = R"("\u0061\u0062cde")"}, limits), "taken");
  EXPECT_EQ(ErrorOf({.content = R"("abcdef")"}, limits), "content must be at most 5 bytes long, not 6");
  EXPECT_EQ(ErrorOf({.content = R"("ééé")"}, limits), "content must be at most 5 bytes long, not 6");
  EXPECT_EQ(ErrorOf({.tags = R"([["a","\n\n\n\n"],["b"]])"}, limits), "taken");
  EXPECT_EQ(ErrorOf({.tags = R"([["a","b","12345"]])"}, limits), "tags[0][2] must be at most 4 bytes long, not 5");
  EXPECT_EQ(ErrorOf({.tags = R"([["a"],["b"],["c"]])"}, limits), "tags must be at most 2, not more");
  const std::string good = Parts().Json();
  const EventLimits exact{.max_bytes = good.size()};
  EXPECT_EQ(ErrorOf(good, exact), "taken");
  EXPECT_EQ(ErrorOf(std::string(1000, ' ') + good, exact), "taken") << "the minimal form counts";
  EXPECT_EQ(ErrorOf(Parts{.content = "\"hello!\""}, exact), "an event must be at most " + std::to_string(good.size()) +
                                                                " bytes long, not " + std::to_string(good.size() + 1));
}

TEST(EventParser, NestingInUnknownFieldsIsBounded) {
  const std::string good = Parts().Json();
  const auto nested = [&good](size_t depth) {
    return "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + "," + good.substr(1);
  };
  EXPECT_EQ(ErrorOf(nested(32)), "taken");
  EXPECT_EQ(ErrorOf(nested(34)), "JSON must not be nested deeper than 32 levels");
  EXPECT_EQ(ErrorOf(nested(100'000)), "JSON must not be nested deeper than 32 levels");
  EXPECT_EQ(ErrorOf("{\"x\":" + std::string(1'000'000, '{')), "the name of a field must be a string, not an object");
}

TEST(EventParser, UnknownFieldsAreDroppedButMustBeJson) {
  const std::string good = Parts().Json();
  for (const char* value : {"1e999", "-0.5E-7", "null", "{\"id\":{}}", "[[],[1,\"]\"]]", "\"\\\"\""}) {
    const std::string field = std::string("\"seen_on\" : ") + value;
    for (const std::string& json :
         {"{" + field + "," + good.substr(1), "{ " + field + " , " + good.substr(1),
          good.substr(0, good.size() - 1) + " , " + field + "}", "{" + field + ",\"\":0," + good.substr(1)}) {
      const Result<Event> event = EventParser().Parse(json);
      ASSERT_TRUE(event.ok()) << json << event.status().message();
      EXPECT_EQ(event.value().view().json(), good);
    }
  }
  for (const char* value : {"1.", "01", "nul", "tru e", "[1,]", "{1:2}", "'a'", "\"\\q\"", "-", "1e", ""}) {
    EXPECT_NE(ErrorOf({.more = std::string(",\"x\":") + value}), "taken") << value;
  }
}

TEST(EventParser, OrderAndEscapesOfTheSenderStay) {
  const Parts parts{.tags = R"([ [ "t" , "\u0041\/" ] ])", .content = R"("\ud83D\uDe00\u000a\/")"};
  const auto tree = ReadJsonTree(parts.Json());
  JsonTree turned = *tree;
  std::reverse(turned.items.begin(), turned.items.end());
  const Result<Event> event = EventParser().Parse(" " + MinimalText(turned) + "\r\n");
  ASSERT_TRUE(event.ok()) << event.status().message();
  EXPECT_EQ(event.value().view().json(), MinimalText(turned));
  EXPECT_EQ(event.value().view().FirstTag('t'), "A/");
}

// NIP-01 names seven escapes. A client that hashes other control characters as JSON.stringify writes them is as right
// as one that hashes them bare.
TEST(EventParser, ControlCharactersMayBeHashedInEitherForm) {
  for (const char* content : {R"("\u0001")", R"("\u001F\n")", R"("\u000b é")"}) {
    Parts parts{.content = content};
    const std::vector<std::string> ids = ReadReferenceEvent(parts.Json())->true_ids;
    ASSERT_NE(ids[0], ids[1]);
    for (const std::string& id : ids) {
      parts.id = '"' + id + '"';
      EXPECT_EQ(ErrorOf(parts), "taken") << content;
    }
  }
  EXPECT_EQ(ErrorOf({.content = "\"\x7f\""}), "taken") << "DEL is no control character to JSON";
}

TEST(EventParser, TheFirstExpirationThatIsANumberCounts) {
  const auto expiration = [](const char* tags) {
    return EventParser().Parse(Parts{.tags = tags}.Json()).value().view().expiration();
  };
  EXPECT_EQ(expiration(R"([["expiration","5"]])"), 5U);
  EXPECT_EQ(expiration(R"([["expiration","soon"],["expiration"],["expiration","7"],["expiration","6"]])"), 7U);
  EXPECT_EQ(expiration(R"([["expiration","-5"],["expiration"," 1"],["expiration","01"],["expiration",""]])"), 0U)
      << "never";
  EXPECT_EQ(expiration(R"([["expiration","0"]])"), 1U) << "long ago, not never";
  EXPECT_EQ(expiration(R"([["expiration","99999999999999999999999"]])"), UINT64_MAX);
}

TEST(EventParser, IsAsGoodAfterAnErrorAsBefore) {
  EventParser parser;
  const std::string good = Parts{.tags = R"([ ["t","x"], ["e","\u0041"] ])"}.Json();
  const std::string record = *parser.Parse(good).value().record();
  EXPECT_FALSE(parser.Parse("{\"tags\": [[\"t\" , \"left over\"], 5").ok());
  EXPECT_EQ(*parser.Parse(good).value().record(), record);
  EventParser moved = std::move(parser);
  EXPECT_EQ(*moved.Parse(good).value().record(), record);
}

TEST(FindId, FindsTheIdOfWhatMayBeNoEvent) {
  const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  for (const std::string& json :
       {"{\"id\":\"" + id + "\"}", "{\"kind\":1.5, \"id\" : \"" + id + "\"", "{\"a\":{\"id\":1},\"id\":\"" + id + "\",",
        "{\"content\":\"\\\"id\\\":\\\"\",\"id\":\"" + id + "\"}", Parts{.id = '"' + id + '"'}.Json()}) {
    EXPECT_EQ(FindId(json), id) << json;
  }
  for (const std::string& json :
       {std::string(), std::string("{"), std::string("\""), std::string("{\"id\""), std::string("{\"id\":"),
        std::string("{\"id\":\""), "{\"id\":\"" + id, "{\"id\":\"" + id + "0\"}", "{\"id\":\"" + id.substr(1) + "g\"}",
        "{\"a\":{\"id\":\"" + id + "\"}}", "{\"content\":\"\\\"id\\\":\\\"" + id + "\\\"\"}", "[\"id\",\"" + id + "\"]",
        std::string("{\"id\\"), std::string("\xFF\xFE\0\"", 4)}) {
    EXPECT_EQ(FindId(json), "") << json;
  }
}

}  // namespace
}  // namespace weir
