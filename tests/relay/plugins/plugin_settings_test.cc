#include "relay/plugins/plugin_settings.h"

#include <gtest/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

std::string ErrorOf(const Environment& environment) {
  PluginSettings settings;
  SettingTable table;
  Declare(table, settings);
  const Status loaded = table.Load(environment);
  return loaded.ok() ? Check(settings).message() : loaded.message();
}

TEST(PluginSettings, ASettingWithoutItsPluginIsAnError) {
  const char* const names[] = {"WEIR_WRITE_PLUGIN_PROCESSES", "WEIR_READ_PLUGIN_PROCESSES", "WEIR_PLUGIN_TIMEOUT_MS",
                               "WEIR_PLUGIN_FAILURE", "WEIR_PLUGIN_IMPORTS"};
  const char* const values[] = {"2", "2", "100", "accept", "false"};
  for (size_t i = 0; i < std::size(names); ++i) {
    EXPECT_TRUE(Has(ErrorOf({{names[i], values[i]}}), std::string(names[i]) + " is set, but has no effect"));
    EXPECT_EQ(ErrorOf({{names[i], values[i]}, {"WEIR_WRITE_PLUGIN", "/w"}, {"WEIR_READ_PLUGIN", "/r"}}), "");
  }
  EXPECT_EQ(ErrorOf({}), "");
  EXPECT_EQ(ErrorOf({{"WEIR_PLUGIN_TIMEOUT_MS", "100"}, {"WEIR_READ_PLUGIN", "/r"}}), "");
  EXPECT_TRUE(Has(ErrorOf({{"WEIR_WRITE_PLUGIN_PROCESSES", "2"}, {"WEIR_READ_PLUGIN", "/r"}}), "no effect"));
}

}  // namespace
}  // namespace weir
