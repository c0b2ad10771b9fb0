// The census in a relay: at /api/info, /live and /metrics.
#include "relay/census_plugin.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/admin/admin.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

class CensusPluginTest : public RelayServerTest {
 protected:
  CensusPluginTest() { RelayServerTest::Open({&plugin_}); }
  ~CensusPluginTest() override { relay_.reset(); }

  RawAnswer Info(bool with_token = true) const {
    const std::string token = "Authorization: Bearer " + ReadAdminToken(directory_ / "data") + "\r\n";
    return AskPort(relay_->port(), "GET", "/api/info", "", with_token ? token : "");
  }
  std::string Metrics() const { return AskPort(relay_->port(), "GET", "/metrics").body; }
  void Publish(uint64_t author) const {
    RawClient client(relay_->port());
    ASSERT_TRUE(client.Handshake());
    client.Text("[\"EVENT\"," + Signer(author).SignedEvent(1'700'000'000, 1, "[]", "a") + "]");
    ASSERT_TRUE(Has(client.ReadText().value_or(""), ",true,"));
  }
  std::vector<LiveTable> Shown() const {
    LiveRates rates;
    rates.Begin(Clock::System().Now());
    LiveTables tables(rates);
    plugin_.AppendLive(tables);
    return std::move(tables).Take();
  }

  CensusPlugin plugin_;
};

TEST_F(CensusPluginTest, AdministratorsGetTheCensus) {
  Publish(1);
  EXPECT_EQ(Info(false).status, 401);
  RawAnswer answer;
  ASSERT_TRUE(Eventually([&] {
    answer = Info();
    return answer.status == 200;
  })) << answer.body;
  EXPECT_TRUE(Has(answer.body, ToHex(Signer(1).pubkey()))) << answer.body;
  EXPECT_TRUE(Has(Metrics(), "weir_censuses_total{outcome=\"taken\"} 1\n"));
  Publish(2);
  EXPECT_FALSE(Has(Info().body, ToHex(Signer(2).pubkey()))) << "a fresh census is not taken again";
  EXPECT_TRUE(Has(Metrics(), "weir_censuses_total{outcome=\"taken\"} 1\n"));
}

TEST_F(CensusPluginTest, TakesNoneUntilAnAdministratorLooks) {
  Publish(1);
  EXPECT_TRUE(Has(Metrics(), "weir_censuses_total{outcome=\"taken\"} 0\n"));
  EXPECT_TRUE(Shown().empty());
  ASSERT_TRUE(Eventually([&] { return Shown().size() == 2; }));
  const std::vector<LiveTable> shown = Shown();
  EXPECT_EQ(shown[0].name, "stored_kinds");
  ASSERT_EQ(shown[0].rows.size(), 1U);
  EXPECT_EQ(shown[0].rows[0][0], "1");
  EXPECT_EQ(shown[1].name, "stored_days");
}

TEST_F(CensusPluginTest, TheRelayEndsWhileItCounts) {
  for (uint64_t author = 1; author <= 5; ++author) Publish(author);
  Info();
  relay_.reset();
}

}  // namespace
}  // namespace weir
