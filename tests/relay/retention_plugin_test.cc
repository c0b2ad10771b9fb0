// Retention in a relay: what clients see of it, and what operators see.
#include "relay/retention_plugin.h"

#include <string>
#include <utility>
#include <vector>

#include "relay/commands/rules_command.h"
#include "relay/ladder_plugin.h"
#include "relay/nostr/signature.h"
#include "relay/rules_plugin.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kDay = 86'400;

class RetentionPluginTest : public RelayServerTest {
 protected:
  ~RetentionPluginTest() override { relay_.reset(); }

  void Open() { RelayServerTest::Open({&rules_, &ladder_, &retention_}); }
  void WriteRules(const std::string& retention) {
    directory_.Write("weir.yaml", "relay: {retention: " + retention + "}\n");
  }
  std::string Metrics() const { return AskPort(relay_->port(), "GET", "/metrics").body; }
  // Sends an event that is `days` old, and returns the answer.
  std::string Publish(uint64_t author, uint16_t kind, uint64_t days) const {
    RawClient client(relay_->port());
    EXPECT_TRUE(client.Handshake());
    const uint64_t at = WallClock::System().NowSeconds() - days * kDay;
    client.Text("[\"EVENT\"," + Signer(author).SignedEvent(at, kind, "[]", "a") + "]");
    return client.ReadText().value_or("");
  }
  std::string Count(const std::string& filter) const {
    RawClient client(relay_->port());
    EXPECT_TRUE(client.Handshake());
    client.Text("[\"COUNT\",\"c\"," + filter + "]");
    return client.ReadText().value_or("");
  }

  const std::string path_ = directory_.Write("weir.yaml", "relay: {}\n");
  RulesPlugin rules_{[this] { return path_; }};
  ManagementMethods methods_;
  LadderPlugin ladder_{methods_};
  RetentionPlugin retention_;
};

TEST_F(RetentionPluginTest, RequestsCountsAndSubscriptionsAgreeWithWhatARuleRemoves) {
  Open();
  EXPECT_TRUE(Has(Publish(1, 7, 2), ",true,"));
  EXPECT_TRUE(Has(Publish(1, 1, 2), ",true,"));
  RawClient subscriber(relay_->port());
  ASSERT_TRUE(subscriber.Handshake());
  subscriber.Text(R"(["REQ","s",{"kinds":[7]}])");
  EXPECT_TRUE(Has(subscriber.ReadText().value_or(""), "\"EVENT\""));
  EXPECT_TRUE(Has(subscriber.ReadText().value_or(""), "\"EOSE\""));
  WriteRules("{remove: [{kinds: [7], older_than: 1d}]}");
  rules_.HangUp();
  EXPECT_TRUE(Eventually([&] { return Has(Count(R"({"kinds":[7]})"), R"("count":0)"); }));
  EXPECT_TRUE(Has(Count("{}"), R"("count":1)"));
  EXPECT_TRUE(Eventually(
      [&] { return Has(Metrics(), "weir_retention_removed_events_total{rule=\"relay.retention.remove[0]\"} 1"); }));
  EXPECT_TRUE(Has(Publish(2, 7, 0), ",true,"));
  EXPECT_TRUE(Has(subscriber.ReadText().value_or(""), "\"EVENT\"")) << "the subscription goes on";
  EXPECT_TRUE(Has(Publish(1, 7, 2), ",true,")) << "a removed event may come again, and goes again";
}

TEST_F(RetentionPluginTest, TheDocumentStatesTheRules) {
  WriteRules(
      "{keep: [{kinds: [0, 3]}], remove: [{kinds: [7, 30000-39999], older_than: 30d}, {older_than: 90d, all: true}]}");
  Open();
  std::string document = AskPort(relay_->port(), "GET", "/", "", "Accept: application/nostr+json\r\n").body;
  std::erase_if(document, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_TRUE(Has(document, R"("retention":[{"kinds":[0,3],"time":null},{"kinds":[7,[30000,39999]],"time":2592000},)"
                            R"({"time":7776000}])"))
      << document;
}

TEST_F(RetentionPluginTest, RulesAboutStandingNeedTheLadder) {
  WriteRules("{keep: [{from: trusted}]}");
  configuration_.standing.mode = LadderMode::kOff;
  const auto failed = Relay::Open(configuration_, false, {&rules_, &ladder_, &retention_});
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(Has(failed.status().message(), "WEIR_LADDER=off")) << failed.status().message();
}

TEST_F(RetentionPluginTest, ABudgetKeepsWhatRulesKeepAndThenTakesNoMore) {
  WriteRules("{keep: [{kinds: [0]}]}");
  configuration_.retention.max_disk_gb = 1e-9;
  Open();
  EXPECT_TRUE(Has(Publish(1, 0, 0), ",true,"));
  EXPECT_TRUE(Eventually([&] { return Has(Metrics(), "weir_disk_budget_room 3\n"); }));
  EXPECT_TRUE(Has(Publish(2, 1, 0), "all that is stored is to be kept"));
  EXPECT_TRUE(Has(Count("{}"), R"("count":1)"));
  const std::string metrics = Metrics();
  EXPECT_TRUE(Has(metrics, "weir_disk_budget_bytes 1\n")) << metrics;
  EXPECT_TRUE(Has(metrics, "weir_retention_hindered 1\n")) << metrics;
}

TEST_F(RetentionPluginTest, LiveShowsWhatWasRemovedAndWhy) {
  WriteRules("{remove: [{kinds: [7], older_than: 1d}]}");
  configuration_.retention.max_disk_gb = 50;
  Open();
  LiveRates rates;
  rates.Begin(Clock::System().Now());
  LiveTables tables(rates);
  retention_.AppendLive(tables);
  const std::vector<LiveTable> shown = std::move(tables).Take();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].name, "retention");
  EXPECT_TRUE(Has(shown[0].title, "of 50.0 GB on disk")) << shown[0].title;
  EXPECT_TRUE(shown[0].rows.empty());
}

TEST_F(RetentionPluginTest, TheCommandSaysWhatTheRulesDoWithAnEvent) {
  WriteRules("{keep: [{from: regular}], remove: [{kinds: [7], older_than: 1d}]}");
  const std::string old = Signer(1).SignedEvent(1'700'000'000, 7, "[]", "a");
  const Ran stranger = CallCommand(RulesCommand, {"weir rules", "test", old, "--config", path_});
  EXPECT_EQ(stranger.code, 0) << stranger.err;
  EXPECT_TRUE(Has(stranger.out, "relay.retention.remove[0]: removed, because it is older than 24 h")) << stranger.out;
  const Ran regular = CallCommand(RulesCommand, {"weir rules", "test", old, "--config", path_, "--rung", "regular"});
  EXPECT_TRUE(Has(regular.out, "relay.retention.keep[0]: kept")) << regular.out;
  EXPECT_EQ(CallCommand(RulesCommand, {"weir rules", "test", old, "--config", path_, "--rung", "king"}).code, 2);
  EXPECT_TRUE(Has(CallCommand(RulesCommand, {"weir rules", "check", path_}).out, "are removed when they are 24 h old"));
}

}  // namespace
}  // namespace weir
