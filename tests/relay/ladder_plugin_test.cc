// The trust ladder in a relay: at /metrics and /live, and by the method `explainstanding` and `weir who`.
#include "relay/ladder_plugin.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/text/json_string.h"
#include "relay/commands/who_command.h"
#include "relay/management_plugin.h"
#include "relay/nostr/npub.h"
#include "relay/nostr/signature.h"
#include "relay/running/running_relay.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/without_log.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

class LadderPluginTest : public RelayServerTest {
 protected:
  ~LadderPluginTest() override { relay_.reset(); }

  void Open(LadderMode mode = LadderMode::kObserve) {
    relay_.reset();
    configuration_.standing.mode = mode;
    plugin_.reset();
    management_ = std::make_unique<ManagementPlugin>();
    plugin_ = std::make_unique<LadderPlugin>(management_->methods());
    RelayServerTest::Open({management_.get(), plugin_.get()});
  }
  // Returns the result of the method, or its error.
  std::string Standing(const std::string& key) const {
    const Result<ManagementAnswer> answer =
        RunningRelay::Find(configuration_, {}).value().Call("explainstanding", {QuotedJson(key)});
    return answer.ok() ? answer.value().result : answer.status().message();
  }
  std::string Metrics() const { return AskPort(relay_->port(), "GET", "/metrics").body; }
  Ran WhoCommandOf(const std::string& key) const {
    Ran ran = CallCommand(WhoCommand, {"weir who", "--data-dir", directory_ / "data", key});
    ran.out = WithoutLog(ran.out);
    return ran;
  }
  void Publish(uint64_t author) const {
    RawClient client(relay_->port());
    ASSERT_TRUE(client.Handshake());
    client.Text("[\"EVENT\"," + Signer(author).SignedEvent(1'700'000'000, 1, "[]", "a") + "]");
    ASSERT_TRUE(Has(client.ReadText().value_or(""), ",true,"));
  }

  std::unique_ptr<ManagementPlugin> management_;
  std::unique_ptr<LadderPlugin> plugin_;
  const std::string trusted_ = ToHex(Signer(1).pubkey());
  const std::string stranger_ = ToHex(Signer(2).pubkey());
};

TEST_F(LadderPluginTest, SaysWhatStandingAnAuthorHas) {
  configuration_.standing.trust_from = trusted_;
  Open();
  const std::string trusted = Standing(ToNpub(Signer(1).pubkey()));
  EXPECT_TRUE(Has(trusted, "\"pubkey\":\"" + trusted_ + "\"")) << trusted;
  EXPECT_TRUE(Has(trusted, R"("rung":"trusted","ladder":"observe","explanation":[")")) << trusted;
  EXPECT_TRUE(Has(Standing(stranger_), R"("rung":"stranger")"));
  EXPECT_TRUE(Has(Standing("x"), "x is not a public key")) << Standing("x");
}

TEST_F(LadderPluginTest, TheAdministratorIsTheOwnListByDefault) {
  configuration_.relay.admin_pubkey = trusted_;
  Open();
  EXPECT_TRUE(Has(Standing(trusted_), R"("rung":"trusted")"));
}

TEST_F(LadderPluginTest, CountsEventsByRung) {
  configuration_.standing.trust_from = trusted_;
  Open(LadderMode::kOn);
  Publish(1);
  Publish(2);
  for (const std::string rung : {"trusted", "stranger"})
    EXPECT_TRUE(Eventually([&] {
      return Has(Metrics(), "weir_ladder_events_total{rung=\"" + rung + "\",outcome=\"passed\"} 1\n");
    })) << rung;
  EXPECT_TRUE(Has(Metrics(), "weir_ladder_share 1\n"));
}

TEST_F(LadderPluginTest, OffItShowsNothing) {
  Open(LadderMode::kOff);
  Publish(2);
  EXPECT_FALSE(Has(Metrics(), "weir_ladder"));
  EXPECT_TRUE(Has(Standing(stranger_), "the ladder is off"));
}

TEST_F(LadderPluginTest, LiveShowsARowForEachRung) {
  Open();
  LiveRates rates;
  rates.Begin(Clock::System().Now());
  LiveTables tables(rates);
  plugin_->AppendLive(tables);
  const std::vector<LiveTable> shown = std::move(tables).Take();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].name, "standing");
  ASSERT_EQ(shown[0].rows.size(), kRungs);
  EXPECT_EQ(shown[0].rows[0][0], "trusted");
}

TEST_F(LadderPluginTest, TheCommandPrintsTheReasons) {
  configuration_.standing.trust_from = trusted_;
  Open();
  const Ran ran = WhoCommandOf(trusted_);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with(ToNpub(Signer(1).pubkey()) + ": ")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "trusted")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "holds nobody back")) << ran.out;
  Open(LadderMode::kOn);
  EXPECT_FALSE(Has(WhoCommandOf(trusted_).out, "holds nobody back"));
}

TEST_F(LadderPluginTest, TheCommandSaysWhyItHasNoAnswer) {
  EXPECT_EQ(WhoCommandOf("npub1wrong").code, 2);
  EXPECT_EQ(WhoCommandOf(stranger_).code, 1) << "no relay runs";
  Open(LadderMode::kOff);
  const Ran off = WhoCommandOf(stranger_);
  EXPECT_EQ(off.code, 1);
  EXPECT_TRUE(Has(off.err, "the ladder is off")) << off.err;
}

}  // namespace
}  // namespace weir
