#include "bench/relay/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bench/relay/endpoint.h"
#include "bench/relay/launch.h"

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
