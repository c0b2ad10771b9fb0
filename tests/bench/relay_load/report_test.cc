#include "bench/relay/report.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "bench/relay/growth.h"
#include "bench/relay/launch.h"
#include "bench/relay/page_cache.h"

namespace weir {
namespace {

std::vector<ResultRow> Rates(const std::string& relay, const std::vector<double>& values) {
  std::vector<ResultRow> rows;
  for (const double value : values)
    rows.push_back({.date = "2026-01-01",
                    .relay = relay,
                    .repetition = static_cast<int>(rows.size()) + 1,
                    .scenario = "ingest",
                    .figure = {"rate", "events/s", value}});
  return rows;
}

std::vector<ResultRow> operator+(std::vector<ResultRow> a, const std::vector<ResultRow>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Report, MedianOfOddEvenAndNoFigures) {
  EXPECT_EQ(SpreadOf({3, 1, 2}).median, 2);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).lowest, 1);
  EXPECT_EQ(SpreadOf({4, 1, 2, 3}).highest, 4);
  EXPECT_TRUE(std::isnan(SpreadOf({}).median));
}

TEST(Report, TableHasMediansRangesAndARatio) {
  const std::string table = ResultTables(Rates("peer", {2000, 1000, 3000}) + Rates("weir", {5000}));
  EXPECT_NE(table.find("| figure | peer | weir | weir : peer |"), std::string::npos) << table;
  EXPECT_NE(table.find("| ingest: rate, events/s | 2000 (1000–3000) | 5000 | 2.50 |"), std::string::npos) << table;
}

TEST(Report, DigestsAreComparedAndNotDivided) {
  std::vector<ResultRow> rows = Rates("peer", {255, 255}) + Rates("weir", {255});
  for (ResultRow& row : rows) row.figure = {"digest", "digest", row.figure.value};
  EXPECT_NE(ResultTables(rows).find("| digest | 0000000000ff | 0000000000ff | same |"), std::string::npos);
  rows.back().figure.value = 254;
  EXPECT_NE(ResultTables(rows).find("| differs |"), std::string::npos);
}

TEST(Report, AFigureThatOneRelayLacksLeavesItsCellEmpty) {
  std::vector<ResultRow> rows = Rates("peer", {1}) + Rates("weir", {2});
  rows[1].figure.name = "refused pow";
  EXPECT_NE(ResultTables(rows).find("| refused pow, events/s |  | 2 |  |"), std::string::npos) << ResultTables(rows);
}

TEST(Report, CsvHasOneHeader) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const auto file = scratch.value()->path() / "results.csv";
  ASSERT_TRUE(AppendResults(file, Rates("weir", {1.5})).ok());
  ASSERT_TRUE(AppendResults(file, Rates("weir", {2})).ok());
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text,
            "date,relay,repetition,scenario,figure,unit,value\n"
            "2026-01-01,weir,1,ingest,rate,events/s,1.5000\n"
            "2026-01-01,weir,1,ingest,rate,events/s,2.0000\n");
}

TEST(Report, RowsAreReadAsTheyWereWritten) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const auto file = scratch.value()->path() / "results.csv";
  EXPECT_FALSE(ReadResults(file).ok());
  std::vector<ResultRow> rows = Rates("peer", {1.5}) + Rates("weir", {2, 3});
  rows[0].figure.unit = "";
  ASSERT_TRUE(AppendResults(file, rows).ok());
  const auto read = ReadResults(file);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read.value().size(), 3u);
  EXPECT_EQ(read.value()[0].figure.unit, "");
  EXPECT_EQ(read.value()[0].figure.value, 1.5);
  EXPECT_EQ(read.value()[2].relay, "weir");
  EXPECT_EQ(read.value()[2].repetition, 2);
  EXPECT_EQ(read.value()[2].figure.value, 3);
  std::ofstream(file, std::ios::app) << "2026-01-01,weir,1\n";
  EXPECT_NE(ReadResults(file).status().message().find(":5: not a row"), std::string::npos);
}

ResultRow Asked(const std::string& relay, const std::string& state, const std::string& figure, double value) {
  return {.date = "2026-01-01", .relay = relay, .scenario = state, .figure = {figure, "ms", value}};
}

TEST(Report, ShapesHaveARowInTheTableOfEachState) {
  std::vector<ResultRow> rows;
  for (const char* relay : {"peer", "weir"})
    for (const char* state : {"fresh", "first-touch"})
      for (const double value : {0.25, 0.75, 0.5}) {
        rows.push_back(Asked(relay, state, "#e: EOSE p50", value));
        rows.push_back(Asked(relay, state, "#e: EOSE p99", relay == std::string("weir") ? 1 : 2));
      }
  rows.push_back(Asked("weir", "import", "seconds", 3));
  const std::string tables = ShapeTables(rows);
  EXPECT_NE(tables.find("## fresh: peer → weir\n"), std::string::npos) << tables;
  EXPECT_NE(tables.find("## first-touch: peer → weir\n"), std::string::npos) << tables;
  EXPECT_NE(tables.find("| #e | **0.500 → 0.500** | 2 → 1 |"), std::string::npos) << tables;
  EXPECT_EQ(tables.find("import"), std::string::npos) << tables;
}

TEST(Growth, TheExponentIsThatOfAPower) {
  EXPECT_NEAR(GrowthExponent({{100, 7}, {1000, 7}, {10'000, 7}}), 0, 1e-9);
  EXPECT_NEAR(GrowthExponent({{100, 1}, {1000, 10}, {10'000, 100}}), 1, 1e-9);
  EXPECT_NEAR(GrowthExponent({{100, 0}, {1000, 10}, {100'000, 1}}), -0.5, 1e-9);
  EXPECT_TRUE(std::isnan(GrowthExponent({{100, 0}, {1000, 10}})));
}

TEST(Growth, TheTableHasTheCostsOfEachSize) {
  const auto rows = [](double p50) {
    return std::vector<ResultRow>{Asked("weir", "lived-in", "id: EOSE p50", p50),
                                  Asked("weir", "lived-in", "id: EOSE max", 9),
                                  Asked("weir", "publish", "generator CPU per event", 3)};
  };
  const std::string table = GrowthTables({{.events = 100, .rows = rows(1)}, {.events = 10'000, .rows = rows(10)}});
  EXPECT_NE(table.find("| cost | 100 | 10000 | exponent | last : first |"), std::string::npos) << table;
  EXPECT_NE(table.find("| lived-in: id: EOSE p50, ms | 1 | 10 | +0.50 | 10 |"), std::string::npos) << table;
  EXPECT_EQ(table.find("max"), std::string::npos) << table;
  EXPECT_EQ(table.find("generator"), std::string::npos) << table;
}

TEST(PageCache, FilesKeepTheirContentsAndTheirBytesAreCounted) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const auto below = scratch.value()->path() / "db";
  EXPECT_FALSE(DropFromPageCache(below).ok());
  std::filesystem::create_directory(below);
  EXPECT_EQ(DropFromPageCache(scratch.value()->path()).value(), 0u);
  const std::string text(100'000, 'x');
  std::ofstream(below / "file") << text;
  const auto left = DropFromPageCache(scratch.value()->path());
  ASSERT_TRUE(left.ok()) << left.status().message();
  struct statfs system {};
  ASSERT_EQ(statfs(below.c_str(), &system), 0);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const bool is_in_memory = system.f_type == TMPFS_MAGIC;
  EXPECT_EQ(left.value(), is_in_memory ? (text.size() + page - 1) / page * page : 0);
  std::ifstream in(below / "file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()), text);
}

TEST(Endpoint, OnlyLoopbackIsLoaded) {
  for (const char* url : {"ws://127.0.0.1:7777", "ws://localhost:1/x", "ws://[::1]:80", "ws://127.8.8.8:9/"})
    EXPECT_TRUE(ParseEndpoint(url).ok()) << url << ": " << ParseEndpoint(url).status().message();
  for (const char* url : {"ws://10.0.0.1:7777", "ws://example.com:80", "wss://127.0.0.1:1", "ws://127.0.0.1",
                          "ws://127.0.0.1:0", "ws://127.0.0.1:99999", "ws://[2001:db8::1]:80", ""})
    EXPECT_FALSE(ParseEndpoint(url).ok()) << url;
  EXPECT_EQ(ParseEndpoint("ws://localhost:3334").value().Url(), "ws://127.0.0.1:3334/");
  EXPECT_EQ(ParseEndpoint("ws://[::1]:3334/a").value().Url(), "ws://[::1]:3334/a");
}

TEST(Launch, FillsInTheCommand) {
  EXPECT_EQ(ExpandCommand("relay --port {port} --db {db} -p {port} > {dir}/x", 80, "d", "d/db"),
            "relay --port 80 --db d/db -p 80 > d/x");
}

TEST(Launch, SaysHowAServerEndedThatDoesNotStart) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const auto dir = scratch.value()->path();
  const auto relay = Launch("echo no disk; exit 3", dir, dir / "db", std::nullopt);
  ASSERT_FALSE(relay.ok());
  EXPECT_EQ(relay.status().message(), "the server ended with status 3: no disk");
}

}  // namespace
}  // namespace weir
