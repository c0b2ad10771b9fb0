// Measures search without a network: what it costs to save notes with and without the index of words, its size, the
// time to build it for notes that are stored already, and the time of searches. In the place of the directory it takes
// the address of a PostgreSQL, whose database must be empty; then the processor time is only that of this program.
//
//   search_cost [notes = 100000] [directory or postgres://… = search_cost.data]
//
// A note has 5 to 35 words out of 50,000, whose frequencies follow Zipf's law as in natural text; the most frequent one
// is in nearly every note. The directory is made anew.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_cpu.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/postgres/postgres_store.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kVocabulary = 50'000;
constexpr size_t kBatch = 256;
constexpr Duration kPatience = std::chrono::seconds(60);
constexpr uint64_t kFirstTime = 1'700'000'000;

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

// Returns the word of this rank; the most frequent one has rank 0.
std::string WordOf(size_t rank) { return "w" + std::to_string(rank * 2'654'435'761 % 1'000'000'007); }

class Notes {
 public:
  // The notes with another `first` are others.
  explicit Notes(uint64_t first = 0) : made_(first) {
    double sum = 0;
    for (size_t rank = 0; rank < kVocabulary; ++rank) sums_.push_back(sum += 1.0 / static_cast<double>(rank + 1));
  }

  Event Next() {
    std::string content;
    for (uint64_t n = 5 + random_() % 31; n > 0; --n) content += WordOf(Rank()) + " ";
    return parser_.Parse(signer_.SignedEvent(kFirstTime + made_++, 1, "[]", content)).value();
  }
  size_t Rank() {
    const double at = std::uniform_real_distribution<double>(0, sums_.back())(random_);
    return static_cast<size_t>(std::lower_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::mt19937_64 random_{1};
  std::vector<double> sums_;
  EventParser parser_;
  Signer signer_{1};
  uint64_t made_;
};

template <typename Store>
std::unique_ptr<EventStore> Opened(Result<std::unique_ptr<Store>> store) {
  if (!store.ok()) Fail(store.status());
  return std::move(store).value();
}

bool IsPostgres(const std::string& place) { return place.starts_with("postgres"); }

std::unique_ptr<EventStore> Open(const std::string& path, bool searches) {
  const std::vector<uint16_t> kinds = searches ? std::vector<uint16_t>{1} : std::vector<uint16_t>{};
  if (IsPostgres(path)) {
    PostgresStoreOptions options{.conninfo = path, .settings = {.origin = "search_cost"}, .own_urls = {}};
    options.searched_kinds = kinds;
    return Opened(PostgresStore::Open(options));
  }
  StoreOptions options{.path = path, .settings = {.sync = SyncMode::kOff}, .own_urls = {}, .address = {}};
  options.searched_kinds = kinds;
  return Opened(RocksDbStore::Open(options));
}

void Report(const char* what, size_t notes, SteadyClock::time_point start, Duration cpu_before) {
  const double wall = std::chrono::duration<double>(SteadyClock::now() - start).count();
  const double cpu = ToSeconds(OwnProcessorTime() - cpu_before);
  std::printf("%-32s %8.2f µs of processor time a note, %7.1f s elapsed\n", what,
              cpu / static_cast<double>(notes) * 1e6, wall);
}

void SaveAll(EventStore& store, const char* what, size_t count, uint64_t first = 0) {
  Notes notes(first);
  std::vector<SaveResult> results(kBatch);
  Duration making{};
  const auto start = SteadyClock::now();
  const Duration before = OwnProcessorTime();
  for (size_t saved = 0; saved < count; saved += kBatch) {
    const Duration making_since = OwnProcessorTime();
    std::vector<Event> batch;
    for (size_t i = 0; i < std::min(kBatch, count - saved); ++i) batch.push_back(notes.Next());
    making += OwnProcessorTime() - making_since;
    const Status done = store.Save(batch, 0, std::span(results).first(batch.size()));
    if (!done.ok()) Fail(done);
  }
  if (const Status flushed = store.Flush(); !flushed.ok()) Fail(flushed);
  Report(what, count, start, before + making);
}

void Build(EventStore& store, size_t count) {
  const auto start = SteadyClock::now();
  const Duration before = OwnProcessorTime();
  while (true) {
    const Result<OwedPiece> piece = store.BuildSearch(2 * kTurnWork);
    if (!piece.ok()) Fail(piece.status());
    if (!piece.value().more) break;
  }
  if (const Status flushed = store.Flush(); !flushed.ok()) Fail(flushed);
  Report("building the index", count, start, before);
}

void Search(const EventStore& store, const char* what, const std::function<std::string()>& text) {
  constexpr size_t kSearches = 400;
  std::vector<double> millis;
  std::vector<double> busy_millis;
  uint64_t found = 0;
  uint64_t most_work = 0;
  for (size_t i = 0; i < kSearches; ++i) {
    Filter filter;
    filter.search = text();
    filter.limit = 20;
    const auto start = SteadyClock::now();
    const Duration before = OwnProcessorTime();
    const auto query = store.Find({filter}, {});
    for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
      const Result<Progress> next = query->Next({}, [&found](EventView) { ++found; });
      if (!next.ok()) Fail(next.status());
      progress = next.value();
    }
    millis.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count());
    busy_millis.push_back(ToSeconds(OwnProcessorTime() - before) * 1e3);
    most_work = std::max(most_work, query->work());
  }
  std::sort(millis.begin(), millis.end());
  std::sort(busy_millis.begin(), busy_millis.end());
  std::printf("%-32s p50 %7.2f ms, p99 %7.2f; processor p50 %6.2f, p99 %6.2f; %5.1f found, at most %5.1f ms of work\n",
              what, millis[kSearches / 2], millis[kSearches * 99 / 100], busy_millis[kSearches / 2],
              busy_millis[kSearches * 99 / 100], static_cast<double>(found) / kSearches,
              static_cast<double>(most_work) / 1e6);
}

void SearchAll(const EventStore& store) {
  Notes notes;
  std::mt19937_64 random(2);
  const auto of_ranks = [&random](size_t from, size_t to) { return WordOf(from + random() % (to - from)); };
  Search(store, "words as in the notes, two", [&] { return WordOf(notes.Rank()) + " " + WordOf(notes.Rank()); });
  Search(store, "words as in the notes, one", [&] { return WordOf(notes.Rank()); });
  Search(store, "a rare word", [&] { return of_ranks(10'000, kVocabulary); });
  Search(store, "a usual word", [&] { return of_ranks(100, 1'000); });
  Search(store, "two usual words", [&] { return of_ranks(100, 1'000) + " " + of_ranks(100, 1'000); });
  Search(store, "the most frequent word", [] { return WordOf(0); });
  Search(store, "the two most frequent words", [] { return WordOf(0) + " " + WordOf(1); });
}

int Main(size_t count, const std::string& directory) {
  const bool is_postgres = IsPostgres(directory);
  if (!is_postgres) std::filesystem::remove_all(directory);
  const std::string without = directory + (is_postgres ? "" : "/without");
  if (!is_postgres) {
    const auto store = Open(directory + "/with", true);
    SaveAll(*store, "saving, with the index", count);
  }
  const auto store = [&] {
    SaveAll(*Open(without, false), "saving, without the index", count);
    return Open(without, true);
  }();
  Build(*store, count);
  if (is_postgres) {
    SaveAll(*store, "saving, with the index", count, count);
    PostgresSession session(directory);
    if (const Status connected = session.Connect(kPatience); !connected.ok()) Fail(connected);
    if (const Status read = static_cast<PostgresStore&>(*store).ReadSizes(session, kPatience); !read.ok()) Fail(read);
  }
  const StoreSizes sizes = store->Sizes();
  std::printf("%" PRIu64 " notes: %.1f MB on disk, %.1f of it the index of words\n", sizes.events,
              static_cast<double>(sizes.disk_bytes) / 1e6, static_cast<double>(sizes.search_bytes) / 1e6);
  SearchAll(*store);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv,
                                  "search_cost [notes = 100000 [directory or postgres://… = search_cost.data]]", 2);
  return weir::Main(arguments.Count(0, 100000), arguments.Text(1, "search_cost.data"));
}
