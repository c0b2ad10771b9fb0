// The text that Prometheus reads: well-formed, in base units, with bounded labels.
#include "relay/observe/relay/relay_metrics.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "relay/observe/metrics/latency_metric.h"
#include "relay/observe/relay/relay_counters.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/observe/relay/busy_sources.h"

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RelayMetrics, KeepsTheNamesThatDashboardsKnow) {
  RelayMetrics metrics;
  metrics.counters().CountClientMessage(Verb::kReq);
  metrics.counters().CountClientMessage(Verb::kReq);
  metrics.counters().CountRelayMessage(RelayVerb::kEvent, 5);
  metrics.counters().CountSavedEvent(1);
  for (const bool by_estimate : {false, false, true}) metrics.counters().CountAnswered(by_estimate);
  metrics.counters().CountClientMessage(Verb::kNegMsg);
  metrics.counters().CountRelayMessage(RelayVerb::kNegErr);
  for (const int change : {1, 1, -1}) metrics.counters().CountOpenSyncs(change);
  const std::string text = metrics.Prometheus();
  EXPECT_TRUE(HasLine(text, "nostr_client_messages_total{verb=\"REQ\"} 2")) << text;
  EXPECT_TRUE(HasLine(text, "nostr_client_messages_total{verb=\"NEG-MSG\"} 1"));
  EXPECT_TRUE(HasLine(text, "nostr_relay_messages_total{verb=\"NEG-ERR\"} 1"));
  EXPECT_TRUE(HasLine(text, "weir_open_syncs 1"));
  EXPECT_TRUE(HasLine(text, "nostr_relay_messages_total{verb=\"EVENT\"} 5"));
  EXPECT_TRUE(HasLine(text, "nostr_relay_messages_total{verb=\"OK\"} 0"));
  EXPECT_TRUE(HasLine(text, "nostr_events_total{kind=\"1\"} 1"));
  EXPECT_TRUE(HasLine(text, "weir_counts_total{answer=\"exact\"} 2"));
  EXPECT_TRUE(HasLine(text, "weir_counts_total{answer=\"estimate\"} 1"));
}

TEST(RelayMetrics, LabelsAreBounded) {
  RelayMetrics metrics;
  for (int kind = 0; kind <= 65535; ++kind) metrics.counters().CountSavedEvent(static_cast<uint16_t>(kind));
  for (int i = 0; i < 1000; ++i) metrics.counters().CountRefusal("reason " + std::to_string(i) + ": of a client");
  const std::string text = metrics.Prometheus();
  EXPECT_LT(std::ranges::count(text, '\n'), 500);
  EXPECT_TRUE(HasLine(text, "weir_refusals_total{prefix=\"other\"} 1000"));
}

TEST(RelayMetrics, RefusalsAreCountedWithOrWithoutTheColon) {
  RelayMetrics metrics;
  metrics.counters().CountRefusal("invalid");
  metrics.counters().CountRefusal("invalid: bad signature");
  EXPECT_TRUE(HasLine(metrics.Prometheus(), "weir_refusals_total{prefix=\"invalid\"} 2"));
}

TEST(RelayMetrics, HistogramsAreCumulativeInSeconds) {
  RelayMetrics metrics;
  metrics.counters().EventToOk(microseconds(100));
  metrics.counters().EventToOk(milliseconds(3));
  metrics.counters().EventToOk(std::chrono::seconds(20));
  metrics.counters().EventToOk(Duration(-5));
  const std::string text = metrics.Prometheus();
  EXPECT_TRUE(HasLine(text, "weir_event_ok_seconds_bucket{le=\"0.0001\"} 2")) << text;
  EXPECT_TRUE(HasLine(text, "weir_event_ok_seconds_bucket{le=\"0.005\"} 3"));
  EXPECT_TRUE(HasLine(text, "weir_event_ok_seconds_bucket{le=\"10\"} 3"));
  EXPECT_TRUE(HasLine(text, "weir_event_ok_seconds_bucket{le=\"+Inf\"} 4"));
  EXPECT_TRUE(HasLine(text, "weir_event_ok_seconds_count 4"));
}

// Every rule that `promtool check metrics` has for names, help and types, and those of the format.
void CheckFormat(const std::string& text) {
  const std::regex sample(R"re(^([a-z_:][a-z0-9_:]*)(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? (\S+)$)re");
  const std::regex abbreviated("_(ms|us|ns|s|sec|b|kb|mb|gb|m|h|d)(_|$)");
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  std::set<std::string> series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    if (line.starts_with("# ")) {
      words >> hash >> what >> name;
      std::getline(words >> std::ws, rest);
      EXPECT_FALSE(rest.empty()) << line;
      const bool is_new = what == "HELP" ? helped.insert(name).second : types.emplace(name, rest).second;
      EXPECT_TRUE(is_new) << "twice: " << line;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
    std::string family = match[1];
    if (!types.contains(family)) family = std::regex_replace(family, std::regex("_(bucket|sum|count)$"), "");
    ASSERT_TRUE(types.contains(family) && helped.contains(family)) << line;
    EXPECT_EQ(family.ends_with("_total"), types[family] == "counter") << line;
    EXPECT_FALSE(std::regex_search(family, abbreviated)) << line;
    EXPECT_FALSE(Has(family, types[family])) << "the type is in the name: " << line;
    const std::string value = match[4];
    EXPECT_FALSE(value == "nan" || value == "NaN" || value.empty()) << line;
  }
  EXPECT_GT(series.size(), 100u);
}

TEST(RelayMetrics, TextIsWellFormed) {
  RelayMetrics metrics;
  BusySources sources;
  metrics.SetSources(sources.Sources());
  metrics.counters().CountSavedEvent(1);
  metrics.counters().CountSavedEvent(60000);
  metrics.counters().EventToOk(milliseconds(1));
  CheckFormat(metrics.Prometheus());
}

TEST(RelayMetrics, ShowsWhatOtherRoomsCount) {
  RelayMetrics metrics;
  BusySources sources;
  metrics.SetSources(sources.Sources());
  const std::string text = metrics.Prometheus();
  for (const char* line : {"weir_connections 3",
                           "weir_ready 1",
                           "weir_disconnects_total{reason=\"too_slow\"} 2",
                           "weir_disconnects_total{reason=\"policy\"} 1",
                           "weir_http_errors_total 8",
                           "weir_subscriptions 5",
                           "weir_store_events 42",
                           "weir_store_damaged_reads_total 6",
                           "weir_commit_waiting_events 4",
                           "weir_bulk_commits_failed_total 2",
                           "weir_bulk_commits_waiting 1",
                           "weir_rocksdb_writes_stopped 0",
                           "weir_throttle_admitted_total{operation=\"write\",class=\"interactive\"} 1",
                           "weir_throttle_admitted_bytes_total{operation=\"write\",class=\"interactive\"} 1000",
                           "weir_throttle_refused_total{operation=\"write\",reason=\"l0\"} 0",
                           "weir_throttle_refused_total{operation=\"write\",reason=\"too large\"} 0",
                           "weir_postgres_read_connections{number=\"most\"} 32",
                           "weir_postgres_read_connections{number=\"allowed\"} 12",
                           "weir_postgres_read_waiting 3",
                           "weir_postgres_reads_total{outcome=\"ok\"} 70",
                           "weir_postgres_read_waits_total 20",
                           "weir_throttle_open{class=\"bulk\"} 1",
                           "weir_trace_spans_total{result=\"rejected\"} 0",
                           "weir_trace_spans_waiting 0"}) {
    EXPECT_TRUE(HasLine(text, line)) << line << "\n" << text;
  }
  for (const char* part : {"weir_throttle_term{controller=\"write\",term=\"i\"}", "weir_throttle_process_variable{",
                           "weir_throttle_signal_level{signal=\"memory\"}", "weir_memory_target_bytes "}) {
    EXPECT_TRUE(Has(text, part)) << part;
  }
}

// The figure for an alert of a full disk: like df, without the room that is kept for root.
TEST(RelayMetrics, TellsTheDiskOfTheDataDirectory) {
  const auto value_of = [](const std::string& text, const std::string& name) {
    const size_t at = text.find("\n" + name + " ");
    return at == text.npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  RelayMetrics metrics;
  BusySources sources;
  metrics.SetSources(sources.Sources());
  const std::string text = metrics.Prometheus();
  const std::filesystem::space_info disk = std::filesystem::space(sources.Sources().data_dir);
  EXPECT_EQ(value_of(text, "weir_data_disk_size_bytes"), static_cast<double>(disk.capacity));
  const double free_bytes = value_of(text, "weir_data_disk_free_bytes");
  EXPECT_GT(free_bytes, 0);
  EXPECT_NEAR(free_bytes, static_cast<double>(disk.available), 0.1 * static_cast<double>(disk.capacity));

  metrics.SetSources({.data_dir = "/nowhere/at/all"});
  EXPECT_FALSE(Has(metrics.Prometheus(), "weir_data_disk"));
}

class SetClock final : public Clock {
 public:
  TimePoint Now() const override { return now; }
  TimePoint now{std::chrono::hours(1)};
};

// Anyone may ask, and each request takes an I/O thread's time.
TEST(RelayMetrics, AskingOftenCostsLittle) {
  SetClock clock;
  RelayMetrics metrics(clock);
  int asked_server = 0;
  int asked_store = 0;
  MetricSources sources;
  sources.service.server = [&] { return ServerStats{.connections = static_cast<uint64_t>(++asked_server)}; };
  sources.store = [&] { return StoreSizes{.events = static_cast<uint64_t>(++asked_store)}; };
  metrics.SetSources(sources);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(HasLine(metrics.Prometheus(), "weir_connections 1"));
    EXPECT_TRUE(Has(metrics.Json(), "\"weir_connections\": 2")) << metrics.Json();
  }
  EXPECT_EQ(asked_server, 2);
  clock.now += std::chrono::seconds(1);
  EXPECT_EQ(asked_store, 2);
  EXPECT_TRUE(HasLine(metrics.Prometheus(), "weir_connections 3"));
  EXPECT_TRUE(HasLine(metrics.Prometheus(), "weir_store_events 3"));
  metrics.SetSources({});
  EXPECT_FALSE(Has(metrics.Prometheus(), "weir_connections"));
}

TEST(RelayMetrics, PromtoolFindsNothing) {
  const std::filesystem::path unpacked = std::filesystem::path(WEIR_SOURCE_DIR) / "build/tools/promtool";
  const std::string promtool = std::filesystem::exists(unpacked) ? unpacked.string() : "promtool";
  if (std::system((promtool + " --version >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP() << "promtool is not here; .ci/test-tools build/tools brings it";
  RelayMetrics metrics;
  BusySources sources;
  metrics.SetSources(sources.Sources());
  const TempDirectory directory;
  const std::string file = directory.Write("metrics.txt", metrics.Prometheus());
  EXPECT_EQ(std::system((promtool + " check metrics <" + file).c_str()), 0);
}

TEST(RelayMetrics, JsonHasTheSameFigures) {
  RelayMetrics metrics;
  BusySources sources;
  metrics.SetSources(sources.Sources());
  metrics.counters().CountClientMessage(Verb::kReq);
  for (int i = 0; i < 100; ++i) metrics.counters().ReqToEose(milliseconds(2));
  simdjson::dom::parser parser;
  const std::string text = metrics.Json();
  const simdjson::dom::element json = parser.parse(text);
  EXPECT_EQ(int64_t(json.at_pointer("/nostr_client_messages_total/REQ")), 1);
  EXPECT_EQ(int64_t(json.at_pointer("/weir_req_eose_seconds/count")), 100);
  EXPECT_NEAR(double(json.at_pointer("/weir_req_eose_seconds/p50")), 0.002, 0.001);
  EXPECT_EQ(int64_t(json.at_pointer("/weir_throttle_admitted_total/write/interactive")), 1);
  EXPECT_EQ(int64_t(json.at_pointer("/rate_limit/write_throttle_count")), 0);
  EXPECT_GE(double(json.at_pointer("/rate_limit/memory_pressure")), 0);
  EXPECT_FALSE(std::string_view(json.at_pointer("/weir_build_info/rocksdb")).empty());
}

TEST(LatencyMetric, QuantileLiesWithinItsBucket) {
  LatencyMetric histogram;
  EXPECT_EQ(Quantile(histogram.Snapshot(), 0.5), 0);
  for (int i = 0; i < 90; ++i) histogram.Observe(microseconds(300));
  for (int i = 0; i < 10; ++i) histogram.Observe(milliseconds(30));
  const double p50 = Quantile(histogram.Snapshot(), 0.5);
  EXPECT_GT(p50, 0.00025);
  EXPECT_LE(p50, 0.0005);
  const double p99 = Quantile(histogram.Snapshot(), 0.99);
  EXPECT_GT(p99, 0.025);
  EXPECT_LE(p99, 0.05);
  histogram.Observe(std::chrono::hours(1));
  EXPECT_EQ(Quantile(histogram.Snapshot(), 1.0), kLatencyBounds.back());
}

}  // namespace
}  // namespace weir
