// A relay whose administrators decide while it runs.
#include <string>

#include "relay/moderation/moderation.h"
#include "relay/nostr/signature.h"
#include "relay/relay_plugin.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

// Keeps the relay's moderation for a test.
class ModerationHolder final : public RelayPlugin {
 public:
  Status Start(const RelayServices& services) override {
    moderation = &services.moderation;
    return {};
  }
  void Stop() override {}
  void AppendMetrics(MetricFamilies& /*families*/) const override {}

  Moderation* moderation = nullptr;
};

class RelayModerationTest : public RelayServerTest {
 protected:
  RelayModerationTest() { configuration_.relay.admin_pubkey = ToHex(Signer(9).pubkey()); }
  ~RelayModerationTest() override { relay_.reset(); }

  void Open() { RelayServerTest::Open({&holder_}); }
  std::string Put(DecisionList list, const std::string& subject, const std::string& detail = "") {
    return holder_.moderation->Decide({.list = list, .subject = subject, .detail = detail, .by = "me"}).message();
  }
  std::string Document() const {
    return AskPort(relay_->port(), "GET", "/", "", "Accept: application/nostr+json\r\n").body;
  }

  ModerationHolder holder_;
};

TEST_F(RelayModerationTest, TheTextsOfAdministratorsStandInTheDocument) {
  configuration_.relay.name = "by the settings";
  Open();
  EXPECT_TRUE(Has(Document(), R"("name": "by the settings")")) << Document();
  EXPECT_EQ(Put(DecisionList::kRelayTexts, "name", "by \"us\""), "");
  EXPECT_EQ(Put(DecisionList::kRelayTexts, "icon", "https://weir.example/icon.png"), "");
  EXPECT_TRUE(Has(Document(), R"("name": "by \"us\"")")) << Document();
  EXPECT_TRUE(Has(Document(), R"("icon": "https://weir.example/icon.png")")) << Document();
  EXPECT_TRUE(Has(AskPort(relay_->port(), "GET", "/").body, "by &quot;us&quot;"));
  Open();
  EXPECT_TRUE(Has(Document(), R"("name": "by \"us\"")")) << "after a restart";
  EXPECT_TRUE(holder_.moderation->Revoke(DecisionList::kRelayTexts, "name", "me").value());
  EXPECT_TRUE(Has(Document(), R"("name": "by the settings")")) << Document();
}

TEST_F(RelayModerationTest, ABanIsAnsweredAndCounted) {
  Open();
  EXPECT_TRUE(Has(Put(DecisionList::kBannedAuthors, configuration_.relay.admin_pubkey), "is an administrator"));
  EXPECT_EQ(Put(DecisionList::kBannedAuthors, ToHex(Signer(1).pubkey())), "");
  RawClient client(relay_->port());
  ASSERT_TRUE(client.Handshake());
  client.Text("[\"EVENT\"," + Signer(1).SignedEvent(1'700'000'000, 1, "[]", "a") + "]");
  const auto metrics = [&] { return AskPort(relay_->port(), "GET", "/metrics").body; };
  EXPECT_TRUE(Eventually([&] { return Has(metrics(), "weir_refusals_total{prefix=\"blocked\"} 1"); })) << metrics();
  EXPECT_TRUE(Has(metrics(), "weir_moderation_decisions{list=\"banned_authors\"} 1"));
  EXPECT_TRUE(Has(metrics(), "weir_moderation_changes_total{list=\"banned_authors\"} 1"));
  EXPECT_TRUE(Eventually([&] { return Has(metrics(), "weir_moderation_removals 0"); }));
}

}  // namespace
}  // namespace weir
