// The set of a NEG-OPEN on both stores.
#include <set>

#include "relay/protocol/sync_dialogue.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/negentropy/sync_items.h"
#include "tests/relay/store/postgres/each_store.h"

namespace weir {
namespace {

class SyncStoresTest : public EachStoreTest {
 protected:
  void Save(const std::vector<PlainEvent>& events) {
    std::vector<Event> records;
    for (const PlainEvent& event : events) records.push_back(ToEvent(event));
    std::vector<SaveResult> results(records.size());
    ASSERT_TRUE(store_->Save(records, kNow, results).ok());
  }
  std::unique_ptr<Query> Find(const std::vector<Filter>& filters,
                              const std::optional<IdsOnly>& ids_only = IdsOnly()) const {
    return store_->Find(
        filters, {.now_seconds = kNow, .default_limit = kAllEvents, .max_limit = kAllEvents, .ids_only = ids_only});
  }
  std::set<std::string> Found(const std::vector<Filter>& filters) const {
    const auto query = Find(filters, std::nullopt);
    const std::vector<std::string> ids = Drain(*query);
    return {ids.begin(), ids.end()};
  }
  // Returns the ids in the answer to a client without events. Calls `between` after each slice.
  std::set<std::string> Answered(SyncDialogue& dialogue, Query* query,
                                 const std::function<void()>& between = {}) const {
    while (true) {
      const Result<Progress> progress = dialogue.Next(*store_, query, kTurnWork / 16);
      EXPECT_TRUE(progress.ok()) << progress.status().message();
      if (!progress.ok() || progress.value() == Progress::kDone) break;
      if (between) between();
    }
    EXPECT_EQ(dialogue.refusal(), "");
    const std::string answer = dialogue.TakeAnswer();
    const std::string bytes = BytesOfHex(answer.substr(16, answer.size() - 18));
    const SyncSet none = SealedSetOf({});
    SyncDifferences found;
    Reconciler client(none, bytes, kFrameBytes, &found);
    EXPECT_TRUE(client.Next(UINT64_MAX / 2).ok());
    std::set<std::string> ids;
    for (const EventId& id : found.need) ids.insert(ToHex(id));
    return ids;
  }
  static std::string AskForAll() { return Reconciler::FirstMessage(SealedSetOf({}), kFrameBytes); }
  static SyncDialogue Dialogue(bool has_limit = false) {
    return SyncDialogue("n", AskForAll(), has_limit, 100'000, kFrameBytes);
  }

  static constexpr uint64_t kNow = 1000;  // before the expiration of every event
  static constexpr size_t kFrameBytes = 1 << 20;
};

INSTANTIATE_TEST_SUITE_P(Stores, SyncStoresTest, EachStore(), NameOfStore);

TEST_P(SyncStoresTest, HasWhatTheFiltersMatch) {
  for (const uint64_t seed : {1, 2, 3}) {
    RandomNostr random(seed, 300);
    Save(random.events());
    for (int round = 0; round < 10; ++round) {
      std::vector<Filter> filters = random.Filters();
      std::erase_if(filters, [](const Filter& filter) { return filter.limit == 0; });
      if (filters.empty()) continue;
      SyncDialogue dialogue =
          Dialogue(std::ranges::any_of(filters, [](const Filter& filter) { return filter.limit.has_value(); }));
      const auto query = Find(filters);
      EXPECT_EQ(Answered(dialogue, query.get()), Found(filters));
    }
  }
}

TEST_P(SyncStoresTest, RefusesASetThatIsTooBig) {
  std::vector<PlainEvent> notes;
  for (uint64_t n = 0; n < 600; ++n) notes.push_back(Plain(Author(n % 7), 500 + n, 1, {}, std::to_string(n)));
  Save(notes);
  for (const uint64_t most : {0, 1, 599, 600}) {
    SyncDialogue dialogue("n", AskForAll(), false, most, kFrameBytes);
    const auto query = store_->Find(
        {Filter()}, {.now_seconds = kNow, .default_limit = kAllEvents, .max_limit = most + 1, .ids_only = IdsOnly()});
    Result<Progress> progress = Progress::kMore;
    while (progress.ok() && progress.value() == Progress::kMore) progress = dialogue.Next(*store_, query.get(), 10'000);
    ASSERT_TRUE(progress.ok()) << progress.status().message();
    EXPECT_EQ(dialogue.is_too_big(), most < 600) << most;
    EXPECT_EQ(dialogue.refusal().empty(), most == 600) << most;
  }
}

// The query passes some of the events before it finds that there are too many.
TEST_P(SyncStoresTest, RefusesASetOfWhichItHasAPart) {
  std::vector<PlainEvent> events;
  for (uint64_t n = 0; n < 600; ++n) events.push_back(Plain(Author(1), 500 + n, n % 4 == 0 ? 4 : 1));
  Save(events);
  IdsOnly ids_only;
  ids_only.sight = [](uint16_t kind, uint32_t) { return kind == 4 ? Sight::kUnknown : Sight::kShown; };
  ids_only.most_waiting = 8;
  SyncDialogue dialogue("n", AskForAll(), false, 300, kFrameBytes);
  const auto query = store_->Find({Filter()}, {.now_seconds = kNow,
                                               .default_limit = kAllEvents,
                                               .max_limit = 301,
                                               .visible = [](EventView event) { return event.kind() != 4; },
                                               .ids_only = ids_only});
  Result<Progress> progress = Progress::kMore;
  while (progress.ok() && progress.value() == Progress::kMore) progress = dialogue.Next(*store_, query.get(), 10'000);
  ASSERT_TRUE(progress.ok()) << progress.status().message();
  EXPECT_TRUE(dialogue.is_too_big()) << "of 450 events that may be seen";
}

// The index orders the events of one second and one beginning of an id by kind and author, not by arrival. The
// contents of these four pairs were found by trying.
TEST_P(SyncStoresTest, HasBothOfTwoEventsWhoseIdsBeginTheSame) {
  constexpr std::pair<int, int> kTwins[] = {{97604, 14036}, {75031, 50354}, {48158, 117467}, {34327, 137629}};
  const auto twin = [](int number, uint16_t kind) {
    return Plain(Author(1), 1000, kind, {{"t", "twin"}}, std::to_string(number));
  };
  for (const auto& [a, b] : kTwins) {
    ASSERT_EQ(twin(a, 1).id.substr(0, 8), twin(b, 7).id.substr(0, 8));
    Save({twin(b, 7), twin(a, 1)});  // the one that the index has first comes later
  }
  SyncDialogue dialogue = Dialogue();
  const auto query = Find({Filter()});
  EXPECT_EQ(Answered(dialogue, query.get(), [&] { query->Suspend(); }), Found({Filter()}));
  EXPECT_EQ(dialogue.events(), 8U);
}

// Many events of one second come in the order of their ids.
TEST_P(SyncStoresTest, SecondsWithManyEventsAreInOrder) {
  std::vector<PlainEvent> notes;
  for (uint64_t n = 0; n < 3000; ++n) notes.push_back(Plain(Author(n % 7), 500 + n / 1000, 1, {}, std::to_string(n)));
  Save(notes);
  SyncDialogue dialogue = Dialogue();
  const auto query = Find({Filter()});
  EXPECT_EQ(Answered(dialogue, query.get()).size(), 3000U);
  EXPECT_EQ(dialogue.events(), 3000U);
}

// Deletions may or may not be in the set while it is gathered, and make no difference after that.
TEST_P(SyncStoresTest, DeletionsDoNotDisturbADialogue) {
  std::vector<PlainEvent> notes;
  for (uint64_t n = 0; n < 2000; ++n) notes.push_back(Plain(Author(1), 1 + n / 10, 1, {}, std::to_string(n)));
  Save(notes);
  SyncDialogue dialogue = Dialogue();
  const auto query = Find({Filter()});
  size_t deleted = 0;
  const auto delete_some = [&] {
    query->Suspend();
    std::vector<EventId> ids;
    for (int n = 0; n < 10 && deleted < 1000; ++n) ids.push_back(ToBytes(notes[deleted++].id));
    ASSERT_TRUE(store_->Delete(ids).ok());
  };
  const std::set<std::string> answered = Answered(dialogue, query.get(), delete_some);
  for (size_t n = 1000; n < notes.size(); ++n) EXPECT_TRUE(answered.contains(notes[n].id)) << n;
  while (deleted < 1000) delete_some();
  dialogue.Hear(AskForAll());
  EXPECT_EQ(Answered(dialogue, nullptr), answered) << "the set stays as it is";
}

}  // namespace
}  // namespace weir
