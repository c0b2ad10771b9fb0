// The settings of an operator, and those that are refused before the relay starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "relay/admin/admin.h"
#include "relay/relay.h"
#include "relay/store/storage/storage.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

Status Load(const Environment& environment, RelayConfiguration* configuration,
            const std::vector<SettingFlag>& flags = {}) {
  SettingTable table;
  return LoadRelayConfiguration(table, environment, flags, configuration);
}

Status LoadError(const Environment& environment) {
  RelayConfiguration configuration;
  return Load(environment, &configuration);
}

TEST(RelayConfiguration, DefaultsAreGood) {
  RelayConfiguration configuration;
  const Status status = Load({}, &configuration);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(configuration.server.port, 3334u);
  EXPECT_EQ(configuration.data_dir, "./data");
}

TEST(RelayConfiguration, EveryRoomIsInTheTable) {
  RelayConfiguration configuration;
  SettingTable table;
  Declare(table, configuration);
  for (const char* name : {"DATA_DIR", "LOG_LEVEL", "PORT", "RELAY_NAME", "DB_SYNC", "RATE_LIMIT_TARGET_MEMORY_MB",
                           "RATE_LIMIT_SETPOINT", "MONITOR_INTERVAL_MS"}) {
    EXPECT_TRUE(std::ranges::count(table.rows(), name, &SettingRow::name) == 1) << name;
  }
  for (const SettingRow& row : table.rows()) EXPECT_FALSE(row.meaning.empty()) << row.name;
}

TEST(RelayConfiguration, TakesTheEnvironment) {
  RelayConfiguration c;
  const Status status = Load({{"WEIR_DATA_DIR", "/srv/weir"},
                              {"WEIR_LOG_FORMAT", "json"},
                              {"WEIR_LOG_LEVEL", "debug"},
                              {"WEIR_RELAY_NAME", "mine"},
                              {"ORLY_PORT", "7777"},
                              {"WEIR_RATE_LIMIT_WRITE_KP", "2"},
                              {"WEIR_ADMIN_FROM_LOOPBACK", "true"},
                              {"WEIR_DB_SYNC", "off"}},
                             &c);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c.data_dir, "/srv/weir");
  EXPECT_EQ(c.log_format, LogFormat::kJson);
  EXPECT_EQ(c.log_level, LogLevel::kDebug);
  EXPECT_EQ(c.relay.name, "mine");
  EXPECT_EQ(c.relay.admin_from_loopback, AdminFromLoopback::kTrue);
  EXPECT_EQ(c.server.port, 7777u);
  EXPECT_EQ(c.storage.rocksdb.sync, SyncMode::kOff);
  EXPECT_EQ(c.storage.limiter.bulk.gains.kp, 2) << "bulk work has the gains of interactive writes where it has no own";
}

TEST(RelayConfiguration, TheAdministratorsKeyMayBeAnNpub) {
  const std::string hex = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
  for (const std::string& key : {hex, std::string("npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg")}) {
    RelayConfiguration c;
    const Status status = Load({{"WEIR_RELAY_ADMIN_PUBKEY", key}}, &c);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(c.relay.admin_pubkey, hex);
  }
}

TEST(RelayConfiguration, SeveralOperatorsKeysBecomeHexadecimal) {
  const std::string npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
  const std::string hex(64, '2');
  RelayConfiguration c;
  const Status status = Load({{"WEIR_RELAY_ADMIN_PUBKEY", hex + ", " + npub}}, &c);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(c.relay.admin_pubkey, hex + ",7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e");
}

TEST(RelayConfiguration, OrlysOwnersAreTheOperators) {
  RelayConfiguration c;
  const std::string npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";
  ASSERT_TRUE(Load({{"ORLY_OWNERS", npub}}, &c).ok());
  EXPECT_EQ(c.relay.admin_pubkey, "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e");
  RelayConfiguration other;
  ASSERT_TRUE(Load({{"ORLY_OWNERS", npub}, {"WEIR_RELAY_ADMIN_PUBKEY", std::string(64, 'a')}}, &other).ok());
  EXPECT_EQ(other.relay.admin_pubkey, std::string(64, 'a'));
}

TEST(RelayConfiguration, FlagsComeBeforeTheEnvironmentAndAreChecked) {
  RelayConfiguration c;
  ASSERT_TRUE(Load({{"WEIR_PORT", "1"}, {"WEIR_LISTEN", "::1"}}, &c, {{"--port", "PORT", "2"}}).ok());
  EXPECT_EQ(c.server.port, 2u);
  EXPECT_EQ(c.server.listen, "::1");
  EXPECT_EQ(Load({{"WEIR_LOG_LEVEL", "loud"}}, &c, {{"--port", "PORT", "-2"}}).message(),
            "WEIR_LOG_LEVEL=loud: not one of trace|debug|info|warn|error\n--port=-2: not within 0..65535");
  EXPECT_EQ(Load({}, &c, {{"--data-dir", "DATA_DIR", ""}}).message(), "WEIR_DATA_DIR must name a directory");
}

TEST(RelayConfiguration, TakesTheAutoOfEarlierVersionsAsFalse) {
  RelayConfiguration c;
  EXPECT_EQ(c.relay.admin_from_loopback, AdminFromLoopback::kFalse);
  const Status status = Load({{"WEIR_ADMIN_FROM_LOOPBACK", "auto"}}, &c);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(TrustInLoopback(c.relay.admin_from_loopback).trusted);
}

TEST(RelayConfiguration, RefusesWhatSingleRangesAllow) {
  const struct {
    Environment environment;
    const char* part_of_error;
  } cases[] = {
      {{{"WEIR_MAX_EVENT_BYTES", "300000"}}, "WEIR_MAX_MESSAGE_BYTES=262144 must be at least"},
      {{{"WEIR_MAX_CONTENT_BYTES", "200000"}}, "WEIR_MAX_EVENT_BYTES=131072 must be at least WEIR_MAX_CONTENT_BYTES"},
      {{{"WEIR_MAX_LIMIT", "100"}}, "WEIR_MAX_LIMIT=100 must be at least WEIR_DEFAULT_LIMIT=500"},
      {{{"WEIR_RELAY_ADMIN_PUBKEY", "npub1xyz"}}, "an npub has 63 characters, not 8"},
      {{{"WEIR_RELAY_ADMINS", "npub1xyz:read"}}, "WEIR_RELAY_ADMINS: npub1xyz is not a public key"},
      {{{"WEIR_RELAY_URL", "https://relay.example"}}, "not an address that begins with wss://"},
      {{{"WEIR_RELAY_ICON", "icon.png"}}, "not an address that begins with https://"},
      {{{"WEIR_RATE_LIMIT_RECOVERY", "2"}}, "must be below WEIR_RATE_LIMIT_EMERGENCY"},
  };
  for (const auto& c : cases) {
    const Status status = LoadError(c.environment);
    ASSERT_FALSE(status.ok()) << c.part_of_error;
    EXPECT_TRUE(Has(status.message(), c.part_of_error)) << status.message();
  }
}

TEST(RelayConfiguration, NamesBadWordsWithTheirRange) {
  const std::string message = LoadError({{"WEIR_LOG_LEVEL", "loud"}}).message();
  EXPECT_TRUE(Has(message, "WEIR_LOG_LEVEL=loud")) << message;
  EXPECT_TRUE(Has(message, "debug")) << message;
}

TEST(RelayConfiguration, RefusesKindsThatCannotBeSearched) {
  RelayConfiguration c;
  c.relay.search_kinds = "1,30023";
  EXPECT_TRUE(Check(c).ok());
  EXPECT_TRUE(MessageLimitsOf(c.relay).filter.search);
  c.storage.store = "postgres://host/db";
  EXPECT_TRUE(Check(c).ok());
  c.relay.search_kinds = "1,notes";
  EXPECT_EQ(Check(c).message(),
            "WEIR_SEARCH_KINDS=1,notes: \"notes\" is no kind: name kinds with commas, such as 1,30023");
  c.relay.search_kinds = "1059";
  EXPECT_FALSE(Check(c).ok());
}

TEST(RelaySettings, BecomeTheLimitsOfTheParsers) {
  RelaySettings settings;
  settings.max_event_bytes = 1;
  settings.max_event_tags = 2;
  settings.max_content_bytes = 3;
  settings.max_subscription_id_bytes = 4;
  settings.max_filters = 5;
  settings.max_filter_values = 6;
  const EventLimits events = EventLimitsOf(settings);
  EXPECT_EQ(events.max_bytes, 1u);
  EXPECT_EQ(events.max_tags, 2u);
  EXPECT_EQ(events.max_content_bytes, 3u);
  const MessageLimits messages = MessageLimitsOf(settings);
  EXPECT_EQ(messages.max_subscription_id_bytes, 4u);
  EXPECT_EQ(messages.max_filters, 5u);
  EXPECT_EQ(messages.filter.max_values, 6u);
}

struct Named {
  const char* store;
  const char* shown;
};

TEST(StoreNameTest, ShowsNoPassword) {
  for (const auto& [store, shown] : {
           Named{"rocksdb", "rocksdb"},
           Named{"postgres://host/db", "postgres://host/db"},
           Named{"postgres://user@host/db", "postgres://user@host/db"},
           Named{"postgres://user:pass@h1,h2/db", "postgres://user:***@h1,h2/db"},
           Named{"postgres://user:p@ss@host/db", "postgres://user:***@host/db"},
           Named{"postgres://:pass@host/db", "postgres://:***@host/db"},
           Named{"postgres://host/db?password=a&sslmode=require", "postgres://host/db?password=***&sslmode=require"},
           Named{"postgres://host/db?sslpassword=a&password=b", "postgres://host/db?sslpassword=***&password=***"},
       })
    EXPECT_EQ(StoreName(store), shown);
}

TEST(CheckStoreTest, AServerIsNotAskedForLongerThanItsSensorMayBeSilent) {
  StorageSettings settings{.store = "postgres://host/db"};
  EXPECT_TRUE(Check(settings).ok()) << Check(settings).message();
  settings.postgres_monitor.timeout = std::chrono::seconds(5);
  EXPECT_TRUE(Has(Check(settings).message(), "WEIR_RATE_LIMIT_POSTGRES_TIMEOUT_MS=5000"));
  settings.store = "rocksdb";
  EXPECT_TRUE(Check(settings).ok());
}

TEST(CheckStoreTest, TakesWhatItKnowsAndNamesTheRest) {
  for (const char* const known : {"rocksdb", "postgres://h/d", "postgresql://h/d"})
    EXPECT_TRUE(CheckStore(known).ok()) << known;
  for (const char* const unknown : {"", "RocksDB", "postgre://h/d", "mysql://user:pass@h/d"}) {
    const Status checked = CheckStore(unknown);
    EXPECT_TRUE(Has(checked.message(), "neither rocksdb nor an address that begins with postgres://"));
    EXPECT_FALSE(Has(checked.message(), "pass")) << checked.message();
  }
}

}  // namespace
}  // namespace weir
