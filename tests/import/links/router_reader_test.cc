// The section `router` of weir.yaml: the orders that it means, and the errors of a wrong one.
#include "import/links/router_reader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class RouterReaderTest : public testing::Test {
 protected:
  Result<RouterRead> Read(const std::string& text) {
    const std::string path = directory_ / "weir.yaml";
    WriteText(path, text);
    return ReadRouter(path);
  }
  TempDirectory directory_;
};

TEST_F(RouterReaderTest, MakesAnOrderOfEachRelay) {
  const auto read = Read(R"(
router:
  friends:
    relays: [wss://one.example, "ws://127.0.0.1:7777/path"]
    dir: down
    filters:
      - {kinds: [0, 3], since: 1000}
      - {authors: [npub1sn0wdenkukak0d9dfczzeacvhkrgz92ak56egt7vdgzn8pv2wfqqhrjdv9], "#t": [weir]}
    catch_up: 7d
    plugin: ./judge
    ca: mine.pem
  archive:
    relays: [wss://three.example]
    catch_up: none
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().summary, "3 links");
  const std::vector<LinkOrder>& orders = read.value().orders;
  ASSERT_EQ(orders.size(), 3U);
  LinkOrder one{
      .group = "friends",
      .url = "wss://one.example",
      .direction = SyncDirection::kDown,
      .filters = {ParseFilter(R"({"kinds":[0,3],"since":1000})").value(),
                  ParseFilter(R"({"authors":["84dee6e676e5bb67b4ad4e042cf70cbd8681155db535942fcc6a0533858a7240"],)"
                              R"("#t":["weir"]})")
                      .value()},
      .catch_up_s = 7 * 86400,
      .plugin = "./judge",
      .ca_file = "mine.pem"};
  EXPECT_TRUE(orders[0] == one);
  one.url = "ws://127.0.0.1:7777/path";
  EXPECT_TRUE(orders[1] == one);
  EXPECT_TRUE(orders[2] == (LinkOrder{.group = "archive", .url = "wss://three.example", .catch_up_s = 0}));
}

TEST_F(RouterReaderTest, ReadsTheExampleOfTheGuide) {
  std::ifstream file(WEIR_SOURCE_DIR "/import/GUIDE.md");
  const std::string guide((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t begin = guide.find("router:\n");
  ASSERT_NE(begin, std::string::npos);
  const auto read = Read(guide.substr(begin, guide.find("```", begin) - begin));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().summary, "3 links");
}

TEST_F(RouterReaderTest, HasNoOrdersWithoutASection) {
  EXPECT_EQ(ReadRouter("").value().orders.size(), 0U);
  const auto read = Read("relay: {}\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().summary, "no links");
}

TEST_F(RouterReaderTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* group;
    const char* error;
  } cases[] = {
      {"{}", "relays"},
      {"{relays: []}", "expected at least one relay"},
      {"{relays: [https://one.example]}", "must begin with ws:// or wss://"},
      {"{relays: [wss://a.example, wss://a.example]}", "is in the router already"},
      {"{relays: [wss://a.example], dir: sideways}", "expected one of both, down, up"},
      {"{relays: [wss://a.example], catch_up: soon}", "neither all, nor none, nor an age such as 7d"},
      {"{relays: [wss://a.example], catch_up: 0d}", "say none to compare nothing"},
      {"{relays: [wss://a.example], filters: [{kind: [1]}]}", "is no filter: unknown field \"kind\""},
      {"{relays: [wss://a.example], filters: [{kinds: [1], limit: 5}]}", "a filter cannot have a limit here"},
      {"{relays: [wss://a.example], filters: [{kinds: [70000]}]}", "70000"},
      {"{relays: [wss://a.example], filters: [{kinds: []}]}", "matches no event"},
      {"{relays: [wss://a.example], filters: []}", "there is no filter"},
      {"{relays: [wss://a.example], filters: [{authors: [npub1x]}]}", "npub1x is not a public key"},
      {"{relays: [wss://a.example], filters: [7]}", "expected"},
      {"{relays: [wss://a.example], dir: up, plugin: ./judge}", "the plugin has no effect"},
      {"{relays: [wss://a.example], colour: red}", "colour"},
  };
  for (const auto& [group, error] : cases) {
    const auto read = Read("router:\n  friends: " + std::string(group) + "\n");
    ASSERT_FALSE(read.ok()) << group;
    EXPECT_NE(read.status().message().find(error), std::string::npos) << group << ": " << read.status().message();
    EXPECT_NE(read.status().message().find("weir.yaml:2:"), std::string::npos) << read.status().message();
  }
}

}  // namespace
}  // namespace weir
