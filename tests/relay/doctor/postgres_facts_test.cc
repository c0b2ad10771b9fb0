// Facts that a real PostgreSQL tells of itself, to roles with and without rights.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/doctor/check.h"
#include "relay/doctor/database_facts.h"
#include "relay/store/postgres/postgres_store.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/postgres_process.h"

namespace weir {
namespace {

class DoctorPostgresTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (PostgresProcess::IsInstalled()) server = new PostgresProcess({"fsync=on", "synchronous_commit=on"});
  }
  static void TearDownTestSuite() { delete server; }
  void SetUp() override {
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL: apt-get install postgresql";
  }

  static std::string Url(const PostgresProcess& server, const std::string& role = "weir") {
    return "postgres://" + role + "@127.0.0.1:" + std::to_string(server.port()) + "/postgres";
  }
  PostgresFacts Look(const std::string& url) {
    facts_ = {};
    facts_.settings.relay.storage.store = url;
    facts_.settings.relay.storage.postgres.connections = 8;  // the server of the tests has few
    facts_.postgres = LookAtPostgres(facts_.settings.relay.storage, &facts_.unseen);
    return *facts_.postgres;
  }
  // Returns the findings of the last look, except "postgres-far", which a busy machine may be found to be.
  std::vector<std::string> Found() const {
    std::vector<std::string> names;
    for (const Finding& finding : Examine(facts_))
      if (finding.name != "postgres-far") names.emplace_back(finding.name);
    return names;
  }

  inline static PostgresProcess* server = nullptr;
  Facts facts_;
};

using List = std::vector<std::string>;

TEST_F(DoctorPostgresTest, AServerIsKnownAndLeftAlone) {
  const PostgresFacts facts = Look(Url(*server));
  EXPECT_TRUE(facts.reached.ok()) << facts.reached.message();
  EXPECT_TRUE(facts_.unseen.empty()) << facts_.unseen.front();
  EXPECT_GE(facts.version, 130000);
  EXPECT_EQ(facts.role, "weir");
  EXPECT_TRUE(facts.may_monitor);
  EXPECT_TRUE(facts.fsync);
  EXPECT_EQ(facts.synchronous_commit, "on");
  EXPECT_EQ(facts.max_wal_bytes, uint64_t{1} << 30);
  EXPECT_LE(facts.max_connections, 27);
  EXPECT_GT(facts.max_connections, 20);
  EXPECT_GE(facts.connections, 1);
  EXPECT_EQ(facts.role_connections, -1);
  EXPECT_LT(std::abs(facts.clock_ahead_seconds), 1);
  EXPECT_GT(facts.round_trip.count(), 0);
  EXPECT_EQ(Found(), List());
  EXPECT_EQ(server->Ask("SELECT count(*) FROM pg_tables WHERE tablename LIKE 'weir%'"), "0");
}

TEST_F(DoctorPostgresTest, ReportsASilentServerWithoutThePassword) {
  const PostgresFacts facts = Look("postgres://weir:secret@127.0.0.1:1/postgres");
  EXPECT_EQ(Found(), List{"postgres-unreachable"});
  EXPECT_EQ(facts.name, "postgres://weir:***@127.0.0.1:1/postgres");
  EXPECT_FALSE(Has(Examine(facts_)[0].saw, "secret")) << Examine(facts_)[0].saw;
}

TEST_F(DoctorPostgresTest, ARoleWithoutRightsIsToldWhatItLacks) {
  server->Ask("CREATE ROLE modest LOGIN CONNECTION LIMIT 5");
  server->Ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  const PostgresFacts facts = Look(Url(*server, "modest"));
  EXPECT_TRUE(facts_.unseen.empty()) << facts_.unseen.front();
  EXPECT_EQ(facts.role_connections, 5);
  EXPECT_EQ(Found(), (List{"postgres-tables", "postgres-connections", "postgres-rights"}));
}

TEST_F(DoctorPostgresTest, ReportsTablesOfAnotherVersion) {
  server->Ask("CREATE DATABASE strange");
  const std::string url = "postgres://weir@127.0.0.1:" + std::to_string(server->port()) + "/strange";
  ASSERT_TRUE(PostgresStore::Open({.conninfo = url, .settings = {.origin = "here"}}).ok());
  EXPECT_EQ(Look(url).origins, 1U);
  EXPECT_EQ(Found(), List());
  PostgresClient("host=127.0.0.1 port=" + std::to_string(server->port()) + " user=weir dbname=strange")
      .Ask("UPDATE weir_meta SET value = '999' WHERE key = 'format'");
  const PostgresFacts facts = Look(url);
  EXPECT_EQ(Found(), List{"postgres-tables"}) << facts.tables.message();
}

TEST_F(DoctorPostgresTest, ReportsOtherSearchedKindsThanTheDatabaseHas) {
  server->Ask("CREATE DATABASE searched");
  const std::string url = "postgres://weir@127.0.0.1:" + std::to_string(server->port()) + "/searched";
  ASSERT_TRUE(PostgresStore::Open({.conninfo = url, .settings = {.origin = "here"}, .searched_kinds = {1, 42}}).ok());
  EXPECT_EQ(Look(url).searched_kinds, (std::vector<uint16_t>{1, 42}));
  EXPECT_EQ(Found(), List{"postgres-search-kinds"});
  facts_.settings.relay.relay.search_kinds = "42,1";
  EXPECT_EQ(Found(), List());
}

TEST_F(DoctorPostgresTest, ReportsAnInterruptedCut) {
  server->Ask("CREATE DATABASE cut");
  const std::string url = "postgres://weir@127.0.0.1:" + std::to_string(server->port()) + "/cut";
  ASSERT_TRUE(PostgresStore::Open({.conninfo = url, .settings = {.origin = "here"}}).ok());
  PostgresClient(url).Ask(
      "ALTER TABLE weir_events RENAME TO weir_events_first;"
      "CREATE TABLE weir_events (LIKE weir_events_first) PARTITION BY RANGE (created_at);"
      "ALTER TABLE weir_events ATTACH PARTITION weir_events_first FOR VALUES FROM (MINVALUE) TO (MAXVALUE)");
  Look(url);
  EXPECT_EQ(Found(), List());
  PostgresClient(url).Ask("ALTER TABLE weir_events_first ADD CONSTRAINT until CHECK (created_at < 2000) NOT VALID");
  EXPECT_EQ(Look(url).left_limit, "CHECK ((created_at < 2000)) NOT VALID");
  EXPECT_EQ(Found(), List{"postgres-partitions"});
}

TEST_F(DoctorPostgresTest, ReportsCommitsThatDoNotWaitForTheDisk) {
  server->Ask("CREATE ROLE hasty SUPERUSER LOGIN");
  server->Ask("ALTER ROLE hasty SET synchronous_commit = off");
  EXPECT_EQ(Look(Url(*server, "hasty")).synchronous_commit, "off");
  EXPECT_EQ(Found(), List{"postgres-not-on-disk"});
}

TEST_F(DoctorPostgresTest, StandbysAreCounted) {
  const PostgresProcess primary({"fsync=on"});
  {
    const PostgresProcess standby({"fsync=on"}, &primary);
    EXPECT_TRUE(Eventually([&] { return Look(Url(primary)).standbys == 1; }));
    EXPECT_EQ(Found(), List{"postgres-standbys-asynchronous"});

    // Asks that one of both hosts which takes writes.
    const std::string both = "postgres://weir@127.0.0.1:" + std::to_string(standby.port()) +
                             ",127.0.0.1:" + std::to_string(primary.port()) + "/postgres";
    EXPECT_FALSE(Look(both).is_standby);
    EXPECT_TRUE(Look(Url(standby)).is_standby);
    EXPECT_EQ(Found(), List{"postgres-standby-only"});

    primary.Ask("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
    primary.Ask("SELECT pg_reload_conf()");
    EXPECT_TRUE(Eventually([&] { return Look(Url(primary)).synchronous_standbys == 1; }));
    EXPECT_EQ(Found(), List());
  }
  EXPECT_TRUE(Eventually([&] { return Look(Url(primary)).standbys == 0; }));
  EXPECT_EQ(Found(), List{"postgres-standby-missing"});
}

}  // namespace
}  // namespace weir
