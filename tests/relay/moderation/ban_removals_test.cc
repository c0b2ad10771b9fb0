// A ban removes the events of its author in pieces, and nobody waits for that.
#include "relay/moderation/ban_removals.h"

#include "tests/relay/moderation/moderation_suite.h"

namespace weir {
namespace {

TEST_P(ModerationSuite, ABanHidesAtOnceAndOthersDoNotWaitForItsRemoval) {
  constexpr size_t kEvents = 3000;
  relay().Save(NotesOf(1, kEvents));
  gate_.Hold();
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return gate_.holds_one(); }));
  const auto begun = relay()->Removals();
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_FALSE(begun[0].done);
  EXPECT_LT(begun[0].removed, kEvents) << "the first piece is only a part";
  EXPECT_FALSE(relay().rules.MaySee(NotesOf(1, 1)[0].view()));
  const std::vector<Event> others = NotesOf(2, 10);
  relay().Save(others);
  EXPECT_EQ(relay().Put(DecisionList::kBannedEvents, Author(7)), "") << "nor do other decisions";
  gate_.Open();
  EXPECT_TRUE(Eventually([&] { return store_->Sizes().events == others.size(); }));
  EXPECT_EQ(place_->Difference(*store_), "");
}

TEST_P(ModerationSuite, ABannedEventIsRemovedAndNotTakenAgain) {
  const std::vector<Event> events = NotesOf(1, 2);
  relay().Save(events);
  EXPECT_EQ(relay().Put(DecisionList::kBannedEvents, ToHex(events[0].view().id())), "");
  EXPECT_TRUE(Eventually([&] { return relay().IsRemoved(1); }));
  EXPECT_FALSE(store_->Has(events[0].view().id()).value());
  EXPECT_TRUE(store_->Has(events[1].view().id()).value());
  EXPECT_EQ(relay().RefusalOf(events[0]), "blocked: this event was banned by this relay's administrators");
  EXPECT_EQ(relay().RefusalOf(events[1]), "");
}

TEST_P(ModerationSuite, AnUnbanEndsTheRemovalAndEventsComeAgain) {
  constexpr size_t kEvents = 3000;
  const std::vector<Event> events = NotesOf(1, kEvents);
  relay().Save(events);
  gate_.Hold();
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return gate_.holds_one(); }));
  EXPECT_TRUE(relay()->Revoke(DecisionList::kBannedAuthors, Author(1), "me").value());
  EXPECT_TRUE(relay()->Removals().empty());
  const uint64_t left = store_->Sizes().events;
  EXPECT_GT(left, 0U);
  gate_.Open();
  relay().LookAgain();
  relay().LookAgain();
  EXPECT_EQ(store_->Sizes().events, left);
  EXPECT_EQ(relay().RefusalOf(events[0]), "");
  relay().Save(events);
  EXPECT_EQ(store_->Sizes().events, kEvents);
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "") << "a second ban";
  EXPECT_TRUE(Eventually([&] { return store_->Sizes().events == 0; }));
}

TEST_P(ModerationSuite, ARemovalGoesOnAfterARestart) {
  constexpr size_t kEvents = 3000;
  relay().Save(NotesOf(1, kEvents));
  gate_.Hold();
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return gate_.holds_one(); }));
  relay_.reset();
  EXPECT_GT(store_->Sizes().events, 0U);
  gate_.Open();
  Restart();
  EXPECT_TRUE(Eventually([&] { return relay().IsRemoved(1); }));
  EXPECT_EQ(store_->Sizes().events, 0U);
  EXPECT_EQ(place_->Difference(*store_), "");
}

TEST_P(ModerationSuite, EventsThatWereUnderWayDuringTheBanAreRemovedToo) {
  relay().Save(NotesOf(1, 1));
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "");
  EXPECT_TRUE(Eventually([&] { return relay().IsRemoved(1); }));
  const std::vector<Event> late{ToEvent(Plain(Author(1), 5000, 1))};
  relay().Save(late);
  EXPECT_TRUE(store_->Has(late[0].view().id()).value());
  relay().clock.Advance(BanRemovals::kSettlesAfterSeconds);
  relay().LookAgain();
  EXPECT_TRUE(Eventually([&] { return relay().IsRemoved(2); }));
  EXPECT_FALSE(store_->Has(late[0].view().id()).value());
  size_t memos = 0;
  const auto is_removal = [&](const Memo& memo) { memos += memo.text && memo.name.starts_with("removal/") ? 1 : 0; };
  EXPECT_TRUE(Eventually([&] {
    memos = 0;
    return store_->ReadMemos(0, is_removal).ok() && memos == 0;
  })) << "the removal is over";
}

// Another relay's ban may follow its unban so soon that this relay sees only the new ban.
TEST_P(ModerationSuite, ALaterBanBeginsTheRemovalAnew) {
  relay_.reset();
  const ManualWallClock clock{ModeratedRelay::kStart};
  BanRemovals removals(*store_, clock);
  const auto removed = [&](uint64_t banned_at) {
    removals.Resume(DecisionList::kBannedAuthors, Author(1), banned_at);
    return removals.RemovePiece(kTurnWork).value().removed;
  };
  EXPECT_EQ(removed(ModeratedRelay::kStart), 0U);
  std::vector<SaveResult> results(1);
  ASSERT_TRUE(store_->Save(NotesOf(1, 1), 0, results).ok());
  EXPECT_EQ(removed(ModeratedRelay::kStart), 0U) << "the same ban";
  EXPECT_EQ(removed(ModeratedRelay::kStart + 1), 1U);
}

TEST_P(ModerationSuite, ABanDuringAScanHidesTheRest) {
  relay().Save(NotesOf(1, 100));
  QueryOptions options;
  options.visible = [this](EventView event) { return relay().rules.MaySee(event); };
  const auto query = store_->Find({Filter{}}, options);
  size_t found = 0;
  const auto count = [&found](EventView) { ++found; };
  ASSERT_TRUE(query->Next({.max_work = 1}, count).ok());
  EXPECT_EQ(relay().Put(DecisionList::kBannedAuthors, Author(1)), "");
  const size_t before = found;
  EXPECT_LT(before, 100U);
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) progress = query->Next({}, count).value();
  EXPECT_EQ(found, before);
}

}  // namespace
}  // namespace weir
