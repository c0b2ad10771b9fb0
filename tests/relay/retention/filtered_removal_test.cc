// Removals by filter remove what matches, and nothing else.
#include "relay/retention/filtered_removal.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "config/manual_clock.h"
#include "relay/store/group_commit.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/postgres/each_store.h"

namespace weir {
namespace {

class FilteredRemovalTest : public EachStoreTest {
 protected:
  void Start() override {
    commit_ = std::make_unique<GroupCommit>(
        *store_, [](GroupCommit::Submissions, const Status&) {}, GroupCommitLimits(), clock_);
  }
  void Save(const std::vector<PlainEvent>& events) {
    std::vector<Event> records;
    for (const PlainEvent& event : events) records.push_back(ToEvent(event));
    std::vector<SaveResult> results(records.size());
    ASSERT_TRUE(commit_->SaveBulk(records, results).ok());
    ASSERT_TRUE(Eventually([this] { return !store_->owes_vanishing(); }));
  }
  FilteredRemoval Removal(std::vector<Filter> filters) {
    return FilteredRemoval(
        *store_, {},
        [this](std::span<const EventId> ids, const std::atomic<bool>& cancelled) {
          ++slices_;
          Result<uint64_t> removed = commit_->RemoveBulk(ids, &cancelled);
          if (after_slice_) after_slice_();
          return removed;
        },
        std::move(filters));
  }
  // Returns the events of the store that match, without limits.
  std::set<std::string> Found(const std::vector<Filter>& filters = {Filter()}) {
    const auto query = store_->Find(filters, {.default_limit = 1'000'000, .max_limit = 1'000'000});
    const std::vector<std::string> ids = Drain(*query);
    return {ids.begin(), ids.end()};
  }
  static std::vector<PlainEvent> Notes(uint64_t author, size_t count, const std::string& content = "") {
    std::vector<PlainEvent> notes;
    for (size_t n = 0; n < count; ++n) notes.push_back(Plain(Author(author), 1000 + n, 1, {}, content));
    return notes;
  }

  ManualWallClock clock_{1000};  // before the expiration of every event
  std::unique_ptr<GroupCommit> commit_;
  size_t slices_ = 0;
  std::function<void()> after_slice_;
};

INSTANTIATE_TEST_SUITE_P(Stores, FilteredRemovalTest, EachStore(), NameOfStore);

TEST_P(FilteredRemovalTest, RemovesWhatMatchesAndNothingElse) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    RandomNostr random(seed, 400);
    Save(random.events());
    for (int round = 0; round < 6; ++round) {
      const std::vector<Filter> filters = random.Filters();
      const std::set<std::string> all = Found();
      const std::set<std::string> matching = Found(filters);
      FilteredRemoval removal = Removal(filters);
      ASSERT_TRUE(removal.Count().ok());
      EXPECT_EQ(removal.matched(), matching.size());
      EXPECT_EQ(Found(), all) << "a count removes nothing";
      ASSERT_TRUE(removal.Run().ok());
      EXPECT_EQ(removal.removed(), matching.size());
      std::set<std::string> expected;
      std::ranges::set_difference(all, matching, std::inserter(expected, expected.end()));
      ASSERT_EQ(Found(), expected) << "seed " << seed << ", round " << round;
      if (expected.size() < 20) Save(random.events());
    }
  }
  EXPECT_EQ(place_->Difference(*store_), "");
}

TEST_P(FilteredRemovalTest, EventsThatComeMeanwhileStayAlsoRemovedOnesThatComeAgain) {
  const std::string large(50'000, 'x');
  const std::vector<PlainEvent> notes = Notes(1, 60, large);
  Save(notes);
  FilteredRemoval removal = Removal({Filter()});
  std::vector<PlainEvent> later{Plain(Author(2), 900, 1), notes.back()};
  after_slice_ = [&] { Save(later); };
  ASSERT_TRUE(removal.Run().ok());
  EXPECT_GT(slices_, 3U);
  EXPECT_EQ(removal.removed(), 60U);
  EXPECT_EQ(Found(), (std::set<std::string>{later[0].id, later[1].id}));
}

TEST_P(FilteredRemovalTest, AStoppedRemovalKnowsItsNumberAndAnotherOneGoesOn) {
  Save(Notes(1, 60, std::string(50'000, 'x')));
  FilteredRemoval removal = Removal({Filter()});
  after_slice_ = [&] { removal.Stop(); };
  const Status stopped = removal.Run();
  EXPECT_FALSE(stopped.ok());
  EXPECT_TRUE(removal.stopped());
  const uint64_t removed = removal.removed();
  EXPECT_GT(removed, 0U);
  EXPECT_EQ(Found().size(), 60 - removed);
  EXPECT_FALSE(removal.Count().ok()) << "it stays stopped";
  after_slice_ = {};
  FilteredRemoval next = Removal({Filter()});
  ASSERT_TRUE(next.Run().ok());
  EXPECT_EQ(next.removed(), 60 - removed);
}

TEST_P(FilteredRemovalTest, AnAgeKeepsYoungerEvents) {
  Save(Notes(1, 10));  // at 1000 to 1009
  std::vector<Filter> filters{Filter(), Filter{.until = 1002}};
  MatchOnlyOlder(100, 1105, &filters);
  FilteredRemoval removal = Removal(filters);
  ASSERT_TRUE(removal.Run().ok());
  EXPECT_EQ(removal.removed(), 6U);
  std::vector<Filter> none{Filter()};
  MatchOnlyOlder(5000, 1105, &none);
  EXPECT_EQ(none[0].until, 0U);
}

TEST_P(FilteredRemovalTest, AFilterWithALimitMatchesItsNewest) {
  const std::vector<PlainEvent> notes = Notes(1, 10);
  Save(notes);
  FilteredRemoval removal = Removal({Filter{.limit = 3}});
  ASSERT_TRUE(removal.Count().ok());
  EXPECT_EQ(removal.matched(), 3U);
  ASSERT_TRUE(removal.Run().ok());
  const std::set<std::string> left = Found();
  EXPECT_EQ(left.size(), 7U);
  for (size_t n = 0; n < 10; ++n) EXPECT_EQ(left.contains(notes[n].id), n < 7) << n;
}

TEST_P(FilteredRemovalTest, EventsThatHaveExpiredAndAreStillStoredCount) {
  Save({Plain(Author(1), 1000, 1, {{"expiration", "1700000000"}})});
  FilteredRemoval removal = Removal({Filter()});
  ASSERT_TRUE(removal.Count().ok());
  EXPECT_EQ(removal.matched(), 1U);
  ASSERT_TRUE(removal.Run().ok());
  EXPECT_EQ(removal.removed(), 1U);
}

TEST_P(FilteredRemovalTest, TheErrorOfTheStoreIsReturnedAndWhatIsGoneIsCounted) {
  Save(Notes(1, 3));
  const auto fail = [this](std::span<const EventId> ids, const std::atomic<bool>&) -> Result<uint64_t> {
    EXPECT_EQ(commit_->RemoveBulk(ids.first(2)).value(), 2U);
    return Status::Error("no space left on device");
  };
  FilteredRemoval removal(*store_, {}, fail, {Filter()});
  EXPECT_EQ(removal.Run().message(), "no space left on device");
  EXPECT_EQ(removal.removed(), 2U) << "those of the slice that were removed before";
}

}  // namespace
}  // namespace weir
