// weir admin on a real relay: what it prints and how it ends.
#include "relay/commands/admin_command.h"

#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "relay/management_plugin.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/without_log.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

const std::string kNpub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";

class AdminCommandTest : public RelayServerTest {
 protected:
  AdminCommandTest() { Open({&plugin_}); }
  ~AdminCommandTest() override { relay_.reset(); }

  Ran Admin(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "weir admin");
    arguments.insert(arguments.end(), {"--data-dir", configuration_.data_dir});
    Ran ran = CallCommand(AdminCommand, std::move(arguments));
    ran.out = WithoutLog(ran.out);
    return ran;
  }

  ManagementPlugin plugin_;
};

TEST_F(AdminCommandTest, DecidesListsAndTakesBack) {
  const struct {
    std::vector<std::string> arguments;
    std::string out;
  } steps[] = {
      {{"ban", kNpub, "--reason", "spam"}, kNpub + " is banned; the events are hidden, and are being removed\n"},
      {{"list", "bans"}, kNpub + "  spam\n"},
      {{"list", "bans", "--json"},
       R"([{"pubkey":"7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e","reason":"spam"}])"
       "\n"},
      {{"unban", kNpub}, kNpub + " is not banned any more\n"},
      {{"list", "bans"}, "the list is empty\n"},
      {{"disallow-kind", "7"}, "kind 7 is disallowed\n"},
      {{"list", "disallowed-kinds"}, "7\n"},
      {{"block", "192.0.2.1"}, "192.0.2.1 is blocked\n"},
      {{"list", "addresses"}, "192.0.2.1\n"},
      {{"name", "a \"new\" name"}, "the name is changed\n"},
      {{"create-role", "friend", "--label", "Friend", "--color", "37"}, "the role friend is made\n"},
      {{"assign-role", kNpub, "friend"}, kNpub + " has the role\n"},
      {{"list", "members"}, kNpub + "  friend\n"},
      {{"unassign-role", kNpub, "friend"}, kNpub + " does not have the role any more\n"},
      {{"delete-role", "friend"}, "the role friend is gone\n"},
  };
  for (const auto& step : steps) {
    const Ran ran = Admin(step.arguments);
    EXPECT_EQ(ran.code, 0) << step.arguments[0] << ran.err;
    EXPECT_EQ(ran.out, step.out);
  }
}

TEST_F(AdminCommandTest, ExportsAndImports) {
  ASSERT_EQ(Admin({"ban", kNpub}).code, 0);
  const std::string path = directory_.Write("decisions.json", Admin({"export"}).out);
  ASSERT_EQ(Admin({"unban", kNpub}).code, 0);
  const Ran imported = Admin({"import", path});
  EXPECT_EQ(imported.out, "1 decisions are in force\n") << imported.err;
  EXPECT_EQ(Admin({"list", "bans"}).out, kNpub + "\n");
}

// The document is longer than a relay takes in a call.
TEST_F(AdminCommandTest, ImportsALongDocumentInParts) {
  std::vector<std::string> decisions;
  for (size_t n = 10'000; n < 27'000; ++n)
    decisions.push_back(R"({"list":"allowed_events","subject":")" + std::to_string(n) + std::string(59, 'a') +
                        R"(","reason":")" + std::string(1000, 'x') + "\"}");
  const auto import = [&] {
    return Admin({"import", directory_.Write("long.json",
                                             R"({"weir_moderation":1,"decisions":[)" + Join(decisions, ",") + "]}")});
  };
  const Ran imported = import();
  EXPECT_EQ(imported.out, "17000 decisions are in force\n") << imported.err;
  decisions.back() = R"({"list":"allowed_events","subject":"x"})";
  const Ran ran = import();
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(Has(ran.err, "decisions are in force; of those after them: decisions[")) << ran.err;
}

TEST_F(AdminCommandTest, SaysWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* part_of_error;
  } cases[] = {
      {{"ban", "npub1x"}, 1, "is not a public key"},
      {{"unban", kNpub}, 1, "is not in the list"},
      {{"ban"}, 2, "NPUB"},
      {{"list", "everything"}, 2, "everything"},
      {{"import", "/nowhere.json"}, 2, "cannot read /nowhere.json"},
      {{"list", "bans", "--url", "http://127.0.0.1:1"}, 1, "cannot connect"},
      {{"forbid", kNpub}, 2, "A subcommand is required"},
  };
  for (const auto& c : cases) {
    const Ran ran = Admin(c.arguments);
    EXPECT_EQ(ran.code, c.code) << c.arguments[0] << ran.err;
    EXPECT_TRUE(Has(ran.err, c.part_of_error)) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(AdminCommandTest, AWrongTokenIsToldWithItsOrigin) {
  const std::string path = directory_.Write("token", std::string(64, 'a'));
  const Ran ran = Admin({"list", "bans", "--token-file", path});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(Has(ran.err, "wrong token")) << ran.err;
  EXPECT_TRUE(Has(ran.err, path)) << ran.err;
}

}  // namespace
}  // namespace weir
