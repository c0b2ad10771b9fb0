#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "import/input/line_splitter.h"
#include "import/pipeline.h"
#include "tests/fixtures/model_store.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/import/settlements.h"
#include "tests/import/signed_events.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

// Imports into a real store, against the model of what a store must do.
class ImportAgainstModel : public testing::Test {
 protected:
  static constexpr uint64_t kNow = RandomNostr::kStart + 50;

  struct Import {
    Tally tally;
    std::vector<std::string> ids;
  };

  Import Run(RocksDbStore& store, const std::string& text, size_t chunk_bytes, size_t save_events) {
    WorkPool pool(3);
    const ManualWallClock wall(kNow);
    Settlements settled;
    PipelineParts parts{.pool = pool,
                        .store = &store,
                        .save = [&store](std::span<const Event> events,
                                         std::span<SaveResult> results) { return store.Save(events, kNow, results); },
                        .wall_clock = wall};
    PipelineOptions options{.save_events = save_events};
    options.judge.verify = false;  // the signatures are made up
    options.judge.max_future_s = 1ULL << 40;
    Pipeline pipeline(std::move(parts), options, settled.Callback());
    LineSplitter splitter({.chunk_bytes = chunk_bytes}, 0);
    const auto push = [&](Chunk chunk) { pipeline.Push(std::move(chunk)); };
    splitter.Add(text, text.size(), push);
    splitter.End(push);
    pipeline.Flush();
    settled.WaitForBytes(text.size());
    return {settled.tally(), StoredIds(store)};
  }
};

LineOutcome OutcomeOf(SaveOutcome outcome) {
  switch (outcome) {
    case SaveOutcome::kSaved:
      return LineOutcome::kImported;
    case SaveOutcome::kDuplicate:
      return LineOutcome::kDuplicate;
    case SaveOutcome::kSuperseded:
      return LineOutcome::kReplaced;
    case SaveOutcome::kDeleted:
    case SaveOutcome::kVanished:
      return LineOutcome::kDeleted;
    case SaveOutcome::kExpired:
      return LineOutcome::kExpired;
    case SaveOutcome::kNoPlace:
    case SaveOutcome::kRefused:
      return LineOutcome::kRefused;
  }
  return LineOutcome::kInvalid;
}

// Returns what becomes of a list of events, saved one after the other.
Tally SaveAll(ModelStore& model, const std::vector<PlainEvent>& events, uint64_t now) {
  Tally tally;
  for (const PlainEvent& event : events) ++tally[OutcomeOf(model.Save(event, now))];
  return tally;
}

// Returns all events in their order, and after each sometimes an earlier one again.
std::vector<PlainEvent> WithRepeats(RandomNostr& random) {
  std::vector<PlainEvent> events;
  for (const PlainEvent& event : random.events()) {
    events.push_back(event);
    if (random.Below(3) == 0) events.push_back(events[random.Below(events.size())]);
  }
  return events;
}

std::vector<std::string> IdsOf(const ModelStore& model) {
  std::vector<std::string> ids;
  for (const PlainEvent& event : model.events()) ids.push_back(event.id);
  return ids;
}

TEST_F(ImportAgainstModel, EveryLineBecomesWhatItsTurnSaysWhateverTheChunks) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNostr random(seed, 500);
    const std::vector<PlainEvent> events = WithRepeats(random);
    std::string text;
    for (const PlainEvent& event : events) text += JsonOf(event) + "\n";
    ModelStore model({RandomNostr::kOwnUrl});
    const Tally once = SaveAll(model, events, kNow);
    const std::vector<std::string> ids = IdsOf(model);
    // Importing twice may differ from importing once: a version whose replacement was deleted comes back.
    const Tally again = SaveAll(model, events, kNow);
    for (const size_t chunk_bytes : {size_t{1}, size_t{3000}, size_t{1} << 20}) {
      const TempDirectory directory;
      const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(directory / "events"));
      const size_t save_events = 1 + random.Below(100);
      const Import first = Run(*store, text, chunk_bytes, save_events);
      EXPECT_EQ(first.tally.lines, once.lines);
      EXPECT_EQ(first.ids, ids);
      const Import second = Run(*store, text, chunk_bytes, save_events);
      EXPECT_EQ(second.tally.lines, again.lines);
      EXPECT_EQ(second.ids, IdsOf(model));
    }
  }
}

TEST_F(ImportAgainstModel, ASecondImportOfNotesAddsNothing) {
  const TempDirectory directory;
  const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(directory / "events"));
  const std::string text = Notes(0, 200) + Notes(100, 300);
  const Import first = Run(*store, text, 5000, 70);
  EXPECT_EQ(first.tally[LineOutcome::kImported], 300U);
  EXPECT_EQ(first.tally[LineOutcome::kDuplicate], 100U);
  const Import second = Run(*store, text, 3000, 50);
  EXPECT_EQ(second.tally[LineOutcome::kDuplicate], 400U);
  EXPECT_EQ(second.ids, first.ids);
}

}  // namespace
}  // namespace weir
