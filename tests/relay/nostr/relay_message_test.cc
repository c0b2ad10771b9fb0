#include "relay/nostr/relay_message.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using Kind = RelayMessage::Kind;

RelayMessage Parsed(const std::string& text) {
  const Result<RelayMessage> message = ParseRelayMessage(text);
  EXPECT_TRUE(message.ok()) << message.status().message();
  return message.ok() ? message.value() : RelayMessage{};
}

TEST(RelayMessageTest, HasWhatItsKindHas) {
  const std::string event = R"(["EVENT","a\"b",{"id":"x","tags":[["e","]"]]}])";
  EXPECT_EQ(Parsed(event).kind, Kind::kEvent);
  EXPECT_EQ(Parsed(event).subject, "a\"b");
  EXPECT_EQ(Parsed(event).event, R"({"id":"x","tags":[["e","]"]]})");
  const RelayMessage ok = Parsed(R"(["OK","abc",true,"duplicate: have it"])");
  EXPECT_EQ(ok.kind, Kind::kOk);
  EXPECT_TRUE(ok.accepted);
  EXPECT_EQ(ok.text, "duplicate: have it");
  EXPECT_FALSE(Parsed(R"( [ "OK" , "abc" , false , "" ] )").accepted);
  EXPECT_EQ(Parsed(R"(["EOSE","s",["finish"]])").kind, Kind::kEose);
  EXPECT_EQ(Parsed(R"(["CLOSED","s","error: no"])").text, "error: no");
  EXPECT_EQ(Parsed(R"(["CLOSED","s"])").text, "") << "some relays give no reason";
  EXPECT_TRUE(Parsed(R"(["OK","abc",true])").accepted);
  EXPECT_EQ(Parsed(R"(["NOTICE","hello\n"])").text, "hello\n");
  EXPECT_EQ(Parsed(R"(["AUTH","challenge"])").kind, Kind::kAuth);
  EXPECT_EQ(Parsed(R"(["NEG-MSG","n","61"])").text, "61");
  EXPECT_EQ(Parsed(R"(["NEG-ERR","n","closed: too slow"])").kind, Kind::kNegErr);
  EXPECT_EQ(Parsed(R"(["COUNT","s",{"count":3}])").kind, Kind::kOther);
}

TEST(RelayMessageTest, IsAnErrorIfAnElementIsMissingOrWrong) {
  for (const char* text :
       {"", "x", "{}", "[]", "[1]", R"(["EVENT","s"])", R"(["EVENT","s","x"])", R"(["EVENT",1,{}])",
        R"(["OK","a",1,""])", R"(["OK","a"])", R"(["EOSE"])", R"(["CLOSED"])", R"(["CLOSED","s",1])",
        R"(["NEG-MSG","n"])", R"(["NEG-MSG","n",7])", R"(["EOSE","s"]x)", "[\"NOTICE\",\"\xff\"]", R"(["NOTICE","x)"})
    EXPECT_FALSE(ParseRelayMessage(text).ok()) << text;
}

}  // namespace
}  // namespace weir
