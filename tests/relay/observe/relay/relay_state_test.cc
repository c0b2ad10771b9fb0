// The page that the log gets at SIGUSR1: one page, however much there is to tell.
#include "relay/observe/relay/relay_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/relay/observe/relay/busy_sources.h"

namespace weir {
namespace {

bool Tells(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

size_t Lines(const std::string& page) { return static_cast<size_t>(std::ranges::count(page, '\n')) + 1; }

TEST(StatePage, TellsOfEveryRoom) {
  const BusySources busy;
  Ledger ledger({});
  const auto account = ledger.Open(1);
  const HeldBytes held(account, 2'000'000);
  MetricSources sources = busy.Sources();
  sources.ledger = &ledger;
  sources.last_failure = [] { return std::string("3 s ago: No space left on device"); };
  const std::string page = RelayStatePage({.why = "asked for by a test"}, sources);
  for (const char* part : {"state, asked for by a test: ready\n",
                           "process ",
                           "\n  interactive  open; highest is ",
                           "\n  bulk         open",
                           "\n  emergency    no",
                           "memtables 0.",
                           "\n  sensor       works",
                           "\n  write gate   0 wait, 1 admitted, ",
                           "\n  scan gate ",
                           "\n  memory ",
                           "block cache",
                           "\n  RocksDB ",
                           "files in L0",
                           "12 of 32 connections read from PostgreSQL at once, 9 open, 8 in use, 3 reads wait",
                           "\n  store        42 events, 12.3 kB",
                           "7 writes of 42 events",
                           "2 failed, 1 wait",
                           "3 s ago: No space left on device",
                           "3 WebSockets; 9 sockets",
                           "5 subscriptions, 6 tasks wait",
                           "make the relay hold 2.00 MB, the heaviest address: 2.00 MB"})
    EXPECT_TRUE(Tells(page, part)) << part << "\n" << page;
  EXPECT_LT(Lines(page), 40);
}

TEST(StatePage, SaysWhyItIsNotReadyAndWhatIsWrongAlthoughItIs) {
  EXPECT_TRUE(
      RelayStatePage({.why = "w", .ready = Status::Error("no room")}, {}).starts_with("state, w: NOT ready: no room"));
  EXPECT_TRUE(RelayStatePage({.why = "w", .note = "slow"}, {}).starts_with("state, w: ready, but slow\n"));
}

TEST(StatePage, ShowsMetricsOfPartsThatAreNotZero) {
  MetricSources sources;
  sources.service.plugins = [](MetricFamilies& families) {
    families.Gauge("weir_imports_running", "").Add(uint64_t{2});
    families.Counter("weir_import_lines_total", "")
        .Add(uint64_t{0}, {{"outcome", "invalid"}})
        .Add(uint64_t{1200}, {{"outcome", "imported"}});
    families.Counter("weir_quota_decisions_total", "").Add(uint64_t{7}, {{"call", "decide"}, {"class", "a\nb"}});
    families.Histogram("weir_waits_seconds", "").Add(LatencyMetric());
  };
  const std::string page = RelayStatePage({.why = "w"}, sources);
  EXPECT_TRUE(
      page.ends_with("\n  parts        weir_imports_running 2, weir_import_lines_total{imported} 1200"
                     "\n               weir_quota_decisions_total{decide,a\\x0ab} 7"))
      << page;
}

TEST(StatePage, StaysAPageWhateverThePartsHave) {
  MetricSources sources;
  sources.service.plugins = [](MetricFamilies& families) {
    families.Counter("weir_quota_decisions_total", "");
    for (int i = 0; i < 1000; ++i) families.Add(uint64_t{1}, {{"class", "class-" + std::to_string(i)}});
  };
  const std::string page = RelayStatePage({.why = "w"}, sources);
  EXPECT_EQ(Lines(page), 2 + StatePage::kMostOfPlugins);
  EXPECT_TRUE(page.ends_with(", and more: /metrics")) << page;
}

}  // namespace
}  // namespace weir
