#include "config/settings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace weir {
namespace {

using std::chrono::milliseconds;

enum class OnFault { kHold, kOpen };

struct Sample {
  bool enabled = true;
  double setpoint = 0.85;
  int64_t offset = 0;
  uint64_t port = 3334;
  milliseconds max_delay{1000};
  std::string data_dir = "./data";
  OnFault on_fault = OnFault::kHold;

  bool operator==(const Sample&) const = default;
};

void Declare(SettingTable& table, Sample& s) {
  table.Add("ENABLED", &s.enabled, "whether it acts");
  table.Add("SETPOINT", &s.setpoint, {0.05, 1, "fraction of the level where the engine brakes"}, "level to hold");
  table.Add("OFFSET", &s.offset, {-10, 10}, "shift");
  table.Add("PORT", &s.port, {1, 65535}, "port to listen on");
  table.Add("MAX_DELAY_MS", &s.max_delay, {.min = 1, .max = 60000}, "longest delay");
  table.Add("DATA_DIR", &s.data_dir, "where the data is");
  table.Add("ON_FAULT", &s.on_fault, {{"hold", OnFault::kHold}, {"open", OnFault::kOpen}}, "without a sample");
}

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() { Declare(table_, sample_); }

  const SettingRow& Row(std::string_view name) const {
    for (const SettingRow& row : table_.rows())
      if (row.name == name) return row;
    throw std::logic_error("no such row");
  }

  Sample sample_;
  SettingTable table_;
};

TEST_F(SettingsTest, KeepsTheDefaultsWithoutAnyValue) {
  ASSERT_TRUE(table_.Load({}).ok());
  EXPECT_EQ(sample_, Sample{});
  EXPECT_EQ(Row("SETPOINT").value, "0.85");
  EXPECT_EQ(Row("SETPOINT").default_value, "0.85");
  EXPECT_EQ(Row("SETPOINT").source, "default");
}

class InheritingTest : public SettingsTest {
 protected:
  InheritingTest() {
    table_.Add("IMPORT_SETPOINT", &import_setpoint_, {0.05, 1, "level"}, "of imports");
    table_.DefaultFrom("IMPORT_SETPOINT", "SETPOINT");
  }

  double import_setpoint_ = 0.85;
};

TEST_F(InheritingTest, AnUnsetSettingInheritsAValueAndNamesItsSource) {
  ASSERT_TRUE(table_.Load({{"WEIR_SETPOINT", "0.5"}}).ok());
  EXPECT_EQ(import_setpoint_, 0.5);
  EXPECT_EQ(Row("IMPORT_SETPOINT").value, "0.5");
  EXPECT_EQ(Row("IMPORT_SETPOINT").source, "inherited from WEIR_SETPOINT");
  ASSERT_TRUE(table_.Load({}, {{"--setpoint", "SETPOINT", "0.6"}}).ok());
  EXPECT_EQ(import_setpoint_, 0.6);
  EXPECT_EQ(Row("IMPORT_SETPOINT").source, "inherited from --setpoint");
}

TEST_F(InheritingTest, ASetSettingInheritsNothingInAnyOrder) {
  ASSERT_TRUE(table_.Load({{"ORLY_IMPORT_SETPOINT", "0.3"}, {"WEIR_SETPOINT", "0.5"}}).ok());
  EXPECT_EQ(import_setpoint_, 0.3);
  EXPECT_EQ(Row("IMPORT_SETPOINT").source, "ORLY_IMPORT_SETPOINT");
  ASSERT_TRUE(table_.Load({}, {{"--setpoint", "SETPOINT", "0.6"}}).ok());
  EXPECT_EQ(import_setpoint_, 0.3);
}

TEST_F(InheritingTest, KeepsBothDefaultsWithoutAnyValue) {
  ASSERT_TRUE(table_.Load({}).ok());
  EXPECT_EQ(Row("IMPORT_SETPOINT").source, "default");
  EXPECT_THROW(table_.DefaultFrom("IMPORT_SETPOINT", "NO_SUCH"), std::logic_error);
}

TEST_F(SettingsTest, EveryTypeIsRead) {
  ASSERT_TRUE(table_
                  .Load({{"WEIR_ENABLED", "off"},
                         {"WEIR_SETPOINT", " 0.7 "},
                         {"WEIR_OFFSET", "-3"},
                         {"WEIR_PORT", "80"},
                         {"WEIR_MAX_DELAY_MS", "20"},
                         {"WEIR_DATA_DIR", " /var/lib/my weir\n"},
                         {"WEIR_ON_FAULT", "Open"}})
                  .ok());
  EXPECT_EQ(sample_, (Sample{false, 0.7, -3, 80, milliseconds(20), "/var/lib/my weir", OnFault::kOpen}));
  EXPECT_EQ(Row("ENABLED").value, "false");
  EXPECT_EQ(Row("ON_FAULT").value, "open");
  EXPECT_EQ(Row("PORT").source, "WEIR_PORT");
}

TEST_F(SettingsTest, RowsDescribeThemselves) {
  EXPECT_EQ(Row("ENABLED").range, "true|false");
  EXPECT_EQ(Row("SETPOINT").range, "0.05..1");
  EXPECT_EQ(Row("SETPOINT").unit, "fraction of the level where the engine brakes");
  EXPECT_EQ(Row("MAX_DELAY_MS").unit, "ms");
  EXPECT_EQ(Row("ON_FAULT").range, "hold|open");
  EXPECT_EQ(Row("DATA_DIR").range, "");
  EXPECT_EQ(Row("DATA_DIR").meaning, "where the data is");
}

TEST_F(SettingsTest, OrlyIsTheFallbackAndEmptyMeansUnset) {
  ASSERT_TRUE(table_
                  .Load({{"WEIR_PORT", "1"},
                         {"ORLY_PORT", "2"},
                         {"ORLY_SETPOINT", "0.5"},
                         {"WEIR_OFFSET", "  "},
                         {"ORLY_OFFSET", "4"},
                         {"WEIR_DATA_DIR", ""}})
                  .ok());
  EXPECT_EQ(sample_.port, 1U);
  EXPECT_EQ(sample_.setpoint, 0.5);
  EXPECT_EQ(Row("SETPOINT").source, "ORLY_SETPOINT");
  EXPECT_EQ(sample_.offset, 4);
  EXPECT_EQ(sample_.data_dir, "./data");
}

TEST_F(SettingsTest, AnErrorNamesVariableValueRangeAndUnit) {
  struct Case {
    Environment environment;
    std::string_view error;
  };
  for (const auto& [environment, error] : std::vector<Case>{
           {{{"WEIR_SETPOINT", "85"}},
            "WEIR_SETPOINT=85: not within 0.05..1 (fraction of the level where the engine brakes)"},
           {{{"WEIR_SETPOINT", "nan"}},
            "WEIR_SETPOINT=nan: not a number within 0.05..1 (fraction of the level where the engine brakes)"},
           {{{"ORLY_PORT", "http"}}, "ORLY_PORT=http: not a whole number within 1..65535"},
           {{{"WEIR_PORT", "0"}, {"ORLY_PORT", "80"}}, "WEIR_PORT=0: not within 1..65535"},
           {{{"WEIR_MAX_DELAY_MS", "0"}}, "WEIR_MAX_DELAY_MS=0: not within 1..60000 (ms)"},
           {{{"WEIR_ENABLED", "perhaps"}}, "WEIR_ENABLED=perhaps: not true or false (nor 1, 0, yes, no, on, off)"},
           {{{"WEIR_ON_FAULT", "fail"}}, "WEIR_ON_FAULT=fail: not one of hold|open"},
           {{{"WEIR_PORT", "8\n0"}}, "WEIR_PORT=8\\x0a0: not a whole number within 1..65535"},
           {{{"WEIR_PORT", "x"}, {"WEIR_ENABLED", "x"}, {"ORLY_OFFSET", "11"}},
            "WEIR_ENABLED=x: not true or false (nor 1, 0, yes, no, on, off)\n"
            "ORLY_OFFSET=11: not within -10..10\n"
            "WEIR_PORT=x: not a whole number within 1..65535"},
       }) {
    EXPECT_EQ(table_.Load(environment).message(), error);
  }
}

TEST_F(SettingsTest, AnErrorChangesNoSetting) {
  EXPECT_FALSE(table_.Load({{"WEIR_ENABLED", "false"}, {"WEIR_PORT", "80"}, {"WEIR_ON_FAULT", "x"}}).ok());
  EXPECT_EQ(sample_, Sample{});
  EXPECT_EQ(Row("PORT").value, "3334");
  EXPECT_EQ(Row("PORT").source, "default");
}

TEST_F(SettingsTest, AFlagOverrides) {
  ASSERT_TRUE(table_.Load({{"WEIR_PORT", "80"}}).ok());
  ASSERT_TRUE(table_.Load({}, {{"--port", "PORT", "81"}}).ok());
  EXPECT_EQ(sample_.port, 81U);
  EXPECT_EQ(Row("PORT").source, "--port");
  EXPECT_EQ(table_.Load({}, {{"--port", "PORT", "99999"}}).message(), "--port=99999: not within 1..65535");
  EXPECT_EQ(sample_.port, 81U);
  EXPECT_EQ(table_.Load({}, {{"--prot", "PROT", "1"}}).message(), "--prot: there is no setting PROT");
}

TEST_F(SettingsTest, UnknownNamesAreWarningsWithTheNearest) {
  const Environment environment = {{"WEIR_SETPONT", "0.5"},     {"WEIR_PORT", "80"}, {"WEIR_ZZZZZZZZZZ", "1"},
                                   {"WEIRD_SETPOINT", "1"},     {"HOME", "/root"},   {"WEIR_", "1"},
                                   {"WEIR_MAX_DELAY_SM", "100"}};
  EXPECT_EQ(table_.UnknownNames(environment),
            (std::vector<std::string>{
                "WEIR_ is not a setting", "WEIR_MAX_DELAY_SM is not a setting; did you mean WEIR_MAX_DELAY_MS?",
                "WEIR_SETPONT is not a setting; did you mean WEIR_SETPOINT?", "WEIR_ZZZZZZZZZZ is not a setting"}));
}

// ORLY has many settings without a counterpart in weir. An operator who set a limit there must learn that it does
// nothing here.
TEST_F(SettingsTest, WarnsOfOrlysNamesThatAreLikeOneOfWeirs) {
  const Environment environment = {{"ORLY_SETPONT", "0.5"},         {"ORLY_PORT", "80"},
                                   {"ORLY_MAX_DELAY_NEO4J", "9"},   {"ORLY_SPIDER_MODE", "none"},
                                   {"ORLY_MAX_STORAGE_BYTES", "1"}, {"ORLY_PPROF", "cpu"}};
  EXPECT_EQ(table_.UnknownNames(environment),
            (std::vector<std::string>{"ORLY_MAX_DELAY_NEO4J is not a setting",
                                      "ORLY_SETPONT is not a setting; did you mean WEIR_SETPOINT?"}));
}

TEST_F(SettingsTest, ContradictingDeclarationsThrow) {
  double number = 2;
  EXPECT_THROW(table_.Add("NEW", &number, {0, 1}, "default out of range"), std::logic_error);
  EXPECT_THROW(table_.Add("PORT", &number, {0, 9}, "declared twice"), std::logic_error);
  auto fault = OnFault::kOpen;
  EXPECT_THROW(table_.Add("NEW", &fault, {{"hold", OnFault::kHold}}, "default is no word"), std::logic_error);
}

TEST_F(SettingsTest, AVariableOfAnotherProgramCountsLast) {
  table_.AlsoFrom("PORT", "OTHER_PORT");
  ASSERT_TRUE(table_.Load({{"OTHER_PORT", "7"}}).ok());
  EXPECT_EQ(sample_.port, 7U);
  EXPECT_EQ(Row("PORT").source, "OTHER_PORT");
  ASSERT_TRUE(table_.Load({{"OTHER_PORT", "7"}, {"ORLY_PORT", "8"}}).ok());
  EXPECT_EQ(sample_.port, 8U);
  ASSERT_TRUE(table_.Load({{"OTHER_PORT", "seven"}, {"WEIR_PORT", "9"}}).ok()) << "it does not count";
  EXPECT_EQ(sample_.port, 9U);
  EXPECT_EQ(table_.Load({{"OTHER_PORT", "0"}}).message(), "OTHER_PORT=0: not within 1..65535");
  EXPECT_THROW(table_.AlsoFrom("NO_SUCH", "OTHER"), std::logic_error);
}

TEST(ProcessEnvironment, HoldsTheVariablesOfTheProcess) {
  ASSERT_EQ(setenv("WEIR_TEST_OF_ENVIRONMENT", "a=b", 1), 0);
  const Environment environment = ProcessEnvironment();
  EXPECT_EQ(environment.at("WEIR_TEST_OF_ENVIRONMENT"), "a=b");
}

RC_GTEST_PROP(Settings, AValueThatTheTablePrintsIsReadBack, ()) {
  double min = *rc::gen::arbitrary<double>();
  double max = *rc::gen::arbitrary<double>();
  RC_PRE(std::isfinite(min) && std::isfinite(max));
  if (min > max) std::swap(min, max);
  // Rounding at the edges concerns the generator, not the table.
  const double fraction = *rc::gen::inRange(0, 1001) / 1000.0;
  const double number = std::clamp(min * (1 - fraction) + max * fraction, min, max);

  double variable = number;
  SettingTable table;
  table.Add("X", &variable, {min, max}, "any");
  const std::string printed = table.rows().front().value;
  variable = min;
  RC_ASSERT(table.Load({{"WEIR_X", printed}}).ok());
  RC_ASSERT(variable == number);
  RC_ASSERT(table.rows().front().value == printed);
}

RC_GTEST_PROP(Settings, OutOfRangeIsRefusedAndChangesNothing, ()) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const int64_t number =
      *rc::gen::oneOf(rc::gen::inRange(kLeast, int64_t{-1000}), rc::gen::inRange(int64_t{1001}, kMost),
                      rc::gen::element(int64_t{-1001}, int64_t{1001}, kLeast, kMost));
  int64_t first = 1;
  int64_t second = 2;
  SettingTable table;
  table.Add("FIRST", &first, {-1000, 1000}, "any");
  table.Add("SECOND", &second, {-1000, 1000}, "any");
  RC_ASSERT(!table.Load({{"WEIR_FIRST", "7"}, {"WEIR_SECOND", std::to_string(number)}}).ok());
  RC_ASSERT(first == 1);
  RC_ASSERT(second == 2);
}

}  // namespace
}  // namespace weir
