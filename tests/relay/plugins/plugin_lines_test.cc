#include "relay/plugins/plugin_lines.h"

#include <gtest/gtest.h>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

TEST(PluginLines, AQuestionHasTheEventAsItIsStored) {
  const std::string json = Signer(7).SignedEvent(1'700'000'000, 1, R"([["t","ä"]])", "two\\nlines");
  const Event event = EventParser().Parse(json).value();
  const PluginQuestion question = QuestionAbout(event.view(), 1'700'000'001, SourceOfClient("192.0.2.1"));
  EXPECT_EQ(question.id, ToHex(event.view().id()));
  EXPECT_EQ(question.line, R"({"type":"new","event":)" + json +
                               R"(,"receivedAt":1700000001,"sourceType":"IP4","sourceInfo":"192.0.2.1"})" + "\n");
}

TEST(PluginLines, ASourceIsAnAddressOrAnImport) {
  EXPECT_EQ(SourceOfClient("192.0.2.1").type, "IP4");
  EXPECT_EQ(SourceOfClient("2001:db8::1").type, "IP6");
  EXPECT_EQ(kImportSource.type, "Import");
}

TEST(PluginLines, AQuestionAboutARequestHasAnIdOfItsOwn) {
  const std::vector<Filter> filters = {ParseFilter(R"({"kinds":[1]})").value(), ParseFilter(R"({"limit":3})").value()};
  const std::vector<std::string> keys = {"aa", "bb"};
  const AskedRequest request{.subscription = "a\"b", .filters = filters, .keys = keys};
  const PluginQuestion one = QuestionAbout(request, 5, SourceOfClient("::1"));
  const PluginQuestion two = QuestionAbout(request, 5, SourceOfClient("::1"));
  EXPECT_NE(one.id, two.id);
  EXPECT_EQ(one.line, R"({"type":"req","id":")" + one.id +
                          R"(","verb":"REQ","subscription":"a\"b","filters":[{"kinds":[1]},{"limit":3}],)" +
                          R"("authed":["aa","bb"],"receivedAt":5,"sourceType":"IP6","sourceInfo":"::1"})" + "\n");
}

TEST(PluginLines, ReadsAnswersAsProgramsWriteThem) {
  const struct {
    const char* line;
    PluginAction action;
    const char* message;
  } cases[] = {
      {R"({"id":"a1","action":"accept","msg":""})", PluginAction::kAccept, ""},
      {R"({"action": "reject", "msg": "blocked: no \"spam\"", "id": "a1"})", PluginAction::kReject,
       "blocked: no \"spam\""},
      {R"({"id":"a1","action":"shadowReject"})", PluginAction::kShadowReject, ""},
      {R"({"id":"a1","action":"accept","msg":null,"extra":{"x":[1]}} )", PluginAction::kAccept, ""},
  };
  for (const auto& c : cases) {
    const Result<PluginAnswer> answer = ParsePluginAnswer(c.line);
    ASSERT_TRUE(answer.ok()) << c.line << ": " << answer.status().message();
    EXPECT_EQ(answer.value().id, "a1");
    EXPECT_EQ(answer.value().action, c.action) << c.line;
    EXPECT_EQ(answer.value().message, c.message);
  }
}

TEST(PluginLines, AnythingElseIsAnError) {
  for (const char* line : {"", "ready", "[]", "{", R"({"id":"a1"})", R"({"action":"accept"})",
                           R"({"id":"a1","action":"maybe"})", R"({"id":7,"action":"accept"})",
                           R"({"id":"a1","action":"accept"} {})", "{\"id\":\"\xff\",\"action\":\"accept\"}"}) {
    EXPECT_FALSE(ParsePluginAnswer(line).ok()) << line;
  }
}

TEST(PluginLines, ARefusalHasAPrefix) {
  EXPECT_EQ(RefusalByPlugin("rate-limited: slow down"), "rate-limited: slow down");
  EXPECT_EQ(RefusalByPlugin("not on the list"), "blocked: not on the list");
  EXPECT_EQ(RefusalByPlugin("reason: not on the list"), "blocked: reason: not on the list");
  EXPECT_EQ(RefusalByPlugin("blocked"), "blocked: blocked");
  EXPECT_TRUE(RefusalByPlugin("").starts_with("blocked: "));
}

}  // namespace
}  // namespace weir
