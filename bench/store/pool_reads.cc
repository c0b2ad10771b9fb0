// Measures reads from a PostgreSQL of this machine through pools of 2, 8 and 32 connections, and through one that uses
// as many of 32 as help (relay/store/postgres/pool_size.h): directly, and behind a network whose round trip takes
// longer.
//
//   pool_reads PORT [seconds = 5 [repetitions = 5 [delay_ms = 2 [threads = 34]]]]
//
// PGUSER and PGDATABASE name the user and the database, which gets 20,000 invented notes if it has no events. Each
// thread asks again and again for the 20 newest notes of a random author. Each pool is used for eight seconds before it
// is measured. Prints medians and the range of the repetitions, in which the pools take turns. The processor time of
// PostgreSQL is that of all processes of this server; that of the reader includes the longer network.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/latency_histogram.h"
#include "bench/measure/own_cpu.h"
#include "bench/measure/results.h"
#include "bench/store/delaying_forwarder.h"
#include "config/wire/postgres/postgres_session.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/postgres/postgres_store.h"

namespace weir {
namespace {

constexpr size_t kAuthors = 1000;
constexpr size_t kNotes = 20'000;
constexpr Duration kWarmUp = std::chrono::seconds(8);

struct Pool {
  const char* name;
  PoolBounds bounds;
};
constexpr std::array<Pool, 4> kPools{
    {{"2", {2, 2}}, {"8", {8, 8}}, {"32", {32, 32}}, {"2 to 32, as many as help", {2, 32}}}};

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

PublicKey AuthorNumber(size_t number) { return Sha256("author" + std::to_string(number)); }

Event Note(EventParser& parser, size_t number) {
  const std::string author = "\"" + ToHex(AuthorNumber(number % kAuthors)) + "\"";
  const std::string time = std::to_string(1'700'000'000 + number);
  const std::string content = "\"" + std::to_string(number) + std::string(100 + number % 300, 'x') + "\"";
  const std::string id = ToHex(Sha256("[0," + author + "," + time + ",1,[]," + content + "]"));
  Result<Event> event = parser.Parse(R"({"id":")" + id + R"(","pubkey":)" + author + R"(,"created_at":)" + time +
                                     R"(,"kind":1,"tags":[],"content":)" + content + R"(,"sig":")" + id + id + "\"}");
  if (!event.ok()) Fail(event.status());
  return std::move(event).value();
}

std::unique_ptr<PostgresStore> Open(uint16_t port, PoolBounds bounds, bool read_only) {
  PostgresStoreOptions options;
  options.conninfo = "host=127.0.0.1 port=" + std::to_string(port);
  options.settings.origin = "pool_reads";
  options.settings.connections = bounds.most;
  options.settings.least_connections = bounds.least;
  options.read_only = read_only;
  Result<std::unique_ptr<PostgresStore>> store = PostgresStore::Open(options);
  if (!store.ok()) Fail(store.status());
  return std::move(store).value();
}

void Fill(uint16_t port) {
  const std::unique_ptr<PostgresStore> store = Open(port, {1, 1}, false);
  if (store->Sizes().events > 0) return;
  EventParser parser;
  std::vector<Event> batch;
  for (size_t n = 0; n < kNotes; ++n) {
    batch.push_back(Note(parser, n));
    if (batch.size() < 500 && n + 1 < kNotes) continue;
    std::vector<SaveResult> results(batch.size());
    if (const Status saved = store->Save(batch, 0, results); !saved.ok()) Fail(saved);
    batch.clear();
  }
  if (const Status analyzed = store->Analyze(); !analyzed.ok()) Fail(analyzed);
}

// Returns the fields of /proc/PID/stat from the third on; none if the process has ended.
std::vector<std::string> FieldsOf(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::vector<std::string> fields;
  if (!std::getline(file, text)) return fields;
  std::istringstream words(text.substr(text.rfind(')') + 1));
  for (std::string word; words >> word;) fields.push_back(word);
  return fields;
}

std::string ParentOf(const std::vector<std::string>& fields) { return fields.size() > 1 ? fields[1] : ""; }

// Returns the process that has started all others of the server.
std::string PostmasterOf(uint16_t port) {
  PostgresSession session("host=127.0.0.1 port=" + std::to_string(port));
  if (const Status connected = session.Connect(std::chrono::seconds(10)); !connected.ok()) Fail(connected);
  const Result<PostgresSession::Row> row = session.Ask("SELECT pg_backend_pid()", std::chrono::seconds(10));
  if (!row.ok()) Fail(row.status());
  return ParentOf(FieldsOf(*row.value()[0]));
}

// Returns the time of the server's processes, with those that have ended.
Duration PostgresProcessorTime(const std::string& postmaster) {
  int64_t ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    const std::vector<std::string> fields = FieldsOf(pid);
    if (fields.size() < 15 || (pid != postmaster && ParentOf(fields) != postmaster)) continue;
    for (size_t i = 11; i < 15; ++i) ticks += std::atoll(fields[i].c_str());
  }
  return std::chrono::nanoseconds(1'000'000'000 / sysconf(_SC_CLK_TCK)) * ticks;
}

// Reads on many threads until it is destroyed.
class Readers {
 public:
  Readers(const PostgresStore& store, size_t threads) : store_(store) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { Read(i); });
  }
  ~Readers() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;
  LatencyHistogram& latencies() { return latencies_; }

 private:
  void Read(size_t seed) {
    std::mt19937_64 random(seed);
    while (!stops_) {
      const TimePoint begin = Clock::System().Now();
      Filter filter;
      filter.authors = {AuthorNumber(random() % kAuthors)};
      filter.kinds = {1};
      filter.limit = 20;
      const std::unique_ptr<Query> query = store_.Find({filter}, {});
      size_t found = 0;
      for (Progress progress = Progress::kMore; progress != Progress::kDone;) {
        const Result<Progress> next = query->Next({}, [&](EventView) { ++found; });
        if (!next.ok()) Fail(next.status());
        progress = next.value();
      }
      if (found == 0) Fail(Status::Error("the database has other events; name an empty one"));
      latencies_.Record(Clock::System().Now() - begin);
    }
  }

  const PostgresStore& store_;
  std::atomic<bool> stops_ = false;
  LatencyHistogram latencies_;
  std::vector<std::thread> threads_;
};

using Figures = std::map<std::string, std::vector<double>>;

void Measure(uint16_t port, const std::string& postmaster, PoolBounds bounds, size_t threads, Duration duration,
             Figures* figures) {
  const std::unique_ptr<PostgresStore> store = Open(port, bounds, true);
  Readers readers(*store, threads);
  std::this_thread::sleep_for(kWarmUp);
  const Duration own = OwnProcessorTime();
  const Duration of_postgres = PostgresProcessorTime(postmaster);
  const PoolStats before = store->ReaderStats();
  const TimePoint begin = Clock::System().Now();
  readers.latencies().Clear();
  double allowed = 0;
  int looks = 0;
  for (; Clock::System().Now() - begin < duration; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    allowed += static_cast<double>(store->ReaderStats().allowed);
  }
  const double seconds = ToSeconds(Clock::System().Now() - begin);
  const PoolStats after = store->ReaderStats();
  const auto reads = static_cast<double>(readers.latencies().count());
  (*figures)["1 reads/s"].push_back(reads / seconds);
  (*figures)["2 p50 ms"].push_back(Milliseconds(readers.latencies().Quantile(0.50)));
  (*figures)["3 p99 ms"].push_back(Milliseconds(readers.latencies().Quantile(0.99)));
  (*figures)["4 in the database, ms"].push_back(1e3 * ToSeconds(after.taken - before.taken) /
                                                static_cast<double>(after.reads - before.reads));
  (*figures)["5 reader CPU µs"].push_back(1e6 * ToSeconds(OwnProcessorTime() - own) / reads);
  (*figures)["6 PostgreSQL CPU µs"].push_back(1e6 * ToSeconds(PostgresProcessorTime(postmaster) - of_postgres) / reads);
  (*figures)["7 connections used"].push_back(allowed / looks);
}

void Print(const std::string& place, const std::array<Figures, kPools.size()>& figures) {
  std::vector<std::string> columns;
  for (const auto& [name, values] : figures[0]) columns.push_back(name.substr(2));
  std::printf("\n%s", TableHead(place, columns).c_str());
  for (size_t i = 0; i < kPools.size(); ++i) {
    std::printf("| %s |", kPools[i].name);
    for (const auto& [name, values] : figures[i]) std::printf(" %s |", SpreadText(SpreadOf(values), "").c_str());
    std::printf("\n");
  }
}

void Run(const Arguments& arguments) {
  const auto port = static_cast<uint16_t>(arguments.Count(0, 5432));
  const Duration duration = FromSeconds(arguments.Number(1, 5));
  const size_t repetitions = arguments.Count(2, 5);
  const double delay_ms = arguments.Number(3, 2);
  const size_t threads = arguments.Count(4, 34);
  Fill(port);
  const std::string postmaster = PostmasterOf(port);
  const DelayingForwarder network(port, FromSeconds(delay_ms / 2e3));
  const std::array<std::pair<std::string, uint16_t>, 2> places{
      {{"on loopback", port}, {"round trip " + FigureText(delay_ms, "ms") + " ms longer", network.port()}}};
  std::array<std::array<Figures, kPools.size()>, 2> figures;
  for (size_t repetition = 0; repetition < repetitions; ++repetition)
    for (size_t place = 0; place < places.size(); ++place)
      for (size_t i = 0; i < kPools.size(); ++i) {
        const size_t pool = (repetition + i) % kPools.size();
        Measure(places[place].second, postmaster, kPools[pool].bounds, threads, duration, &figures[place][pool]);
      }
  for (size_t place = 0; place < places.size(); ++place) Print(places[place].first, figures[place]);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::Run(
      weir::Arguments(argc, argv, "pool_reads PORT [seconds = 5 [repetitions = 5 [delay_ms = 2 [threads = 34]]]]", 5));
}
