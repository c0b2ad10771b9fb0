// GET /api/export of a real relay, over real sockets.
#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/text/percent.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/process/http_error_words.h"
#include "relay/store/rocksdb_store.h"
#include "relay/store/store_compare.h"
#include "tests/fixtures/eventually.h"
#include "tests/import/serve/service_fixture.h"

namespace weir {
namespace {

class ExportServiceTest : public ServiceTest {
 protected:
  // Imports notes and reactions of some days, not in the order of time.
  std::vector<std::string> Fill(size_t count, size_t content_bytes = 10) {
    const Signer signer(5);
    std::vector<std::string> events;
    std::string body;
    for (size_t i = 0; i < count; ++i) {
      const uint16_t kind = i % 3 == 0 ? 7 : 1;
      const std::string tags = i % 4 == 0 ? R"([["t","every & fourth+"]])" : "[]";
      const std::string content = std::to_string(i) + std::string(content_bytes, 'c');
      events.push_back(signer.SignedEvent(kLineTime + (i * 7919) % 1000, kind, tags, content));
      body += events.back() + "\n";
    }
    const ImportAnswer answer = PostImport(port(), body, {}, "?verify=false");
    EXPECT_EQ(answer.last.tally[LineOutcome::kImported], count);
    return events;
  }
};

struct ExportCase {
  std::vector<std::string> filters;
  std::string query;
  uint64_t since = 0;
  uint64_t until = UINT64_MAX;
  std::string order = "arrival";
};

// Returns those of the events that the case asks for, in its order.
std::vector<std::string> Wanted(const std::vector<std::string>& events, const ExportCase& c) {
  EventParser parser;
  std::vector<Filter> filters;
  for (const std::string& filter : c.filters) filters.push_back(ParseFilter(filter).value());
  std::vector<std::pair<Event, std::string>> wanted;
  for (const std::string& json : events) {
    Event event = parser.Parse(json).value();
    const EventView view = event.view();
    const bool matches =
        filters.empty() || std::ranges::any_of(filters, [&](const Filter& f) { return f.Matches(view); });
    if (matches && view.created_at() >= c.since && view.created_at() <= c.until)
      wanted.emplace_back(std::move(event), json);
  }
  if (c.order != "arrival") {
    std::ranges::sort(wanted, [](const auto& a, const auto& b) {
      const EventView first = a.first.view();
      const EventView second = b.first.view();
      return first.created_at() != second.created_at() ? first.created_at() > second.created_at()
                                                       : first.id() < second.id();
    });
  }
  if (c.order == "oldest") std::ranges::reverse(wanted);
  std::vector<std::string> lines;
  for (const auto& [event, json] : wanted) lines.push_back(json);
  return lines;
}

TEST_F(ExportServiceTest, GivesWhatMatchesInTheOrderThatWasAskedFor) {
  Open();
  const std::vector<std::string> events = Fill(500);
  const ExportCase cases[] = {
      {{}, ""},
      {{}, "?order=arrival"},
      {{}, "?order=newest", 0, UINT64_MAX, "newest"},
      {{}, "?order=oldest&since=1700000100&until=1700000800", kLineTime + 100, kLineTime + 800, "oldest"},
      {{R"({"kinds":[7]})"}, ""},
      {{R"({"kinds":[7],"since":1700000500})", R"({"#t":["every & fourth+"]})"},
       "?order=newest",
       0,
       UINT64_MAX,
       "newest"},
      {{R"({"kinds":[30000]})"}, ""},
  };
  for (const ExportCase& c : cases) {
    std::string target = "/api/export" + c.query;
    for (const std::string& filter : c.filters)
      target += (target.find('?') == std::string::npos ? "?filter=" : "&filter=") + EncodePercent(filter);
    SCOPED_TRACE(target);
    const std::vector<std::string> wanted = Wanted(events, c);
    SlowCall call(port(), "GET", target, {});
    EXPECT_EQ(call.Status(), 200);
    EXPECT_EQ(call.Header("Content-Type"), "application/x-ndjson");
    EXPECT_EQ(call.Rest(), Lines(wanted));
    EXPECT_TRUE(call.whole());
    EXPECT_EQ(call.Header("Trailer"), "Weir-Exported-Events, Weir-Exported-Serial");
    EXPECT_EQ(call.Header("Weir-Exported-Events"), std::to_string(wanted.size()));
  }
}

TEST_F(ExportServiceTest, GoesOnFromAnEarlierExport) {
  Open();
  const std::vector<std::string> events = Fill(20);
  SlowCall first(port(), "GET", "/api/export", {});
  EXPECT_EQ(first.Rest(), Lines(events));
  const std::string serial = first.Header("Weir-Exported-Serial");
  EXPECT_EQ(serial, "20");
  const std::string more = Signer(6).SignedEvent(kLineTime, 1, "[]", "more");
  PostImport(port(), more + "\n", {}, "?verify=false");
  SlowCall second(port(), "GET", "/api/export?since_serial=" + serial, {});
  EXPECT_EQ(second.Rest(), more + "\n");
  EXPECT_EQ(second.Header("Weir-Exported-Serial"), "21");
  SlowCall newest(port(), "GET", "/api/export?order=newest", {});
  EXPECT_EQ(newest.Rest().size(), Lines(events).size() + more.size() + 1);
  EXPECT_EQ(newest.Header("Weir-Exported-Serial"), "");
}

// With one bulk scan at a time, each export waits after each slice in which another one waits.
TEST_F(ExportServiceTest, ExportsThatTakeTurnsAllEnd) {
  configuration_.storage.limiter.bulk_scans = 1;
  Open();
  const std::vector<std::string> events = Fill(2000, 300);
  const std::string wanted = Lines(Wanted(events, {.order = "oldest"}));
  std::vector<std::jthread> clients;
  for (int n = 0; n < 3; ++n) {
    clients.emplace_back([&] {
      SlowCall call(port(), "GET", "/api/export?order=oldest", {});
      EXPECT_EQ(call.Status(), 200);
      EXPECT_TRUE(call.Rest() == wanted);
      EXPECT_TRUE(call.whole());
    });
  }
}

TEST_F(ExportServiceTest, SaysWhatIsWrongWithARequest) {
  Open();
  const std::pair<std::string, std::string> cases[] = {
      {"filter=" + EncodePercent("{\"kind\":[1]}"), "filter="},
      {"filter=%7", "the query is not well-formed"},
      {"since=yesterday", "since=yesterday: "},
      {"until=-1", "until=-1: "},
      {"since=1&since=2", "since=2: given twice"},
      {"order=random", "order=random: "},
      {"limit=5", "unknown parameter limit; this takes filter, since, until, since_serial and order"},
      {"since_serial=x", "since_serial=x: "},
      {"since_serial=1", "since_serial=1 is beyond the last event of this store, 0"},
      {"since_serial=1&order=newest", "arrival"},
      {"filter=" + EncodePercent("{\"limit\":5}"), "limit"},
      {"since=9&until=3", ""},
  };
  for (const auto& [query, words] : cases) {
    SlowCall call(port(), "GET", "/api/export?" + query, {});
    EXPECT_EQ(call.Status(), 400) << query;
    const std::string text = call.Rest();
    EXPECT_NE(text.find(words), std::string::npos) << query << ": " << text;
  }
}

TEST_F(ExportServiceTest, RefusesAnExportInAnEmergency) {
  const std::string more_than_the_target(64 << 20, 'x');
  configuration_.storage.memory.target_memory_mb = 32;
  Open();
  EXPECT_TRUE(Eventually([this] { return ErrorWordsIn(Get("/readyz")).starts_with("emergency: "); }));
  SlowCall call(port(), "GET", "/api/export", {});
  EXPECT_EQ(call.Status(), 503);
  EXPECT_EQ(call.Header("Retry-After"), "5");
  EXPECT_TRUE(ErrorWordsIn(call.Rest()).starts_with("memory is short on this relay: "));
  EXPECT_EQ(Metric("weir_exports_running"), 0U);
}

TEST_F(ExportServiceTest, ImportedElsewhereItIsTheSameDatabase) {
  Open();
  Fill(700, 300);
  const std::string all = Stored();
  Close();
  const std::string first = configuration_.data_dir;
  configuration_.data_dir = directory_ / "second";
  Open();
  EXPECT_TRUE(PostImport(port(), all).done);
  Close();
  const auto open = [](const std::string& data_dir) {
    StoreOptions options;
    options.path = data_dir + "/events";
    options.read_only = true;
    return RocksDbStore::Open(options);
  };
  const auto one = open(first);
  const auto two = open(configuration_.data_dir);
  ASSERT_TRUE(one.ok() && two.ok());
  const auto report = CompareStores(*one.value(), *two.value());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report.value().clean());
  EXPECT_EQ(report.value().events, 700);
}

TEST_F(ExportServiceTest, WaitsForAReaderThatIsSlow) {
  configuration_.server.max_pending_bytes = 64 << 10;  // more than this at a time is written
  Open();
  const std::vector<std::string> events = Fill(250, 60'000);
  SlowCall slow(port(), "GET", "/api/export", {});
  EXPECT_EQ(slow.Status(), 200);
  const uint64_t read = WaitUntilStill(*service_, "weir_export_events_total");
  EXPECT_LT(read, events.size()) << "all were read ahead, 15 MB";
  EXPECT_EQ(Metric("weir_exports_running"), 1);
  EXPECT_TRUE(slow.Rest() == Lines(events));
  EXPECT_TRUE(slow.whole());
  WaitForMetric("weir_exports_running", [](uint64_t running) { return running == 0; });
}

TEST_F(ExportServiceTest, AnswersAHeadRequestAtOnce) {
  Open();
  Fill(5);
  for (int i = 0; i < 10; ++i) {
    SlowCall call(port(), "HEAD", "/api/export", {});
    EXPECT_EQ(call.Status(), 200);
    EXPECT_EQ(call.Header("Content-Type"), "application/x-ndjson");
  }
  EXPECT_EQ(SlowCall(port(), "HEAD", "/api/export?order=random", {}).Status(), 400);
  EXPECT_EQ(Metric("weir_export_events_total"), 0);
  EXPECT_EQ(Metric("weir_exports_running"), 0);
}

TEST_F(ExportServiceTest, EndsWhenTheReaderHangsUp) {
  Open();
  Fill(250, 60'000);
  {
    SlowCall call(port(), "GET", "/api/export", {});
    EXPECT_EQ(call.Status(), 200);
  }
  WaitForMetric("weir_exports_running", [](uint64_t running) { return running == 0; });
}

TEST_F(ExportServiceTest, IsNotWholeWhenTheRelayGoesDown) {
  Open();
  const std::vector<std::string> events = Fill(250, 60'000);
  SlowCall call(port(), "GET", "/api/export", {});
  EXPECT_EQ(call.Status(), 200);
  std::thread stopper([this] { relay_->Shutdown(std::chrono::seconds(10)); });
  WaitForMetric("weir_exports_running", [](uint64_t running) { return running == 0; });
  const std::string text = call.Rest();
  EXPECT_FALSE(call.whole());
  EXPECT_TRUE(Lines(events).starts_with(text));
  call.HangUp();
  stopper.join();
}

}  // namespace
}  // namespace weir
