// Shows where the time of a query goes when the store was just opened: opens it for each shape of REQ, asks every
// question once (cold) and once more (warm), and counts what RocksDB did for them while it was cold.
//
//   first_touch [events = 100000 [questions = 100 [directory = first_touch.data [shape]]]]
//
// If the directory is not there, it is made: with so many events, and as many again that came late, replaced or deleted
// others. The files stay in the kernel's page cache.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_cpu.h"
#include "bench/relay/event_set.h"
#include "bench/relay/shapes.h"
#include "bench/store/settle.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/store/rocksdb_store.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
void Need(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

template <typename T>
T Needed(Result<T> result) {
  Need(result.status());
  return std::move(result).value();
}

std::unique_ptr<RocksDbStore> OpenStore(const fs::path& path) {
  return Needed(RocksDbStore::Open({.path = path, .settings = {.sync = SyncMode::kOff}}));
}

// The events are kept beside the database, because signing them takes longer than the measurement.
EventSet EventsOf(const fs::path& path, const char* purpose, size_t count, bool lived_in) {
  const EventRecipe recipe{.purpose = purpose, .count = count, .day = 20000, .lived_in = lived_in};
  return Needed(EventSet::Get(recipe, path.string() + ".events"));
}

void SaveAll(RocksDbStore& store, const EventSet& set) {
  constexpr size_t kBatch = 256;
  EventParser parser;
  std::vector<Event> events;
  for (size_t i = 0; i < set.size(); ++i) {
    events.push_back(Needed(parser.Parse(set.json(i))));
    if (events.size() < kBatch && i + 1 < set.size()) continue;
    std::vector<SaveResult> results(events.size());
    Need(store.Save(events, 0, results));
    events.clear();
  }
}

// Returns the mean CPU time of a question in microseconds.
double AskAll(const RocksDbStore& store, const std::vector<std::string>& questions) {
  Duration used{};
  for (const std::string& question : questions) {
    std::vector<Filter> filters = {Needed(ParseFilter(question))};
    const Duration start = ThreadProcessorTime();
    const auto query = store.Find(std::move(filters), {});
    while (Needed(query->Next({}, [](EventView) {})) == Progress::kMore) continue;
    used += ThreadProcessorTime() - start;
  }
  return 1e6 * ToSeconds(used) / static_cast<double>(questions.size());
}

void Show(const fs::path& path, const ReqShape& shape) {
  double cold_us = 0, warm_us = 0;
  {
    const auto store = OpenStore(path);
    cold_us = AskAll(*store, shape.filters);
    warm_us = AskAll(*store, shape.filters);
  }
  const auto store = OpenStore(path);  // once more, because reading the clock costs time
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTimeExceptForMutex);
  rocksdb::PerfContext& did = *rocksdb::get_perf_context();
  did.Reset();
  AskAll(*store, shape.filters);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  const auto each = [&](uint64_t all) { return static_cast<double>(all) / static_cast<double>(shape.filters.size()); };
  const double index = each(did.index_block_read_count), filter = each(did.filter_block_read_count);
  std::printf("| %s | %zu | %.0f | %.0f | %.2f | %.2f | %.1f | %.1f | %.0f | %.1f | %.1f | %.1f | %.0f | %.0f |\n",
              shape.name.c_str(), shape.filters.size(), cold_us, warm_us, index, filter,
              each(did.block_read_count) - index - filter, each(did.block_cache_hit_count),
              each(did.block_read_byte) / 1e3, each(did.block_read_time) / 1e3, each(did.block_checksum_time) / 1e3,
              each(did.block_decompress_time) / 1e3, each(did.user_key_comparison_count),
              each(did.seek_internal_seek_time + did.get_from_output_files_time) / 1e3);
}

void Run(size_t events, size_t questions, const fs::path& path, const std::string& only) {
  const EventSet stored = EventsOf(path, "first-touch", events, false);
  if (!fs::exists(path)) {
    const fs::path unfinished = path.string() + ".unfinished";
    fs::remove_all(unfinished);
    {
      const auto store = OpenStore(unfinished);
      SaveAll(*store, stored);
      SaveAll(*store, EventsOf(path, "first-touch-later", events, true));
      Need(Settle(*store));  // a compaction beside the questions would take their caches
    }
    fs::rename(unfinished, path);
  }
  if (OpenStore(path)->Sizes().events < events)
    Need(Status::Error(path.string() + " was made with fewer events; remove it, or name another directory"));
  std::printf(
      "| means of a question | questions | cold, µs of CPU | warm | index blocks | filter blocks | data blocks | cache "
      "hits "
      "| KB | read, µs | checksum, µs | unpack, µs | comparisons | seeks and gets, µs |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const ReqShape& shape : ReqShapes(stored, questions, 1))
    if (only.empty() || shape.name == only) Show(path, EachOnce(shape, questions));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(
      argc, argv, "first_touch [events = 100000 [questions = 100 [directory = first_touch.data [shape]]]]", 4);
  weir::Run(std::max<size_t>(arguments.Count(0, 100'000), 10), arguments.Count(1, 100),
            arguments.Text(2, "first_touch.data"), arguments.Text(3, ""));
}
