#include "throttle/limiter_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "monitors/neo4j/neo4j_monitor.h"
#include "monitors/postgres/postgres_monitor.h"

namespace weir {
namespace {

struct Loaded {
  LimiterSettings settings;
  Status status;
};

Loaded Load(const Environment& environment) {
  Loaded loaded;
  SettingTable table;
  Declare(table, loaded.settings);
  loaded.status = table.Load(environment);
  return loaded;
}

TEST(LimiterSettings, BulkHasTheGainsOfWritesUnlessItHasItsOwn) {
  LimiterSettings s;
  ASSERT_TRUE(LoadLimiterSettings({{"WEIR_RATE_LIMIT_WRITE_KP", "2"},
                                   {"ORLY_RATE_LIMIT_WRITE_FILTER_ALPHA", "0.5"},
                                   {"WEIR_RATE_LIMIT_WRITE_KD", "1"},
                                   {"WEIR_IMPORT_WRITE_KD", "0.01"}},
                                  &s)
                  .ok());
  EXPECT_EQ(s.bulk.gains, (PidGains{.kp = 2, .ki = 0.15, .kd = 0.01}));
  EXPECT_EQ(s.bulk.filter_alpha, 0.5);
  EXPECT_FALSE(LoadLimiterSettings({{"WEIR_RATE_LIMIT_RECOVERY", "2"}}, &s).ok()) << "it checks";
}

TEST(LimiterSettings, TheTableShowsTheGainsOfBulkAndTheirSource) {
  LimiterSettings s;
  SettingTable table;
  Declare(table, s);
  ASSERT_TRUE(table.Load({{"WEIR_RATE_LIMIT_WRITE_KP", "2"}, {"ORLY_RATE_LIMIT_WRITE_KD", "0.5"}}).ok());
  const auto row = [&](std::string_view name) { return *std::ranges::find(table.rows(), name, &SettingRow::name); };
  EXPECT_EQ(row("IMPORT_WRITE_KP").value, "2");
  EXPECT_EQ(row("IMPORT_WRITE_KP").source, "inherited from WEIR_RATE_LIMIT_WRITE_KP");
  EXPECT_EQ(row("IMPORT_WRITE_KD").value, "0.5");
  EXPECT_EQ(row("IMPORT_WRITE_KD").source, "inherited from ORLY_RATE_LIMIT_WRITE_KD");
  EXPECT_EQ(row("IMPORT_WRITE_FILTER_ALPHA").source, "default");
  EXPECT_EQ(s.bulk.gains, (PidGains{.kp = 2, .ki = 0.15, .kd = 0.5}));
}

TEST(LimiterSettings, OnlyALimiterThatNeverOpensReplacesTheEnginesBrakes) {
  EXPECT_TRUE(LimiterSettings().ReplacesBrakes());
  EXPECT_FALSE(LimiterSettings{.enabled = false}.ReplacesBrakes());
  EXPECT_FALSE(LimiterSettings{.on_sensor_loss = SensorLoss::kOpen}.ReplacesBrakes());
}

TEST(LimiterSettings, DefaultsAreThePlansAndPassTheCheck) {
  const LimiterSettings s = Load({}).settings;
  EXPECT_EQ(s.write.gains, (PidGains{.kp = 0.5, .ki = 0.1, .kd = 0.05}));
  EXPECT_EQ(s.read.gains, (PidGains{.kp = 0.3, .ki = 0.05, .kd = 0.02}));
  EXPECT_EQ(s.bulk.gains.ki, 0.15);
  EXPECT_EQ(s.write.setpoint, 0.85);
  EXPECT_EQ(s.bulk.setpoint, 0.70);
  EXPECT_EQ(s.write.min_batch, 10U);
  EXPECT_EQ(s.bulk.min_batch, 5U);
  EXPECT_EQ(s.read.min_batch, 5U);
  EXPECT_EQ(s.bulk_read_min_batch, 10U);
  EXPECT_EQ(s.write.max_delay.count(), 1000);
  EXPECT_EQ(s.read.max_delay.count(), 200);
  EXPECT_EQ(s.emergency, 1.167);
  EXPECT_EQ(s.recovery, 0.833);
  EXPECT_TRUE(Check(s).ok());
}

struct Named {
  const char* name;
  const char* value;
  std::function<double(const LimiterSettings&)> field;
  double expected;
};

const std::vector<Named>& EveryName() {
  using S = const LimiterSettings&;
  static const std::vector<Named> table = {
      {"RATE_LIMIT_ENABLED", "false", [](S s) { return s.enabled; }, 0},
      {"RATE_LIMIT_PROCESS_VARIABLE", "weighted", [](S s) { return s.process_variable == ProcessVariable::kWeighted; },
       1},
      {"RATE_LIMIT_SETPOINT", "0.6", [](S s) { return s.write.setpoint; }, 0.6},
      {"RATE_LIMIT_WRITE_KP", "1.5", [](S s) { return s.write.gains.kp; }, 1.5},
      {"RATE_LIMIT_WRITE_KI", "0.7", [](S s) { return s.write.gains.ki; }, 0.7},
      {"RATE_LIMIT_WRITE_KD", "0.2", [](S s) { return s.write.gains.kd; }, 0.2},
      {"RATE_LIMIT_WRITE_FILTER_ALPHA", "0.4", [](S s) { return s.write.filter_alpha; }, 0.4},
      {"RATE_LIMIT_WRITE_MAX_DELAY_MS", "2500", [](S s) { return static_cast<double>(s.write.max_delay.count()); },
       2500},
      {"RATE_LIMIT_WRITE_MIN_BATCH", "3", [](S s) { return static_cast<double>(s.write.min_batch); }, 3},
      {"RATE_LIMIT_READ_KP", "0.9", [](S s) { return s.read.gains.kp; }, 0.9},
      {"RATE_LIMIT_READ_KI", "0.8", [](S s) { return s.read.gains.ki; }, 0.8},
      {"RATE_LIMIT_READ_KD", "0.1", [](S s) { return s.read.gains.kd; }, 0.1},
      {"RATE_LIMIT_READ_FILTER_ALPHA", "0.5", [](S s) { return s.read.filter_alpha; }, 0.5},
      {"RATE_LIMIT_READ_MAX_DELAY_MS", "50", [](S s) { return static_cast<double>(s.read.max_delay.count()); }, 50},
      {"RATE_LIMIT_READ_MIN_BATCH", "7", [](S s) { return static_cast<double>(s.read.min_batch); }, 7},
      {"RATE_LIMIT_READ_SETPOINT", "0.75", [](S s) { return s.read.setpoint; }, 0.75},
      {"RATE_LIMIT_READ_SCAN_BYTES", "4096", [](S s) { return static_cast<double>(s.read_scan_bytes); }, 4096},
      {"RATE_LIMIT_READ_MAX_SCANS", "3", [](S s) { return static_cast<double>(s.read_max_scans); }, 3},
      {"IMPORT_SETPOINT", "0.5", [](S s) { return s.bulk.setpoint; }, 0.5},
      {"IMPORT_WRITE_KP", "0.4", [](S s) { return s.bulk.gains.kp; }, 0.4},
      {"IMPORT_WRITE_KI", "0.2", [](S s) { return s.bulk.gains.ki; }, 0.2},
      {"IMPORT_WRITE_KD", "0.01", [](S s) { return s.bulk.gains.kd; }, 0.01},
      {"IMPORT_WRITE_FILTER_ALPHA", "0.6", [](S s) { return s.bulk.filter_alpha; }, 0.6},
      {"IMPORT_MAX_DELAY_MS", "5000", [](S s) { return static_cast<double>(s.bulk.max_delay.count()); }, 5000},
      {"IMPORT_MIN_BATCH", "2", [](S s) { return static_cast<double>(s.bulk.min_batch); }, 2},
      {"IMPORT_READ_MIN_BATCH", "6", [](S s) { return static_cast<double>(s.bulk_read_min_batch); }, 6},
      {"RATE_LIMIT_MAX_BATCH_BYTES", "4096", [](S s) { return static_cast<double>(s.max_batch_bytes); }, 4096},
      {"RATE_LIMIT_EMERGENCY", "1.5", [](S s) { return s.emergency; }, 1.5},
      {"RATE_LIMIT_RECOVERY", "0.7", [](S s) { return s.recovery; }, 0.7},
      {"RATE_LIMIT_SENSOR_TIMEOUT_MS", "3000", [](S s) { return static_cast<double>(s.sensor_timeout.count()); }, 3000},
      {"RATE_LIMIT_SENSOR_LOSS", "open", [](S s) { return s.on_sensor_loss == SensorLoss::kOpen; }, 1},
      {"RATE_LIMIT_TICK_MS", "50", [](S s) { return static_cast<double>(s.tick.count()); }, 50},
  };
  return table;
}

TEST(LimiterSettings, EveryVariableSetsItsField) {
  for (const Named& n : EveryName()) {
    for (const char* prefix : {"WEIR_", "ORLY_"}) {
      const Loaded loaded = Load({{std::string(prefix) + n.name, n.value}});
      ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
      EXPECT_EQ(n.field(loaded.settings), n.expected) << prefix << n.name;
    }
  }
}

TEST(LimiterSettings, EveryDeclaredVariableIsInTheTableAbove) {
  LimiterSettings settings;
  SettingTable table;
  Declare(table, settings);
  EXPECT_EQ(table.rows().size(), EveryName().size());
}

// MaybeThrottle is for programs that embed weir; weir's own programs do not call it.
TEST(LimiterSettings, TheBatchesAreForProgramsThatEmbedWeir) {
  LimiterSettings settings;
  SettingTable table;
  Declare(table, settings);
  for (const SettingRow& row : table.rows())
    EXPECT_EQ(row.for_embedding, row.name.find("_BATCH") != std::string::npos) << row.name;
}

TEST(LimiterSettings, WeirComesBeforeOrly) {
  const Loaded loaded = Load({{"ORLY_RATE_LIMIT_WRITE_KP", "0.1"}, {"WEIR_RATE_LIMIT_WRITE_KP", "0.2"}});
  EXPECT_EQ(loaded.settings.write.gains.kp, 0.2);
}

struct Bad {
  const char* name;
  const char* value;
};

class OutOfRange : public testing::TestWithParam<Bad> {};

TEST_P(OutOfRange, IsAnErrorThatNamesVariableValueAndRange) {
  const auto& [name, value] = GetParam();
  const Loaded loaded = Load({{name, value}});
  ASSERT_FALSE(loaded.status.ok());
  const std::string& message = loaded.status.message();
  EXPECT_NE(message.find(name), std::string::npos) << message;
  EXPECT_NE(message.find(value), std::string::npos) << message;
  EXPECT_NE(message.find(".."), std::string::npos) << message;
  EXPECT_TRUE(Check(loaded.settings).ok()) << "nothing of it was taken";
}

INSTANTIATE_TEST_SUITE_P(
    LimiterSettings, OutOfRange,
    testing::Values(Bad{"WEIR_RATE_LIMIT_WRITE_KP", "-1"}, Bad{"WEIR_RATE_LIMIT_WRITE_KI", "1e9"},
                    Bad{"WEIR_RATE_LIMIT_WRITE_FILTER_ALPHA", "0"}, Bad{"WEIR_RATE_LIMIT_WRITE_FILTER_ALPHA", "2"},
                    Bad{"WEIR_RATE_LIMIT_READ_FILTER_ALPHA", "1"}, Bad{"WEIR_RATE_LIMIT_SETPOINT", "85"},
                    Bad{"WEIR_IMPORT_SETPOINT", "0"}, Bad{"WEIR_RATE_LIMIT_WRITE_MAX_DELAY_MS", "0"},
                    Bad{"WEIR_RATE_LIMIT_READ_MAX_DELAY_MS", "-5"}, Bad{"WEIR_RATE_LIMIT_WRITE_MIN_BATCH", "0"},
                    Bad{"ORLY_RATE_LIMIT_WRITE_KP", "-1"}, Bad{"WEIR_RATE_LIMIT_TICK_MS", "1"}));

struct Contradiction {
  const char* what;
  void (*spoil)(LimiterSettings&);
  const char* says;
};

TEST(LimiterSettings, CheckFindsContradictionsBeyondSingleRanges) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  using std::chrono::milliseconds;
  const std::vector<Contradiction> table = {
      {"recovery = emergency", [](LimiterSettings& s) { s.recovery = s.emergency; }, "RECOVERY"},
      {"emergency NaN", [](LimiterSettings& s) { s.emergency = kNan; }, "EMERGENCY"},
      {"an emergency that never ends", [](LimiterSettings& s) { s.recovery = 0; }, "RECOVERY"},
      {"setpoint 85", [](LimiterSettings& s) { s.write.setpoint = 85; }, "setpoint"},
      {"setpoint NaN", [](LimiterSettings& s) { s.read.setpoint = kNan; }, "setpoint"},
      {"alpha 0", [](LimiterSettings& s) { s.bulk.filter_alpha = 0; }, "alpha"},
      {"alpha 2", [](LimiterSettings& s) { s.write.filter_alpha = 2; }, "alpha"},
      {"no delay", [](LimiterSettings& s) { s.write.max_delay = milliseconds(0); }, "delay"},
      {"endless delay", [](LimiterSettings& s) { s.bulk.max_delay = milliseconds::max(); }, "delay"},
      {"no batch", [](LimiterSettings& s) { s.read.min_batch = 0; }, "batch"},
      {"no batch of bulk reads", [](LimiterSettings& s) { s.bulk_read_min_batch = 0; }, "batch"},
      {"negative gain", [](LimiterSettings& s) { s.write.gains.kp = -1; }, "gains"},
      {"gain NaN", [](LimiterSettings& s) { s.write.gains.ki = kNan; }, "gains"},
      {"gain without end", [](LimiterSettings& s) { s.read.gains.kd = kInfinity; }, "gains"},
      {"no scans", [](LimiterSettings& s) { s.read_max_scans = 0; }, "scans"},
      {"no bulk scans", [](LimiterSettings& s) { s.bulk_scans = 0; }, "scans"},
      {"more scans than count", [](LimiterSettings& s) { s.read_max_scans = UINT64_MAX; }, "scans"},
      {"no tick", [](LimiterSettings& s) { s.tick = milliseconds(0); }, "tick"},
      {"endless tick", [](LimiterSettings& s) { s.tick = s.sensor_timeout = milliseconds::max(); }, "tick"},
      {"timeout below tick", [](LimiterSettings& s) { s.sensor_timeout = milliseconds(50); },
       "WEIR_RATE_LIMIT_SENSOR_TIMEOUT_MS"},
      {"endless timeout", [](LimiterSettings& s) { s.sensor_timeout = milliseconds::max(); },
       "WEIR_RATE_LIMIT_SENSOR_TIMEOUT_MS"},
  };
  for (const auto& [what, spoil, says] : table) {
    LimiterSettings settings;
    spoil(settings);
    const Status status = Check(settings);
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_NE(status.message().find(says), std::string::npos) << what << ": " << status.message();
  }
}

TEST(LimiterSettings, AnEngineMayTakeHalfTheTimeInWhichItsSensorIsLost) {
  using std::chrono::milliseconds;
  LimiterSettings settings;
  settings.sensor_timeout = milliseconds(3000);
  EXPECT_TRUE(CheckTimeout(settings, "WEIR_X_TIMEOUT_MS", milliseconds(1500)).ok());
  EXPECT_EQ(
      CheckTimeout(settings, "WEIR_X_TIMEOUT_MS", milliseconds(1501)).message(),
      "WEIR_RATE_LIMIT_SENSOR_TIMEOUT_MS=3000 must be at least twice WEIR_X_TIMEOUT_MS=1501: a server that is slow "
      "to answer is not lost");
  settings = {};
  EXPECT_TRUE(CheckTimeout(settings, "", PostgresMonitorSettings().timeout).ok()) << "as they are";
  EXPECT_TRUE(CheckTimeout(settings, "", Neo4jMonitorSettings().timeout).ok());
}

}  // namespace
}  // namespace weir
