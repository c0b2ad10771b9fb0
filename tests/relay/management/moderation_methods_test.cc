// The methods of NIP-86 on a relay.
#include "relay/management/moderation_methods.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/has_text.h"
#include "tests/relay/management/managed_relay.h"

namespace weir {
namespace {

const std::string kHex = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
const std::string kNpub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
const std::string kId(64, 'e');

using ModerationMethodsTest = ManagedRelayTest;

struct Step {
  std::string method;
  std::string parameters;
  std::string body;  // the answer, without its newline
};

TEST_F(ModerationMethodsTest, EachDecidesListsAndTakesBack) {
  const Step steps[] = {
      {"banpubkey", "\"" + kNpub + "\",\"spam\"", R"({"result":true})"},
      {"listbannedpubkeys", "", R"({"result":[{"pubkey":")" + kHex + R"(","reason":"spam"}]})"},
      {"allowpubkey", "\"" + kHex + "\"", R"({"result":true})"},
      {"listbannedpubkeys", "", R"({"result":[]})"},
      {"listallowedpubkeys", "", R"({"result":[{"pubkey":")" + kHex + R"("}]})"},
      {"unallowpubkey", "\"" + kHex + "\",\"enough\"", R"({"result":true})"},
      {"listallowedpubkeys", "", R"({"result":[]})"},
      {"banpubkey", "\"" + kHex + "\"", R"({"result":true})"},
      {"unbanpubkey", "\"" + kHex + "\"", R"({"result":true})"},
      {"banevent", "\"" + kId + "\",\"illegal\"", R"({"result":true})"},
      {"listbannedevents", "", R"({"result":[{"id":")" + kId + R"(","reason":"illegal"}]})"},
      {"allowevent", "\"" + kId + "\"", R"({"result":true})"},
      {"listbannedevents", "", R"({"result":[]})"},
      {"unallowevent", "\"" + kId + "\"", R"({"result":true})"},
      {"banevent", "\"" + kId + "\"", R"({"result":true})"},
      {"unbanevent", "\"" + kId + "\"", R"({"result":true})"},
      {"blockip", R"("192.0.2.0/24","flood")", R"({"result":true})"},
      {"listblockedips", "", R"({"result":[{"ip":"192.0.2.0/24","reason":"flood"}]})"},
      {"unblockip", R"("192.0.2.0/24")", R"({"result":true})"},
      {"listblockedips", "", R"({"result":[]})"},
  };
  for (const Step& step : steps) {
    const RawAnswer answer = Manage(step.method, step.parameters);
    EXPECT_EQ(answer.status, 200) << step.method;
    EXPECT_EQ(answer.body, step.body + "\n") << step.method;
  }
}

TEST_F(ModerationMethodsTest, AKindThatWasDisallowedIsOneOfAllAgain) {
  const Step steps[] = {
      {"disallowkind", "7", R"({"result":true})"},     {"listdisallowedkinds", "", R"({"result":[7]})"},
      {"allowkind", "7", R"({"result":true})"},        {"listdisallowedkinds", "", R"({"result":[]})"},
      {"listallowedkinds", "", R"({"result":[]})"},    {"allowkind", "1", R"({"result":true})"},
      {"disallowkind", "7", R"({"result":true})"},     {"allowkind", "\"7\"", R"({"result":true})"},
      {"listallowedkinds", "", R"({"result":[1,7]})"}, {"disallowkind", "1", R"({"result":true})"},
      {"listallowedkinds", "", R"({"result":[7]})"},
  };
  for (const Step& step : steps) EXPECT_EQ(Manage(step.method, step.parameters).body, step.body + "\n") << step.method;
}

TEST_F(ModerationMethodsTest, RolesHaveMembers) {
  const Step steps[] = {
      {"createrole", R"("28b7","king","ruler",37,1)", R"({"result":true})"},
      {"editrole", R"("28b7","queen",null,"360")", R"({"result":true})"},
      {"listroles", "", R"({"result":[{"id":"28b7","detail":{"label":"queen","color":360}}]})"},
      {"assignrole", "\"" + kNpub + R"(","28b7")", R"({"result":true})"},
      {"listmembers", "", R"({"result":[{"pubkey":")" + kHex + R"(","role":"28b7"}]})"},
      {"unassignrole", "\"" + kHex + R"(","28b7")", R"({"result":true})"},
      {"listmembers", "", R"({"result":[]})"},
      {"assignrole", "\"" + kHex + R"(","28b7")", R"({"result":true})"},
      {"deleterole", R"("28b7")", R"({"result":true})"},
      {"listmembers", "", R"({"result":[]})"},
      {"listroles", "", R"({"result":[]})"},
  };
  for (const Step& step : steps) EXPECT_EQ(Manage(step.method, step.parameters).body, step.body + "\n") << step.method;
}

TEST_F(ModerationMethodsTest, ChangesOfTextsAreInTheDocument) {
  const auto document = [this] {
    return AskPort(relay_->port(), "GET", "/", "", "Accept: application/nostr+json\r\n").body;
  };
  EXPECT_TRUE(Has(document(), "86]")) << document();
  Manage("changerelayname", R"("a new name")");
  Manage("changerelaydescription", R"("a new purpose")");
  Manage("changerelayicon", R"("https://relay.example/icon.png")");
  for (const char* part : {R"("name": "a new name")", R"("description": "a new purpose")", R"(example/icon.png")"})
    EXPECT_TRUE(Has(document(), part)) << document();
  EXPECT_EQ(Manage("changerelayname", R"("")").body, "{\"result\":true}\n");
  EXPECT_TRUE(Has(document(), R"("name": "weir")")) << document();
}

TEST_F(ModerationMethodsTest, AWrongSubjectIsNamedAndChangesNothing) {
  const struct {
    const char* method;
    std::string parameters;
    std::string part_of_error;
  } cases[] = {
      {"banpubkey", "\"x\"", "is not a public key"},
      {"banpubkey", "\"" + ToHex(operator_.pubkey()) + "\"", "administrator"},
      {"banpubkey", "\"" + ToHex(moderator_.pubkey()) + "\"", "administrator"},
      {"unbanpubkey", "\"" + kHex + "\"", "is not in the list banned_authors"},
      {"unallowpubkey", "\"" + kHex + "\"", "is not in the list allowed_authors"},
      {"banevent", "\"note1\"", "is not an event's id"},
      {"blockip", "\"nowhere\"", "nowhere"},
      {"unblockip", "\"192.0.2.1\"", "is not in the list blocked_addresses"},
      {"allowkind", "65536", "65536"},
      {"editrole", "\"r\"", "there is no role r; createrole makes it"},
      {"createrole", R"("r","","",361)", "the color, a hue, is "},
      {"deleterole", "\"r\"", "is not in the list roles"},
      {"assignrole", "\"" + kHex + "\",\"r\"", "there is no role r"},
      {"unassignrole", "\"" + kHex + "\",\"r\"", "is not in the list members"},
      {"changerelayname", "\"" + std::string(257, 'a') + "\"", "has 257 bytes, and may have 256"},
      {"changerelayicon", "\"javascript:0\"", "begins with https://"},
      {"importmoderation", "{}", ""},
  };
  for (const auto& c : cases) {
    const RawAnswer answer = Manage(c.method, c.parameters);
    EXPECT_EQ(answer.status, 200) << c.method;
    EXPECT_TRUE(answer.body.starts_with(R"({"result":null,"error":)")) << c.method << answer.body;
    EXPECT_TRUE(Has(answer.body, c.part_of_error)) << c.method << answer.body;
  }
  EXPECT_TRUE(Has(Manage("exportmoderation").body, R"("decisions":[])")) << Manage("exportmoderation").body;
}

TEST_F(ModerationMethodsTest, DecisionsAreExportedAndImported) {
  Manage("banpubkey", "\"" + kHex + "\",\"spam\"");
  Manage("blockip", "\"2001:db8::/32\"");
  const std::string answer = Manage("exportmoderation").body;
  const std::string document = answer.substr(10, answer.size() - 12);
  Manage("unbanpubkey", "\"" + kHex + "\"");
  EXPECT_EQ(Manage("importmoderation", document).body, "{\"result\":2}\n") << document;
  EXPECT_TRUE(Has(Manage("listbannedpubkeys").body, kHex));
}

TEST_F(ModerationMethodsTest, ReportsAreListedUntilTheyAreAnswered) {
  RawClient client(relay_->port());
  ASSERT_TRUE(client.Handshake());
  const uint64_t now = WallClock::System().NowSeconds();
  for (const uint64_t age : {1, 2}) {
    const std::string target = R"([["e",")" + std::string(64, age == 1 ? 'd' : 'e') + R"(","spam"]])";
    client.Text("[\"EVENT\"," + operator_.SignedEvent(now - age, 1984, target, "again") + "]");
    ASSERT_TRUE(Has(client.ReadText().value_or(""), ",true,"));
  }
  const std::string both =
      R"({"result":[{"id":")" + std::string(64, 'd') + R"(","reason":"spam: again"},{"id":")" + kId + R"(",)";
  EXPECT_TRUE(Manage("listeventsneedingmoderation").body.starts_with(both));
  EXPECT_TRUE(Manage("listreports").body.starts_with(R"({"result":[{"id":")"));
  Manage("allowevent", "\"" + std::string(64, 'd') + "\"");
  const std::string open = Manage("listreports").body;
  EXPECT_FALSE(Has(open, std::string(64, 'd'))) << open;
  EXPECT_TRUE(Has(open, kId)) << open;
  EXPECT_TRUE(Has(Manage("listreports", "\"all\"").body, std::string(64, 'd')));
  for (const auto& [method, parameters] :
       {std::pair("listreports", "\"all\",\"x\""), {"listeventsneedingmoderation", "\"x\""}})
    EXPECT_TRUE(Has(Manage(method, parameters).body, "the parameter after is x")) << method;
}

TEST_F(ModerationMethodsTest, ALongListComesInParts) {
  std::string decisions;
  constexpr int kMore = 5;
  for (size_t i = 0; i < kMostListed + kMore; ++i) {
    const std::string number = std::to_string(100'000 + i);
    decisions += (i == 0 ? "" : ",") + std::string(R"({"list":"banned_events","subject":")") + number +
                 std::string(64 - number.size(), '0') + R"(","at":1})";
  }
  const std::string imported =
      Manage("importmoderation", R"({"weir_moderation":1,"decisions":[)" + decisions + "]}").body;
  ASSERT_EQ(imported, "{\"result\":" + std::to_string(kMostListed + kMore) + "}\n");
  const std::string first = Manage("listbannedevents").body;
  const std::string last = "109999" + std::string(58, '0');
  EXPECT_TRUE(first.ends_with(R"({"id":")" + last + R"("}],"after":")" + last + "\"}\n"))
      << first.substr(first.size() - 300);
  const std::string second = Manage("listbannedevents", "\"" + last + "\"").body;
  EXPECT_TRUE(second.starts_with(R"({"result":[{"id":"110000)")) << second;
  EXPECT_TRUE(second.ends_with("}]}\n")) << second;
}

}  // namespace
}  // namespace weir
