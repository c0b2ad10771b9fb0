#include "relay/watch/live/live_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/has_text.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

class LiveSettingsTest : public LimiterTest {
 protected:
  ~LiveSettingsTest() override { SetLogLevel(level_before_); }

  static std::string ValueOf(const LiveSettings& settings, const std::string& name) {
    for (const LiveSetting& setting : settings.Now())
      if (setting.name == name) return setting.value;
    return "none";
  }

  const LogLevel level_before_ = CurrentLogLevel();
};

TEST_F(LiveSettingsTest, ShowsWhatIsInForceWithItsRangeAndMeaning) {
  LimiterSettings own;
  own.bulk.gains.kp = 0.7;
  own.read.setpoint = 0.9;
  const LiveSettings settings(Build(own));
  EXPECT_EQ(ValueOf(settings, "IMPORT_WRITE_KP"), "0.7");
  EXPECT_EQ(ValueOf(settings, "RATE_LIMIT_READ_SETPOINT"), "0.9");
  EXPECT_EQ(ValueOf(settings, "RATE_LIMIT_WRITE_KP"), "0.5");
  EXPECT_EQ(settings.rows().size(), settings.Now().size());
  EXPECT_EQ(settings.rows()[0].name, "RATE_LIMIT_SETPOINT");
  EXPECT_EQ(settings.rows()[0].range, "0.05..1");
  EXPECT_FALSE(settings.rows()[0].meaning.empty());
}

TEST_F(LiveSettingsTest, ChangesWhatIsNamedAndNothingElse) {
  AdaptiveLimiter& limiter = Build();
  LiveSettings settings(limiter);
  const auto changed =
      settings.Apply({{"RATE_LIMIT_WRITE_KP", "2"}, {"IMPORT_SETPOINT", " 0.60 "}, {"LOG_LEVEL", "debug"}});
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  const std::vector<std::string> expected = {"RATE_LIMIT_WRITE_KP 0.5 → 2", "IMPORT_SETPOINT 0.7 → 0.6",
                                             "LOG_LEVEL info → debug"};
  EXPECT_EQ(changed.value(), expected);
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite).gains.kp, 2);
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite, WorkClass::kBulk).gains.kp, 0.5)
      << "at the start it has that of writes; now it stays";
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite, WorkClass::kBulk).setpoint, 0.6);
  EXPECT_EQ(CurrentLogLevel(), LogLevel::kDebug);
  for (const LiveSetting& setting : settings.Now())
    EXPECT_EQ(setting.value != setting.at_start, setting.name == "RATE_LIMIT_WRITE_KP" ||
                                                     setting.name == "IMPORT_SETPOINT" || setting.name == "LOG_LEVEL");
  EXPECT_TRUE(settings.Apply({{"WEIR_IMPORT_SETPOINT", "0.6"}}).value().empty()) << "it is so already";
}

TEST_F(LiveSettingsTest, OneWrongSettingRefusesTheWholeChange) {
  AdaptiveLimiter& limiter = Build();
  LiveSettings settings(limiter);
  const Tuning before = limiter.TuningOf(Operation::kWrite);
  const struct {
    const char* name;
    const char* value;
    const char* why;
  } cases[] = {
      {"IMPORT_SETPOINT", "1.2", "WEIR_IMPORT_SETPOINT=1.2: not within 0.05..1 (level)"},
      {"IMPORT_SETPOINT", "0", "not within"},
      {"RATE_LIMIT_READ_KI", "-1", "not within 0..100"},
      {"RATE_LIMIT_READ_KI", "nan", "WEIR_RATE_LIMIT_READ_KI=nan"},
      {"RATE_LIMIT_WRITE_KP", "", "has no value"},
      {"LOG_LEVEL", "loud", "trace"},
      {"RATE_LIMIT_TICK_MS", "100", "cannot be changed while the relay runs"},
      {"PORT", "1", "IMPORT_SETPOINT"},
      {"nonsense\n", "1", "nonsense\\x0a"},
  };
  for (const auto& [name, value, why] : cases) {
    const auto changed = settings.Apply({{"RATE_LIMIT_WRITE_KP", "7"}, {"RATE_LIMIT_SETPOINT", "0.2"}, {name, value}});
    ASSERT_FALSE(changed.ok()) << name;
    EXPECT_TRUE(Has(changed.status().message(), why)) << changed.status().message();
  }
  EXPECT_EQ(limiter.TuningOf(Operation::kWrite), before);
}

}  // namespace
}  // namespace weir
