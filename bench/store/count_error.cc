// Measures how far the estimates of large COUNTs are from the truth, and what they cost (relay/protocol/counting.h).
//
//   count_error [events = 1000000 [place = count_error.data [seed = 1]]]
//
// The events are invented, with the shapes that make a sample bad: kinds that came into use late, floods of one author
// that arrived together, an import of old events, lists that were replaced (their serials have no event any more),
// authors and hashtags of very different popularity, events that a client may not see. Each shape is counted in full.
// Then the code that the relay uses counts a tenth of it and estimates the rest, with a hundredth, a 25th and a fifth
// of the work that the relay may spend on a sample.
//
// The place is a directory, which is made anew, or the address of an empty PostgreSQL database (postgres://…).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/protocol/counting.h"
#include "relay/store/postgres/postgres_store.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

constexpr uint64_t kEnd = 1'760'000'000;
constexpr double kYear = 365 * 86'400.0;
constexpr double kYears = 4;
constexpr uint16_t kHidden = 1000;  // a kind that only some clients see

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }
std::string Hash(const std::string& what, uint64_t n) { return ToHex(Sha256(what + std::to_string(n))); }

class Population {
 public:
  Population(uint64_t seed, size_t events) : random_(seed), events_(events) {
    for (uint64_t n = 0; n < 1000; ++n) authors_.push_back(Hash("author", n));
  }

  // Makes the next events in the order in which they arrive, at most 500.
  std::vector<Event> Next() {
    std::vector<Event> events;
    while (events.size() < 500 && made_ < events_) events.push_back(Make());
    return events;
  }
  const std::string& Author(size_t rank) const { return authors_[rank]; }

 private:
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  // Returns small numbers much more often than large ones.
  size_t Rank(size_t below) { return static_cast<size_t>(std::pow(static_cast<double>(below), Uniform())) - 1; }

  // The number of events doubles each year and a half, and falls at night.
  uint64_t TimeOf(double progress) {
    const double growth = std::exp2(kYears / 1.5);
    const double years = 1.5 * std::log2(1 + progress * (growth - 1));
    const double second = static_cast<double>(kEnd) - (kYears - years) * kYear;
    const double night = 20'000 * std::sin(second / 86'400 * 2 * 3.14159265);
    return static_cast<uint64_t>(second + night + 3'600 * Uniform());
  }

  Event Make() {
    const double progress = static_cast<double>(made_) / static_cast<double>(events_);
    const uint64_t flood = made_ * 250 / events_;  // a fifth of 250 stretches are floods of one author
    ++made_;
    if (flood % 5 == 4) return Of(authors_[flood % 1000], TimeOf(progress), 1, R"([["t","flood"]])");
    const bool imported = progress > 0.6 && progress < 0.7;
    const uint64_t at = TimeOf(imported ? Uniform() * 0.6 : progress);
    const std::string& author = authors_[Rank(1000)];
    const double kind = Uniform();
    const std::string liked = R"([["p",")" + authors_[Rank(1000)] + "\"]]";
    if (kind < 0.30) return Of(author, at, 7, liked);
    if (kind < 0.36) return Of(author, at, 6, liked);
    if (kind < 0.46) return Of(authors_[Rank(1000)], at, 3, liked);  // a list that replaces the one before
    if (kind < 0.52) return Of(author, at, kHidden, liked);
    if (kind < 0.60 && progress > 0.5) return Of(author, at, 9735, liked);
    return Of(author, at, 1, R"([["t","topic)" + std::to_string(Rank(500)) + "\"]]");
  }

  Event Of(const std::string& author, uint64_t at, uint16_t kind, const std::string& tags) {
    const std::string content = std::to_string(made_) + std::string(20 + random_() % 400, 'x');
    const std::string middle = std::to_string(at) + "," + std::to_string(kind) + "," + tags + "," + Quoted(content);
    const std::string id = ToHex(Sha256("[0," + Quoted(author) + "," + middle + "]"));
    Result<Event> event = parser_.Parse("{\"id\":" + Quoted(id) + ",\"pubkey\":" + Quoted(author) + ",\"created_at\":" +
                                        std::to_string(at) + ",\"kind\":" + std::to_string(kind) + ",\"tags\":" + tags +
                                        ",\"content\":" + Quoted(content) + ",\"sig\":" + Quoted(id + id) + "}");
    if (!event.ok()) Fail(event.status());
    return std::move(event).value();
  }

  std::mt19937_64 random_;
  const size_t events_;
  size_t made_ = 0;
  std::vector<std::string> authors_;
  EventParser parser_;
};

struct Shape {
  std::string name;
  std::vector<Filter> filters;
};

PublicKey KeyOf(const std::string& hex) {
  PublicKey key;
  FromHex(hex, key.data(), key.size());
  return key;
}

std::vector<Shape> Shapes(const Population& people) {
  std::vector<PublicKey> many;
  for (size_t rank = 100; rank < 1000; rank += 3) many.push_back(KeyOf(people.Author(rank)));
  std::ranges::sort(many);
  const uint64_t year_ago = kEnd - static_cast<uint64_t>(kYear);
  return {
      {"everything", {Filter{}}},
      {"notes", {Filter{.kinds = {{1}}}}},
      {"reactions", {Filter{.kinds = {{7}}}}},
      {"zaps, which came late", {Filter{.kinds = {{9735}}}}},
      {"lists, many of them replaced", {Filter{.kinds = {{3}}}}},
      {"notes of the last year", {Filter{.kinds = {{1}}, .since = year_ago}}},
      {"notes before the last year", {Filter{.kinds = {{1}}, .until = year_ago}}},
      {"the floods", {Filter{.tags = {{'t', {"flood"}}}}}},
      {"the commonest topic", {Filter{.tags = {{'t', {"topic0"}}}}}},
      {"reactions to the best known", {Filter{.kinds = {{7}}, .tags = {{'p', {people.Author(0)}}}}}},
      {"the author who writes most", {Filter{.authors = {{KeyOf(people.Author(0))}}}}},
      {"300 lesser known authors", {Filter{.authors = many}}},
      {"reactions, or notes of a topic", {Filter{.kinds = {{7}}}, Filter{.tags = {{'t', {"topic0"}}}}}},
  };
}

struct Counted {
  uint64_t count = 0;
  Work work = 0;
  double seconds = 0;
  bool gave_up = false;
};

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Counted Count(const EventStore& store, const std::vector<Filter>& filters, Work most, Work sampled = 0) {
  QueryOptions options{.now_seconds = kEnd, .default_limit = UINT64_MAX, .max_limit = UINT64_MAX, .fills_cache = false};
  options.visible = [](EventView event) { return event.kind() != kHidden; };
  const double start = ProcessorSeconds();
  const std::unique_ptr<Query> query = store.Find(filters, options);
  Counting counting("count", filters, 0, most, sampled);
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
    const Result<Progress> next = counting.Next(store, query.get(), kTurnWork);
    if (!next.ok()) Fail(next.status());
    progress = next.value();
  }
  return {counting.events(), query->work() + counting.own_work(), ProcessorSeconds() - start,
          !counting.refusal().empty()};
}

void CountShapes(const EventStore& store, const std::vector<Shape>& shapes) {
  double sum = 0;
  double largest = 0;
  int estimates = 0;
  std::printf("%-32s %9s %8s   the error (processor seconds) with 1/100, 1/25 and 1/5 of the relay's sample\n", "",
              "count", "seconds");
  for (const Shape& shape : shapes) {
    const Counted exact = Count(store, shape.filters, UINT64_MAX / 2);
    std::printf("%-32s %9llu %8.2f", shape.name.c_str(), static_cast<unsigned long long>(exact.count), exact.seconds);
    for (const Work part : {100, 25, 5}) {
      const Counted counted = Count(store, shape.filters, exact.work / 10, Counting::kMostSampled / part);
      const double error = static_cast<double>(counted.count) / static_cast<double>(exact.count) - 1;
      if (counted.gave_up) {
        std::printf("    refused (%.2f)", counted.seconds);
        continue;
      }
      std::printf("   %+6.2f %% (%.2f)", 100 * error, counted.seconds);
      sum += std::abs(error);
      largest = std::max(largest, std::abs(error));
      ++estimates;
    }
    std::printf("\n");
  }
  std::printf("%d estimates: mean error %.2f %%, largest %.2f %%\n", estimates, 100 * sum / std::max(1, estimates),
              100 * largest);
}

void MeasureSketch(const EventStore& store) {
  const std::vector<Filter> plain = {Filter{.kinds = {{7}}}};
  AuthorSketch sketch = *AuthorSketch::For(std::vector{Filter{.tags = {{'e', {"x"}}}}});
  std::vector<PublicKey> keys;
  for (uint64_t n = 0; n < 1024; ++n) keys.push_back(Sha256(std::to_string(n)));
  const double start = ProcessorSeconds();
  constexpr int kRounds = 10'000;
  for (int round = 0; round < kRounds; ++round)
    for (const PublicKey& key : keys) sketch.Add(key);
  const double seconds = ProcessorSeconds() - start;
  const Counted counted = Count(store, plain, UINT64_MAX / 2);
  std::printf("counting an event: %.0f ns; adding its author to a sketch: %.1f ns (%s)\n",
              1e9 * counted.seconds / static_cast<double>(counted.count),
              1e9 * seconds / (kRounds * static_cast<double>(keys.size())), sketch.ToHex().substr(0, 4).c_str());
}

template <typename Store>
std::unique_ptr<EventStore> Opened(Result<std::unique_ptr<Store>> store) {
  if (!store.ok()) Fail(store.status());
  return std::move(store).value();
}

std::unique_ptr<EventStore> Open(const std::string& place) {
  if (place.starts_with("postgres"))
    return Opened(PostgresStore::Open({.conninfo = place, .settings = {.origin = "count_error"}}));
  std::filesystem::remove_all(place);
  return Opened(RocksDbStore::Open({.path = place, .settings = {.sync = SyncMode::kOff}}));
}

void Run(size_t events, const std::string& place, uint64_t seed) {
  const std::unique_ptr<EventStore> store = Open(place);
  Population people(seed, events);
  for (std::vector<Event> next = people.Next(); !next.empty(); next = people.Next()) {
    std::vector<SaveResult> results(next.size());
    if (const Status saved = store->Save(next, 0, results); !saved.ok()) Fail(saved);
  }
  if (const Status flushed = store->Flush(); !flushed.ok()) Fail(flushed);
  std::printf("%zu events made, %llu stored\n", events, static_cast<unsigned long long>(store->Sizes().events));
  CountShapes(*store, Shapes(people));
  MeasureSketch(*store);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv, "count_error [events = 1000000 [place = count_error.data [seed = 1]]]",
                                  3);
  weir::Run(arguments.Count(0, 1'000'000), arguments.Text(1, "count_error.data"), arguments.Count(2, 1));
}
