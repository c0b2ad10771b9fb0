// Measures the store without a network: CPU of saves, time of queries, bytes on disk and bytes written.
//
//   store_cost [events = 100000] [batch = 256] [directory = store_cost.data]
//
// The events are those of the relay's load generator. The directory is made anew.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_cpu.h"
#include "bench/relay/event_maker.h"
#include "bench/relay/server_usage.h"
#include "bench/store/settle.h"
#include "relay/nostr/event_parser.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

using SteadyClock = std::chrono::steady_clock;

uint64_t BytesWritten() { return ReadWritten(getpid()).value().to_disk; }

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

std::vector<Event> Make(const std::string& purpose, size_t count) {
  std::vector<Event> events;
  EventParser parser;
  MakeEvents({.purpose = purpose, .count = count, .day = 20000}, [&](const std::string& json) {
    Result<Event> event = parser.Parse(json);
    if (!event.ok()) Fail(event.status());
    events.push_back(std::move(event).value());
  });
  return events;
}

std::unique_ptr<RocksDbStore> OpenStore(const std::string& path, SyncMode sync) {
  Result<std::unique_ptr<RocksDbStore>> store =
      RocksDbStore::Open({.path = path, .settings = {.sync = sync}, .own_urls = {"wss://bench.example"}});
  if (!store.ok()) Fail(store.status());
  return std::move(store).value();
}

void SaveAll(RocksDbStore& store, const std::vector<Event>& events, size_t batch) {
  std::vector<SaveResult> results(batch);
  for (size_t i = 0; i < events.size(); i += batch) {
    const size_t count = std::min(batch, events.size() - i);
    const Status saved = store.Save(std::span(events).subspan(i, count), 0, std::span(results).first(count));
    if (!saved.ok()) Fail(saved);
  }
}

void Measure(const char* what, size_t count, const std::function<void()>& work) {
  const double thread_before = ToSeconds(ThreadProcessorTime());
  const Duration process_before = OwnProcessorTime();
  const auto start = SteadyClock::now();
  work();
  const double wall = std::chrono::duration<double>(SteadyClock::now() - start).count();
  const double n = static_cast<double>(count) / 1e6;
  std::printf("%-34s %7.2f µs CPU of the caller, %7.2f of all, %7.2f elapsed\n", what,
              (ToSeconds(ThreadProcessorTime()) - thread_before) / n,
              ToSeconds(OwnProcessorTime() - process_before) / n, wall / n);
}

void PrintSizes(RocksDbStore& store) {
  const StoreSizes sizes = store.Sizes();
  std::printf("%llu events stored, %.1f MB on disk", static_cast<unsigned long long>(sizes.events),
              static_cast<double>(sizes.disk_bytes) / 1e6);
  for (rocksdb::ColumnFamilyHandle* family : store.families()) {
    uint64_t bytes = 0;
    store.db()->GetIntProperty(family, "rocksdb.live-sst-files-size", &bytes);
    std::printf(", %s %.1f", family->GetName().c_str(), static_cast<double>(bytes) / 1e6);
  }
  std::printf("\n");
}

void Ask(const char* what, const RocksDbStore& store, const std::function<Filter(size_t)>& filter) {
  constexpr size_t kQuestions = 2000;
  std::vector<double> micros;
  uint64_t matches = 0;
  uint64_t visits = 0;
  for (size_t i = 0; i < kQuestions; ++i) {
    std::vector<Filter> filters = {filter(i)};
    const auto start = SteadyClock::now();
    const auto query = store.Find(std::move(filters), {});
    for (Progress progress = Progress::kMore; progress == Progress::kMore;)
      progress = query->Next({}, [&](EventView event) { matches += event.json().empty() ? 0 : 1; }).value();
    micros.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count());
    visits += query->visits();
  }
  std::sort(micros.begin(), micros.end());
  std::printf("%-34s p50 %8.1f µs, p99 %8.1f, %6.1f matches, %7.1f visits\n", what, micros[kQuestions / 2],
              micros[kQuestions * 99 / 100], static_cast<double>(matches) / kQuestions,
              static_cast<double>(visits) / kQuestions);
}

void AskAll(const RocksDbStore& store, const std::vector<Event>& events) {
  std::mt19937_64 random(1);
  const auto any = [&] { return events[random() % events.size()].view(); };
  const auto some = [&](int count) {
    std::set<PublicKey> authors;
    for (int i = 0; i < count; ++i) authors.insert(any().pubkey());
    return std::vector<PublicKey>(authors.begin(), authors.end());
  };
  Ask("one id", store, [&](size_t) { return Filter{.ids = {{any().id()}}}; });
  Ask("author + kind 1, limit 20", store,
      [&](size_t) { return Filter{.authors = {{any().pubkey()}}, .kinds = {{1}}, .limit = 20}; });
  Ask("author + kind 0", store, [&](size_t) { return Filter{.authors = {{any().pubkey()}}, .kinds = {{0}}}; });
  Ask("author, limit 20", store, [&](size_t) { return Filter{.authors = {{any().pubkey()}}, .limit = 20}; });
  Ask("#e", store, [&](size_t) {
    for (;;)
      if (const std::string_view e = any().FirstTag('e'); !e.empty()) return Filter{.tags = {{'e', {std::string(e)}}}};
  });
  Ask("kind 1 + since, limit 500", store, [&](size_t) {
    return Filter{.kinds = {{1}}, .since = events[random() % (events.size() / 2)].view().created_at(), .limit = 500};
  });
  Ask("50 authors, limit 500", store, [&](size_t) { return Filter{.authors = some(50), .limit = 500}; });
  Ask("500 authors, kinds 1 6, limit 100", store, [&](size_t) {
    return Filter{.authors = some(500), .kinds = {{1, 6}}, .limit = 100};
  });
  Ask("#p of an author, kind 7, limit 50", store, [&](size_t) {
    return Filter{.kinds = {{7}}, .tags = {{'p', {ToHex(any().pubkey())}}}, .limit = 50};
  });
  Ask("nothing there", store, [&](size_t) { return Filter{.authors = {{any().id()}}, .kinds = {{1}}}; });
}

void SingleCommits(const std::string& path) {
  const std::vector<Event> events = Make("single", 4000);
  const auto store = OpenStore(path, SyncMode::kBatch);
  const uint64_t before = BytesWritten();
  Measure("save one by one, synced", events.size(), [&] { SaveAll(*store, events, 1); });
  if (const Status settled = Settle(*store); !settled.ok()) Fail(settled);
  std::printf("%-34s %7.2f KB an event\n", "written, all included",
              static_cast<double>(BytesWritten() - before) / 1000 / static_cast<double>(events.size()));
}

void Run(size_t count, size_t batch, const std::string& path) {
  const std::vector<Event> events = Make("store", count);
  uint64_t json = 0;
  uint64_t records = 0;
  for (const Event& event : events) {
    json += event.view().json().size();
    records += event.record()->size();
  }
  std::printf("%zu events, mean %zu bytes of JSON, %zu of record\n", count, json / count, records / count);
  std::filesystem::remove_all(path);
  {
    const auto store = OpenStore(path, SyncMode::kOff);
    const uint64_t before = BytesWritten();
    Measure("save, not synced", count, [&] { SaveAll(*store, events, batch); });
    if (const Status settled = Settle(*store); !settled.ok()) Fail(settled);
    std::printf("%-34s %7.2f KB an event\n", "written, all included",
                static_cast<double>(BytesWritten() - before) / 1000 / static_cast<double>(count));
    PrintSizes(*store);
    Measure("save again: duplicates", count, [&] { SaveAll(*store, events, batch); });
    Measure("Has, stored", count, [&] {
      for (const Event& event : events) (void)store->Has(event.view().id());
    });
    Measure("Has, not stored", count, [&] {
      for (const Event& event : events) (void)store->Has(event.view().pubkey());
    });
    AskAll(*store, events);
  }
  SingleCommits(path);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv,
                                  "store_cost [events = 100000 [batch = 256 [directory = store_cost.data]]]", 3);
  weir::Run(std::max<size_t>(arguments.Count(0, 100000), 10), arguments.Count(1, 256),
            arguments.Text(2, "store_cost.data"));
}
