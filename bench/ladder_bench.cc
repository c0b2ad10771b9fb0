// Measures what the trust ladder costs for each event: finding the rung of its author among 100,000 authors, asking for
// a part of the strangers' share, and noting that the event was stored.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/temporary_directory.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/standing/ladder.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

constexpr size_t kAuthors = 100'000;

// A ladder that knows kAuthors authors, each by one note.
class KnownAuthors {
 public:
  KnownAuthors() {
    EventParser parser;
    for (size_t n = 0; n < kAuthors; ++n) {
      events_.push_back(parser.Parse(Signer(n).SignedEvent(1'700'000'000, 1, "[]", "a note")).value());
      standings_.NoteAccepted(events_.back().view(), n, false);
    }
  }

  EventView Next() { return events_[next_ = (next_ + 7919) % kAuthors].view(); }
  Ladder& ladder() { return ladder_; }
  void Press() {
    for (LimiterView::Write& write : view_.writes)
      write = {.open = false, .bytes_per_second = 1e7, .setpoint = 0.8, .level = 0.8};
    share_.GoOn();
  }

 private:
  StoreOptions Options() const {
    StoreOptions options;
    options.path = directory_->path() / "db";
    return options;
  }

  const std::unique_ptr<TemporaryDirectory> directory_ =
      TemporaryDirectory::Make(std::filesystem::temp_directory_path()).value();
  const std::unique_ptr<RocksDbStore> store_ = RocksDbStore::Open(Options()).value();
  LimiterView view_;
  Standings standings_{{}, *store_, directory_->path() / "standing", nullptr, Clock::System(), WallClock::System()};
  StrangerShare share_{[this] { return view_; }, 1 << 20, Clock::System()};
  Ladder ladder_{LadderMode::kObserve, standings_, share_};
  std::vector<Event> events_;
  size_t next_ = 0;
};

void JudgeOnce(KnownAuthors& known) {
  const Rung rung = known.ladder().RungOf(known.Next(), {}).value();
  const bool waits = known.ladder().WouldWait(rung, {1000}, {.id = 1, .group = 1});
  known.ladder().Count(rung, waits ? LadderOutcome::kWouldWait : LadderOutcome::kPassed);
}

void JudgeByTheLadder(benchmark::State& state) {
  KnownAuthors known;
  for (auto _ : state) JudgeOnce(known);
}
BENCHMARK(JudgeByTheLadder);

void JudgeByTheLadderUnderPressure(benchmark::State& state) {
  KnownAuthors known;
  known.Press();
  for (auto _ : state) JudgeOnce(known);
}
BENCHMARK(JudgeByTheLadderUnderPressure);

void NoteAStoredEvent(benchmark::State& state) {
  KnownAuthors known;
  for (auto _ : state) known.ladder().standings().NoteAccepted(known.Next(), 1, false);
}
BENCHMARK(NoteAStoredEvent);

}  // namespace
}  // namespace weir
