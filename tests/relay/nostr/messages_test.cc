#include "relay/nostr/messages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/text/json_string.h"
#include "tests/relay/nostr/nostr_checks.h"
#include "tests/relay/nostr/random_event.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

// Returns a BadMessage in one line: verb, subject, reason.
std::string Bad(std::string_view text, const MessageLimits& limits = {}) {
  const ClientMessage message = ParseClientMessage(text, limits);
  const auto* bad = std::get_if<BadMessage>(&message);
  if (bad == nullptr) return "taken";
  return std::string(NameOf(bad->verb)) + "|" + bad->subject + "|" + bad->reason;
}

TEST(ClientMessage, AnEventIsLeftAsText) {
  const std::string text = " [ \"EVENT\" , {\"id\":1, \"x\":[\"]\"]} ] \n";
  const ClientMessage message = ParseClientMessage(text);
  const std::string_view json = std::get<EventText>(message).json;
  EXPECT_EQ(json, "{\"id\":1, \"x\":[\"]\"]}");
  EXPECT_GE(json.data(), text.data()) << "a view, not a copy";
  EXPECT_LT(json.data(), text.data() + text.size());
  EXPECT_EQ(std::get<AuthText>(ParseClientMessage(R"(["AUTH",{}])")).json, "{}");
}

TEST(ClientMessage, ARequestHasItsFilters) {
  const ClientMessage message = ParseClientMessage(R"(["REQ", "a\"\u00e9", {"kinds":[1]}, {}])");
  const Req& req = std::get<Req>(message);
  EXPECT_EQ(req.subscription, "a\"é");
  ASSERT_EQ(req.filters.size(), 2U);
  EXPECT_EQ(ToJson(req.filters[0]), R"({"kinds":[1]})");
  EXPECT_EQ(ToJson(req.filters[1]), "{}");
  EXPECT_EQ(std::get<CountReq>(ParseClientMessage(R"(["COUNT","c",{}])")).subscription, "c");
  EXPECT_EQ(std::get<CloseReq>(ParseClientMessage(R"(["CLOSE","c"])")).subscription, "c");
  EXPECT_EQ(std::get<CloseReq>(ParseClientMessage(R"(["CL\u004fSE","c"])")).subscription, "c");
}

TEST(ClientMessage, ABadMessageHasAReasonAndTheIdToAnswer) {
  const std::string long_id(65, 's');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "unknown||a message must be a JSON array, not the end of the text"},
      {"hello", "unknown||a message must be a JSON array, not hello"},
      {"{}", "unknown||a message must be a JSON array, not an object"},
      {"[]", "unknown||the first element of a message must be a string, not ]"},
      {"[1]", "unknown||the first element of a message must be a string, not 1"},
      {R"(["PONG"])",
       R"(unknown||unknown message "PONG"; known are EVENT, REQ, CLOSE, COUNT, AUTH, NEG-OPEN, NEG-MSG and NEG-CLOSE)"},
      {R"(["req","a",{}])",
       R"(unknown||unknown message "req"; known are EVENT, REQ, CLOSE, COUNT, AUTH, NEG-OPEN, NEG-MSG and NEG-CLOSE)"},
      {"[\"REQ\",\"\xFF\",{}]", "unknown||a message must be valid UTF-8"},
      {R"(["EVENT"])", "EVENT||JSON must have , at byte 8, not ]"},
      {R"(["EVENT",5])", "EVENT||EVENT must have an event, a JSON object, not 5"},
      {R"(["EVENT","sub",{"id":")" + kId + "\"}]",
       "EVENT|" + kId + "|EVENT must have an event, a JSON object, not \"sub\""},
      {R"(["EVENT",{"id":")" + kId + "\"}", "EVENT|" + kId + "|the message must end with ]"},
      {R"(["AUTH","challenge"])", "AUTH||AUTH must have an event, a JSON object, not \"challenge\""},
      {R"(["REQ"])", "REQ||JSON must have , at byte 6, not ]"},
      {R"(["REQ",5,{}])", "REQ||the subscription's id must be a string, not 5"},
      {R"(["REQ","",{}])", "REQ||the subscription's id must be 1 to 64 bytes long, not 0"},
      {R"(["REQ",")" + long_id + "\",{}]", "REQ||the subscription's id must be 1 to 64 bytes long, not 65"},
      {R"(["REQ","\u0000",{}])", "REQ||the subscription's id has the character \\u0000, which is not allowed"},
      {R"(["REQ","a"])", "REQ|a|REQ must have a filter"},
      {R"(["REQ","a",])", "REQ|a|filter 1: a filter must be a JSON object, not ]"},
      {R"(["REQ","a",[{}]])", "REQ|a|filter 1: a filter must be a JSON object, not an array"},
      {R"(["REQ","a",{}{}])", "REQ|a|JSON must have , or ] at byte 13, not an object"},
      {R"(["REQ","a",{},{"x":1}])", R"(REQ|a|filter 2: unknown field "x")"},
      {R"(["REQ","a",{}]])", "REQ|a|nothing may follow the message's array, but there is ]"},
      {R"(["REQ","a",{})", "REQ|a|JSON must have , or ] at byte 13, not the end of the text"},
      {R"(["COUNT","a",{"limit":-1}])", "COUNT|a|filter 1: limit must be a whole number, 0 or more, not -1"},
      {R"(["CLOSE"])", "CLOSE||JSON must have , at byte 8, not ]"},
      {R"(["CLOSE",null])", "CLOSE||the subscription's id must be a string, not null"},
      {R"(["CLOSE","a","b"])", "CLOSE||JSON must have ] at byte 12, not ,"},
      {R"(["CLOSE","a"]x)", "CLOSE||nothing may follow the message's array, but there is x"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(Bad(text), expected) << text;
}

TEST(ClientMessage, UnknownFiltersAreUnsupportedAndBadOnesInvalid) {
  const auto prefix = [](const std::string& text) { return std::get<BadMessage>(ParseClientMessage(text)).prefix; };
  EXPECT_EQ(prefix(R"(["REQ","a",{"search":"x"}])"), "unsupported");
  EXPECT_EQ(prefix(R"(["COUNT","a",{},{"kinds":[1],"#tt":["x"]}])"), "unsupported");
  for (const char* text :
       {R"(["REQ","a",{"kinds":"1"}])", R"(["REQ","a",{"limit":1,"limit":2}])", R"(["REQ","a"])", "{}"})
    EXPECT_EQ(prefix(text), "invalid") << text;
}

TEST(ClientMessage, LimitsHold) {
  const MessageLimits limits{.max_subscription_id_bytes = 2, .max_filters = 2, .filter = {.max_values = 1}};
  EXPECT_EQ(Bad(R"(["REQ","ab",{},{}])", limits), "taken");
  EXPECT_EQ(Bad(R"(["REQ","é",{}])", limits), "taken");
  EXPECT_EQ(Bad(R"(["REQ","abc",{}])", limits), "REQ||the subscription's id must be 1 to 2 bytes long, not 3");
  EXPECT_EQ(Bad(R"(["REQ","ab",{},{},{}])", limits), "REQ|ab|REQ must have at most 2 filters, not more");
  EXPECT_EQ(Bad(R"(["REQ","ab",{"kinds":[1,2]}])", limits),
            "REQ|ab|filter 1: the lists of a filter must have at most 1 values together, not more");
}

TEST(ClientMessage, NestingBombsAreRefusedAtOnce) {
  for (const char* open : {"[", "{\"a\":", "[\"REQ\",\"a\",", "{"}) {
    std::string bomb;
    for (int n = 0; n < 100'000; ++n) bomb += open;
    EXPECT_NE(Bad(bomb), "taken");
    EXPECT_NE(Bad("[\"REQ\",\"a\",{\"kinds\":" + bomb), "taken");
    EXPECT_NE(Bad("[\"EVENT\"," + bomb), "taken");
  }
}

TEST(ClientMessage, WordsThatOthersUnderstandAreToldFromMistakes) {
  EXPECT_TRUE(std::holds_alternative<KeepAlive>(ParseClientMessage(R"(["PING"])")));
  const auto prefix = [](std::string_view text) { return std::get<BadMessage>(ParseClientMessage(text)).prefix; };
  EXPECT_EQ(prefix(R"(["REQ","a",{"search":"x"}])"), "unsupported");
  EXPECT_EQ(prefix(R"(["COUNT","a",{"#ee":[]}])"), "unsupported");
  EXPECT_EQ(prefix(R"(["REQ","a",{"kinds":1}])"), "invalid");
}

TEST(ClientMessage, NegentropyIsReadFromHexadecimal) {
  const ClientMessage open = ParseClientMessage(R"(["NEG-OPEN","n",{"kinds":[1]},"6100ff"])");
  EXPECT_EQ(std::get<NegOpen>(open).subscription, "n");
  EXPECT_EQ(std::get<NegOpen>(open).filters.size(), 1U);
  EXPECT_EQ(std::get<NegOpen>(open).message, std::string("a\0\xff", 3));
  const ClientMessage of_ndk = ParseClientMessage(R"(["NEG-OPEN","n",[{"kinds":[1]},{"kinds":[7]}],"61"])");
  EXPECT_EQ(std::get<NegOpen>(of_ndk).filters.size(), 2U);
  const ClientMessage message = ParseClientMessage(R"(["NEG-MSG","n","61"])");
  EXPECT_EQ(std::get<NegMsg>(message).subscription, "n");
  EXPECT_EQ(std::get<NegMsg>(message).message, "a");
  EXPECT_EQ(std::get<NegClose>(ParseClientMessage(R"(["NEG-CLOSE","n"])")).subscription, "n");
  const std::string digits = "the message of negentropy must be an even number of hexadecimal digits in lower case";
  for (const char* const hex : {"6", "6A", "zz", "\\u0036"})
    EXPECT_EQ(Bad(R"(["NEG-MSG","n",")" + std::string(hex) + "\"]"), "NEG-MSG|n|" + digits) << hex;
  EXPECT_EQ(Bad(R"(["NEG-MSG","n",61])"), "NEG-MSG|n|the message of negentropy must be a string, not 61");
  EXPECT_EQ(Bad(R"(["NEG-OPEN","n",{},"61",4])"), "NEG-OPEN|n|JSON must have ] at byte 23, not ,");
  EXPECT_EQ(Bad(R"(["NEG-OPEN","n",{"kinds":1},"61"])").substr(0, 22), "NEG-OPEN|n|filter 1: k");
  EXPECT_EQ(Bad(R"(["NEG-OPEN","n","61"])"), "NEG-OPEN|n|filter 1: a filter must be a JSON object, not \"61\"");
  EXPECT_EQ(Bad(R"(["NEG-OPEN","n",[],"61"])"), "NEG-OPEN|n|NEG-OPEN must have a filter");
  EXPECT_EQ(Bad(R"(["NEG-OPEN","n",[{},4],"61"])"), "NEG-OPEN|n|filter 2: a filter must be a JSON object, not 4");
  EXPECT_EQ(Bad(R"(["NEG-OPEN"])"), "NEG-OPEN||JSON must have , at byte 11, not ]");
  EXPECT_EQ(Bad(R"(["NEG-STATUS","n"])").substr(0, 33), "unknown||unknown message \"NEG-STA");
}

TEST(RelayMessage, NegentropyIsInHexadecimal) {
  EXPECT_EQ(NegMsgMessage("n\"", std::string("a\0\xff", 3)), R"(["NEG-MSG","n\"","6100ff"])");
  EXPECT_EQ(NegErrMessage("n", "blocked: \"no\""), R"(["NEG-ERR","n","blocked: \"no\""])");
  EXPECT_EQ(NegErrMessage("n", "blocked: too big", 500), R"(["NEG-ERR","n","blocked: too big",500])");
}

RC_GTEST_PROP(ClientMessageProperty, BrokenBytesAreMetWithAnAnswer, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  const std::vector<std::string> good = {R"(["REQ","sub",{"kinds":[1,2],"#t":["a","\u00e9"],"since":5,"limit":10},{}])",
                                         R"(["COUNT","sub",{"authors":[")" + kId + R"("],"until":1700000000}])",
                                         R"(["CLOSE","sub"])", "[\"EVENT\"," + random.Write(random.Event(), 1) + "]"};
  for (const std::string& text : good) CheckClientMessage(text);
  for (int n = 0; n < 50; ++n) CheckClientMessage(random.Mutated(good[random.Below(good.size())]));
}

TEST(RelayMessage, AreWrittenAsTheNipsSay) {
  EventId id;
  ASSERT_TRUE(FromHex(kId, id.data(), id.size()));
  EXPECT_EQ(OkMessage(id, true, ""), "[\"OK\",\"" + kId + "\",true,\"\"]");
  EXPECT_EQ(OkMessage(kId, false, "invalid: a \"b\""), "[\"OK\",\"" + kId + "\",false,\"invalid: a \\\"b\\\"\"]");
  EXPECT_EQ(EventMessageHead("a") + "{}" + std::string(kEventMessageTail), R"(["EVENT","a",{}])");
  EXPECT_EQ(EoseMessage("a"), R"(["EOSE","a"])");
  EXPECT_EQ(EoseMessage("a", Completeness::kFinish), R"(["EOSE","a",["finish"]])");
  EXPECT_EQ(EoseMessage("a", Completeness::kMore), R"(["EOSE","a",["more"]])");
  EXPECT_EQ(ClosedMessage("a\n", "error: x"), R"(["CLOSED","a\n","error: x"])");
  EXPECT_EQ(NoticeMessage("tab\t"), R"(["NOTICE","tab\t"])");
  EXPECT_EQ(CountMessage("a", 5), R"(["COUNT","a",{"count":5}])");
  EXPECT_EQ(CountMessage("a", 5, true), R"(["COUNT","a",{"count":5,"approximate":true}])");
  EXPECT_EQ(AuthMessage("c"), R"(["AUTH","c"])");
}

RC_GTEST_PROP(RelayMessageProperty, AnyTextSurvivesItsJson, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  const std::string text = random.Text(100);
  std::string json;
  AppendJsonString(text, &json);
  const auto tree = ReadJsonTree(json);
  RC_ASSERT(tree.has_value());
  RC_ASSERT(tree->text == text);
}

}  // namespace
}  // namespace weir
