#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "import/line_splitter.h"
#include "import/pipeline.h"
#include "tests/import/settlements.h"
#include "tests/import/signed_events.h"
#include "tests/store/model_store.h"
#include "tests/store/random_nostr.h"
#include "tests/store/store_fixture.h"

namespace weir {
namespace {

// Into a real store, against the model of what a store must do.
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

// What the store did not need. Which of these it was is told as of when it was looked at: an event that is stored when
// its line is judged may be replaced when its turn comes.
uint64_t NotNeeded(const Tally& tally) {
  return tally[LineOutcome::kDuplicate] + tally[LineOutcome::kReplaced] + tally[LineOutcome::kDeleted] +
         tally[LineOutcome::kExpired];
}

// What a list of events becomes; the number that was saved.
uint64_t SaveAll(ModelStore& model, const std::vector<PlainEvent>& events, uint64_t now) {
  uint64_t saved = 0;
  for (const PlainEvent& event : events) saved += model.Save(event, now) == SaveOutcome::kSaved ? 1 : 0;
  return saved;
}

std::vector<std::string> IdsOf(const ModelStore& model) {
  std::vector<std::string> ids;
  for (const PlainEvent& event : model.events()) ids.push_back(event.id);
  return ids;
}

TEST_F(ImportAgainstModel, TheSameIsStoredWhateverTheChunks) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNostr random(seed, 500);
    std::string text;
    for (const PlainEvent& event : random.events()) text += JsonOf(event) + "\n";
    ModelStore model({RandomNostr::kOwnUrl});
    const uint64_t saved = SaveAll(model, random.events(), kNow);
    const std::vector<std::string> ids = IdsOf(model);
    // Twice is not always once: a version whose replacement was deleted comes back.
    const uint64_t saved_again = SaveAll(model, random.events(), kNow);
    for (const size_t chunk_bytes : {size_t{1}, size_t{3000}, size_t{1} << 20}) {
      const TempDirectory directory;
      const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(directory / "events"));
      const size_t save_events = 1 + random.Below(100);
      const Import first = Run(*store, text, chunk_bytes, save_events);
      EXPECT_EQ(first.tally[LineOutcome::kImported], saved);
      EXPECT_EQ(first.tally[LineOutcome::kImported] + NotNeeded(first.tally), random.events().size());
      EXPECT_EQ(first.ids, ids);
      const Import second = Run(*store, text, chunk_bytes, save_events);
      EXPECT_EQ(second.tally[LineOutcome::kImported], saved_again);
      EXPECT_EQ(second.tally[LineOutcome::kImported] + NotNeeded(second.tally), random.events().size());
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
