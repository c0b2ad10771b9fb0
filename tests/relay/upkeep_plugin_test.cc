// Tests what /metrics and /live say of the upkeep of the database.
#include "relay/upkeep_plugin.h"

#include <string>
#include <utility>
#include <vector>

#include "relay/management/management_methods.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

class UpkeepPluginTest : public RelayServerTest {
 protected:
  ~UpkeepPluginTest() override { relay_.reset(); }

  // Starts a relay on the same data, and waits until it has read what was in memory before.
  void Start() {
    relay_.reset();
    methods_ = std::make_unique<ManagementMethods>();
    plugin_ = std::make_unique<UpkeepPlugin>(*methods_);
    Open({plugin_.get()});
    EXPECT_TRUE(Eventually([&] { return Has(Metrics(), "weir_upkeep_running{work=\"warm_up\"} 0\n"); })) << Metrics();
  }
  std::string Metrics() const { return AskPort(relay_->port(), "GET", "/metrics").body; }
  void Say(const std::string& message, const std::string& last) const {
    RawClient client(relay_->port());
    ASSERT_TRUE(client.Handshake());
    client.Text(message);
    for (std::string answer; !Has(answer, last);) {
      const auto next = client.ReadText();
      ASSERT_TRUE(next.has_value()) << message;
      answer = *next;
    }
  }
  std::vector<LiveTable> Shown() const {
    LiveRates rates;
    rates.Begin(Clock::System().Now());
    LiveTables tables(rates);
    plugin_->AppendLive(tables);
    return std::move(tables).Take();
  }

  std::unique_ptr<ManagementMethods> methods_;
  std::unique_ptr<UpkeepPlugin> plugin_;
};

TEST_F(UpkeepPluginTest, WhatClientsReadBeforeAStartIsReadAgainAndShown) {
  Start();
  EXPECT_TRUE(Shown().empty());
  for (int n = 1; n <= 3; ++n)
    Say("[\"EVENT\"," + Signer(1).SignedEvent(1'700'000'000 + n, 1, "[]", "a") + "]", ",true,");
  Say(R"(["REQ","q",{"kinds":[1]}])", "EOSE");
  Start();
  const std::vector<LiveTable> shown = Shown();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].name, "warm_up");
  EXPECT_EQ(shown[0].rows,
            (std::vector<std::vector<std::string>>{{"what was in memory before", "100 %"}, {"records", "3"}}));
}

}  // namespace
}  // namespace weir
