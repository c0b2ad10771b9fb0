#include "relay/observe/trace/trace_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace weir {
namespace {

// Loads settings as the environment says.
class TraceSettingsTest : public testing::Test {
 protected:
  TraceSettingsTest() { Declare(table_, settings_); }
  Status Load(const Environment& environment) {
    if (Status loaded = table_.Load(environment); !loaded.ok()) return loaded;
    return Check(settings_);
  }
  const SettingRow& Row(const std::string& name) const {
    return *std::ranges::find(table_.rows(), name, &SettingRow::name);
  }
  std::string Resource(const std::string& key) const {
    const TraceTarget target = ReadTraceTarget(settings_).value();
    const auto found = std::ranges::find(target.resource, key, &ResourceAttributes::value_type::first);
    return found == target.resource.end() ? "" : found->second;
  }

  TraceSettings settings_;
  SettingTable table_;
};

TEST_F(TraceSettingsTest, IsOffByDefault) {
  EXPECT_TRUE(Load({}).ok());
  EXPECT_EQ(settings_.endpoint, "");
}

TEST_F(TraceSettingsTest, TakesTheNamesOfOpenTelemetry) {
  ASSERT_TRUE(Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/otlp/"},
                    {"OTEL_TRACES_SAMPLER_ARG", "0.25"},
                    {"OTEL_SERVICE_NAME", "relay-1"},
                    {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod, service.name=other,note=a%2Cb"},
                    {"OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret,x-scope=1"},
                    {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/etc/ca.pem"}})
                  .ok());
  const TraceTarget target = ReadTraceTarget(settings_).value();
  EXPECT_EQ(target.url.Origin() + target.url.path, "https://collector.example/otlp");
  EXPECT_EQ(settings_.ratio, 0.25);
  EXPECT_EQ(target.headers,
            (std::vector<std::pair<std::string, std::string>>{{"authorization", "Bearer secret"}, {"x-scope", "1"}}));
  EXPECT_EQ(target.ca_file, "/etc/ca.pem");
  EXPECT_EQ(Resource("service.name"), "relay-1");
  EXPECT_EQ(Resource("deployment.environment"), "prod");
  EXPECT_EQ(Resource("note"), "a,b");
  EXPECT_EQ(Row("TRACE_RATIO").source, "OTEL_TRACES_SAMPLER_ARG");
  EXPECT_EQ(Row("TRACE_HEADERS").value, "***");
}

TEST_F(TraceSettingsTest, ItsOwnNamesComeFirst) {
  ASSERT_TRUE(Load({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4318"},
                    {"WEIR_TRACE_ENDPOINT", "http://mine:4318"},
                    {"OTEL_TRACES_SAMPLER_ARG", "1"},
                    {"ORLY_TRACE_RATIO", "0.5"}})
                  .ok());
  EXPECT_EQ(settings_.endpoint, "http://mine:4318");
  EXPECT_EQ(settings_.ratio, 0.5);
}

TEST_F(TraceSettingsTest, AServiceHasItsNameFromTheAttributesOrIsWeir) {
  ASSERT_TRUE(Load({{"WEIR_TRACE_ENDPOINT", "http://[::1]:4318"}}).ok());
  EXPECT_EQ(Resource("service.name"), "weir");
  EXPECT_NE(Resource("service.version"), "");
  settings_.attributes = "service.name=paid";
  EXPECT_EQ(Resource("service.name"), "paid");
}

TEST_F(TraceSettingsTest, RefusesBadValuesByName) {
  const auto error = [](const Environment& environment) {
    TraceSettings settings;
    SettingTable table;
    Declare(table, settings);
    const Status loaded = table.Load(environment);
    return loaded.ok() ? Check(settings).message() : loaded.message();
  };
  const std::pair<std::string, std::string> on{"WEIR_TRACE_ENDPOINT", "http://127.0.0.1:4318"};
  EXPECT_EQ(error({{"WEIR_TRACE_ENDPOINT", "collector:4317"}}),
            "WEIR_TRACE_ENDPOINT=collector:4317 (or OTEL_EXPORTER_OTLP_ENDPOINT): not like http://127.0.0.1:3335 or "
            "https://host/path");
  EXPECT_EQ(error({on, {"OTEL_TRACES_SAMPLER_ARG", "2"}}), "OTEL_TRACES_SAMPLER_ARG=2: not within 0..1 (fraction)");
  for (const std::string bad : {"one", "=1", "a=%zz", "a=%ff"})
    EXPECT_TRUE(error({on, {"WEIR_TRACE_ATTRIBUTES", bad}}).starts_with("WEIR_TRACE_ATTRIBUTES=")) << bad;
  for (const std::string bad : {"one", "a=1%0d%0ax: y", "a b=1", "a:=1", "\xc3\xa9=1"})
    EXPECT_EQ(error({on, {"WEIR_TRACE_HEADERS", bad}}),
              "WEIR_TRACE_HEADERS: not key=value,key=value with names and values that a header may have")
        << bad;
  EXPECT_EQ(error({{"WEIR_TRACE_HEADERS", "one"}}), "") << "nothing is sent";
}

}  // namespace
}  // namespace weir
