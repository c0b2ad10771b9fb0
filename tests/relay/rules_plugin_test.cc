// A relay that reads its rules from weir.yaml, and reads them again.
#include "relay/rules_plugin.h"

#include <string>

#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

class RulesPluginTest : public RelayServerTest {
 protected:
  ~RulesPluginTest() override { relay_.reset(); }

  void Open() { RelayServerTest::Open({&plugin_}); }
  std::string Document() const {
    return AskPort(relay_->port(), "GET", "/", "", "Accept: application/nostr+json\r\n").body;
  }
  std::string Metrics() const { return AskPort(relay_->port(), "GET", "/metrics").body; }

  const std::string path_ = directory_.Write("weir.yaml", "relay: {write: {proof_of_work: [{bits: 7}]}}\n");
  RulesPlugin plugin_{[this] { return path_; }};
};

TEST_F(RulesPluginTest, RulesHoldAndAreReadAgainWhenTheyChange) {
  Open();
  EXPECT_TRUE(Has(Document(), R"("min_pow_difficulty": 7)")) << Document();
  EXPECT_TRUE(Has(Document(), R"("restricted_writes": true)")) << Document();
  directory_.Write("weir.yaml", "relay: {write: {proof_of_work: [{bits: 9}]}}\n");
  plugin_.HangUp();
  EXPECT_TRUE(Eventually([&] { return Has(Document(), R"("min_pow_difficulty": 9)"); }));
}

TEST_F(RulesPluginTest, AWrongFileChangesNothing) {
  Open();
  directory_.Write("weir.yaml", "relay: {write: {proof_of_work: [{bits: 9}], rates: [x]}}\n");
  EXPECT_TRUE(
      Eventually([&] { return Has(AskPort(relay_->port(), "GET", "/metrics").body, "weir_rules_config_good 0"); }));
  EXPECT_TRUE(Has(Document(), R"("min_pow_difficulty": 7)")) << Document();
}

TEST_F(RulesPluginTest, AWrongFileOfKeysIsNamed) {
  directory_.Write("keys.txt", "not a key\n");
  directory_.Write("weir.yaml", "relay: {write: {deny: {authors_file: keys.txt}}}\n");
  const auto failed = Relay::Open(configuration_, false, {&plugin_});
  ASSERT_FALSE(failed.ok());
  EXPECT_TRUE(Has(failed.status().message(), "keys.txt:1:1: found \"not a key\"")) << failed.status().message();
}

TEST_F(RulesPluginTest, RefusalsAreCountedByTheKindOfTheirRule) {
  Open();
  RawClient client(relay_->port());
  ASSERT_TRUE(client.Handshake());
  client.Text("[\"EVENT\"," + Signer(1).SignedEvent(1'700'000'000, 1, "[]", "a") + "]");
  EXPECT_TRUE(Eventually([&] { return Has(Metrics(), "weir_rules_refusals_total{of=\"event\",rule=\"work\"} 1"); }));
}

}  // namespace
}  // namespace weir
