// Measures what the trust ladder costs: a look-up of an author's rung and a note of an accepted event, among known
// authors and in a flood of fresh ones; the judgement of an event while the ladder observes; and the bytes that an
// author takes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/standing/ladder.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

constexpr uint64_t kAuthors = 200'000;

// A store without events in a directory of its own, and the authors of a relay.
struct Relay {
  Relay() {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    StoreOptions options;
    options.path = (directory / "db").string();
    options.memory_target_bytes = 256ull << 20;
    store = RocksDbStore::Open(options).value();
    standings = std::make_unique<Standings>(StandingSettings{}, *store, (directory / "standing").string(), nullptr,
                                            Clock::System(), WallClock::System());
    record = *EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, 1, "[]", "a note")).value().record();
  }
  void NoteAll(uint64_t authors) {
    for (uint64_t i = 0; i < authors; ++i) standings->NoteAccepted(By(i), i, false);
  }
  ~Relay() {
    standings.reset();
    store.reset();
    std::filesystem::remove_all(directory);
  }
  // Returns the same event by the author with this number.
  EventView By(uint64_t number) {
    const PublicKey key = Key(number);
    std::memcpy(record.data() + RecordLayout::kPubkey, key.data(), key.size());
    return EventView(record);
  }
  // Returns keys that are as far from each other in memory as hashes are.
  static PublicKey Key(uint64_t number) {
    PublicKey key{};
    for (size_t i = 0; i < key.size(); i += sizeof(number)) {
      number = (number + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
      std::memcpy(key.data() + i, &number, sizeof(number));
    }
    return key;
  }

  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "weir-standing-bench";
  std::unique_ptr<RocksDbStore> store;
  std::unique_ptr<Standings> standings;
  std::string record;
};

void LookUpAndNoteKnownAuthors(benchmark::State& state) {
  Relay relay;
  relay.NoteAll(kAuthors);
  relay.standings->SetOwnList({Relay::Key(0)});
  uint64_t i = 0;
  for (auto _ : state) {
    const EventView event = relay.By(i);
    benchmark::DoNotOptimize(relay.standings->RungOf(event.pubkey()));
    relay.standings->NoteAccepted(event, i, false);
    i = (i + 7919) % kAuthors;
  }
  state.counters["bytes_an_author"] = static_cast<double>(relay.standings->Stats().bytes) / kAuthors;
}
BENCHMARK(LookUpAndNoteKnownAuthors);

// The table is full, so each of these authors takes the place of another.
void LookUpAndNoteFreshAuthors(benchmark::State& state) {
  Relay relay;
  const uint64_t most = StandingSettings{}.authors;
  relay.NoteAll(most);
  uint64_t i = most;
  for (auto _ : state) {
    const EventView event = relay.By(++i);
    benchmark::DoNotOptimize(relay.standings->RungOf(event.pubkey()));
    relay.standings->NoteAccepted(event, i % 100, false);
  }
  state.counters["bytes_an_author"] = static_cast<double>(relay.standings->Stats().bytes) / static_cast<double>(most);
}
BENCHMARK(LookUpAndNoteFreshAuthors);

// Under pressure almost every event of these strangers would have to wait.
void JudgeWhileObserving(benchmark::State& state, bool under_pressure) {
  Relay relay;
  relay.NoteAll(kAuthors);
  LimiterView view;
  if (under_pressure) {
    for (LimiterView::Write& write : view.writes)
      write = {.open = false, .bytes_per_second = 1e7, .setpoint = 0.8, .level = 0.8};
  }
  StrangerShare share([&view] { return view; }, 0, Clock::System());
  share.GoOn();
  share.Start();
  Ladder ladder(LadderMode::kObserve, *relay.standings, share);
  uint64_t i = 0;
  for (auto _ : state) {
    const Rung rung = ladder.RungOf(relay.By(i), {}).value();
    const bool waits = ladder.WouldWait(rung, {1000}, {.id = 1, .group = 1});
    ladder.Count(rung, waits ? LadderOutcome::kWouldWait : LadderOutcome::kPassed);
    i = (i + 7919) % kAuthors;
  }
}
BENCHMARK_CAPTURE(JudgeWhileObserving, without_pressure, false);
BENCHMARK_CAPTURE(JudgeWhileObserving, under_pressure, true)->MeasureProcessCPUTime();

void ComputeARung(benchmark::State& state) {
  const AuthorRecord record{.first_seen = 1'700'000'000, .accepted = 340, .active_days = 12, .proved = true};
  uint64_t now = 1'710'000'000;
  for (auto _ : state) benchmark::DoNotOptimize(RungOf(record, ++now));
}
BENCHMARK(ComputeARung);

}  // namespace
}  // namespace weir
