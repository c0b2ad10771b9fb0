// Exports of random stores against the model's answer, whatever the slices and windows.
#include "import/export/exporter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/relay/store/history.h"

namespace weir {
namespace {

constexpr ExportOrder kOrders[] = {ExportOrder::kArrival, ExportOrder::kOldest, ExportOrder::kNewest};

std::string NameOf(ExportOrder order) {
  return order == ExportOrder::kArrival ? "arrival" : order == ExportOrder::kOldest ? "oldest" : "newest";
}

// Returns the ids that are exported; `meanwhile` runs before every slice.
std::vector<std::string> Ids(
    const EventStore& store, const ExportPlan& plan, const Slice& slice,
    const std::function<void()>& meanwhile = [] {}) {
  std::vector<std::string> ids;
  EXPECT_TRUE(Check(plan).ok()) << Check(plan).message();
  const auto exporter = Exporter::Make(store, plan);
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
    meanwhile();
    const auto next = exporter->Next(slice, [&](EventView event) { ids.push_back(ToHex(event.id())); });
    EXPECT_TRUE(next.ok()) << next.status().message();
    if (!next.ok()) break;
    progress = next.value();
  }
  return ids;
}

std::vector<std::string> Expected(const ModelStore& model, const ExportPlan& plan) {
  std::vector<Filter> filters = plan.filters;
  if (filters.empty()) filters.emplace_back();
  ModelQuery query{.now_seconds = plan.now_seconds, .default_limit = INT64_MAX, .max_limit = INT64_MAX};
  for (Filter& filter : filters) {
    filter.since = std::max(filter.since, plan.since.value_or(0));
    filter.until = std::min(filter.until, plan.until.value_or(UINT64_MAX));
  }
  std::vector<std::string> ids = model.Find(filters, query).ids;
  if (plan.order == ExportOrder::kOldest) std::ranges::reverse(ids);
  if (plan.order == ExportOrder::kArrival) {
    const std::set<std::string> found(ids.begin(), ids.end());
    ids.clear();
    for (const PlainEvent& event : model.events())
      if (found.contains(event.id)) ids.push_back(event.id);
  }
  return ids;
}

ExportPlan AnyPlan(History& history, ExportOrder order) {
  RandomNostr& nostr = history.nostr();
  ExportPlan plan;
  plan.order = order;
  plan.now_seconds = history.now();
  if (!nostr.OneIn(3)) plan.filters = nostr.Filters();
  if (order != ExportOrder::kNewest)
    for (Filter& filter : plan.filters) filter.limit.reset();
  if (nostr.OneIn(3)) plan.since = RandomNostr::kStart - 8 + nostr.Below(12);
  if (nostr.OneIn(3)) plan.until = plan.since.value_or(RandomNostr::kStart - 6) + nostr.Below(8);
  plan.window.events = static_cast<uint32_t>(nostr.OneIn(3) ? 1 + nostr.Below(4) : 1 + nostr.Below(200));
  plan.window.bytes = nostr.OneIn(3) ? 1 + nostr.Below(3000) : 1 << 20;
  return plan;
}

std::string Describe(const ExportPlan& plan) {
  std::string text = NameOf(plan.order) + ", window " + std::to_string(plan.window.events) + " events, " +
                     std::to_string(plan.window.bytes) + " bytes";
  if (plan.since) text += ", since " + std::to_string(*plan.since);
  if (plan.until) text += ", until " + std::to_string(*plan.until);
  for (const Filter& filter : plan.filters) text += "\n" + ToJson(filter);
  return text;
}

TEST(Exporter, GivesWhatMatchesInTheOrderAskedFor) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    History history(seed, 600);
    for (int step = 0; step < 60; ++step) history.Save(step / 60.0);
    for (int n = 0; n < 60 && !testing::Test::HasFatalFailure(); ++n) {
      const ExportPlan plan = AnyPlan(history, kOrders[n % 3]);
      const Slice slice = history.AnySlice();
      ASSERT_TRUE(SameIds(Ids(history.store(), plan, slice), Expected(history.model(), plan)))
          << "seed " << seed << ", slices of " << slice.max_work << " work, " << slice.max_bytes << " bytes, "
          << Describe(plan);
    }
  }
}

// No event comes twice, and none that was there all the time is left out.
TEST(Exporter, HoldsWhatStayedWhileMuchChanged) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    History history(seed, 600);
    for (int step = 0; step < 30; ++step) history.Save(step / 60.0);
    const ExportPlan plan = AnyPlan(history, kOrders[seed % 3]);
    const std::vector<std::string> before = Expected(history.model(), plan);
    int step = 30;
    const auto change = [&] {
      if (step >= 60) return;
      history.Save(++step / 60.0);
      if (step % 3 == 0) history.Delete(step / 60.0);
      if (step % 7 == 0) history.Sweep();
    };
    const std::vector<std::string> ids =
        Ids(history.store(), plan, {.max_work = 20 * kRecordWork, .max_bytes = 3000}, change);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + Describe(plan));
    const std::set<std::string> exported(ids.begin(), ids.end());
    EXPECT_EQ(exported.size(), ids.size());
    if (std::ranges::any_of(plan.filters, [](const Filter& filter) { return filter.limit.has_value(); })) continue;
    for (const std::string& id : before) EXPECT_TRUE(exported.contains(id) || !history.model().Has(id)) << id;
  }
}

// A backup has every author's profile, the one before or the one after.
TEST(Exporter, HoldsAVersionOfEventsThatAreReplacedMeanwhile) {
  constexpr int kAuthors = 60;
  for (const ExportOrder order : kOrders) {
    const TempDirectory directory;
    const auto store = MustOpen(SmallStore(directory / "events"));
    ASSERT_NE(store, nullptr);
    std::map<std::string, int> author_of;
    const auto profile = [&](int author, uint64_t at) {
      PlainEvent event = Plain(Author(static_cast<uint64_t>(author)), at, 0, {}, std::to_string(at));
      author_of[event.id] = author;
      return event;
    };
    for (int author = 0; author < kAuthors; ++author) SaveAll(*store, {profile(author, 1000)});
    int replaced = kAuthors;
    const auto replace = [&] {
      if (replaced > 0) SaveAll(*store, {profile(--replaced, 2000)});
    };
    ExportPlan plan;
    plan.order = order;
    plan.window.events = 7;
    std::set<int> authors;
    for (const std::string& id : Ids(*store, plan, {.max_work = 2 * kRecordWork}, replace))
      authors.insert(author_of.at(id));
    EXPECT_EQ(authors.size(), kAuthors) << NameOf(order);
  }
}

// An export ends, even if the last event of a walk is gone, or if more comes than is read.
TEST(Exporter, EndsThoughTheStoreGrowsAsFastAsItIsRead) {
  for (const bool last_is_removed : {false, true}) {
    for (const int per_slice : {1, 2, 5}) {
      const TempDirectory directory;
      const auto store = MustOpen(SmallStore(directory / "events"));
      ASSERT_NE(store, nullptr);
      std::vector<PlainEvent> events;
      const auto save = [&](int count) {
        std::vector<PlainEvent> some;
        for (int i = 0; i < count; ++i)
          some.push_back(Plain(Author(1), 1000, 1, {}, std::to_string(events.size() + i)));
        events.insert(events.end(), some.begin(), some.end());
        SaveAll(*store, some);
      };
      save(40);
      int slices = 0;
      const auto grow = [&] {
        if (++slices == 1) return;
        if (last_is_removed && slices == 2) {
          EXPECT_EQ(store->Delete(std::vector{ToEvent(events[39]).view().id()}).value(), 1U);
        }
        if (slices > 60 * (1 + per_slice)) throw std::runtime_error("it does not end");
        save(per_slice);
      };
      std::vector<std::string> exported = Ids(*store, {}, {.max_work = 2 * kRecordWork}, grow);
      exported.resize(39);
      std::vector<std::string> expected;
      for (int i = 0; i < 39; ++i) expected.push_back(events[i].id);
      EXPECT_TRUE(SameIds(exported, expected)) << per_slice << " in a slice";
    }
  }
}

// The window splits where it is full, also between events of one second.
TEST(Exporter, HoldsSecondsThatAreMoreThanTheWindow) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  ModelStore model;
  std::vector<PlainEvent> events;
  for (int i = 0; i < 900; ++i) {
    // Each second has nine events, except one that has hundreds; and one event is long.
    const uint64_t created_at = i % 2 == 0 ? 5000 : 1000 + static_cast<uint64_t>(i / 18) * 250;
    events.push_back(Plain(Author(static_cast<uint64_t>(i % 3)), created_at, 1, {},
                           std::to_string(i) + std::string(i == 500 ? 20'000 : 0, 'x')));
    model.Save(events.back(), 0);
  }
  SaveAll(*store, events);
  for (const uint32_t window : {1u, 2u, 8u, 9u, 10u, 100u, 449u, 450u, 451u, 899u, 900u}) {
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{4000}, uint64_t{1} << 20}) {
      ExportPlan plan;
      plan.order = ExportOrder::kOldest;
      plan.window = {.events = window, .bytes = bytes};
      EXPECT_TRUE(SameIds(Ids(*store, plan, {.max_bytes = 4000}), Expected(model, plan))) << Describe(plan);
    }
  }
}

// A stranger may store any number of events with the same created_at.
TEST(Exporter, HoldsLittleOfASecondWithManyEvents) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  ModelStore model;
  std::vector<PlainEvent> events;
  for (int i = 0; i < 4000; ++i) {
    events.push_back(Plain(Author(1), 1000, 1, {}, std::to_string(i)));
    model.Save(events.back(), 0);
  }
  SaveAll(*store, events);
  ExportPlan plan;
  plan.order = ExportOrder::kOldest;
  plan.window.events = 50;
  const auto exporter = Exporter::Make(*store, plan);
  std::vector<std::string> ids;
  uint64_t most_bytes = 0;
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
    progress = exporter->Next({}, [&](EventView event) { ids.push_back(ToHex(event.id())); }).value();
    most_bytes = std::max(most_bytes, exporter->held_bytes());
  }
  EXPECT_TRUE(SameIds(ids, Expected(model, plan)));
  EXPECT_LT(most_bytes, 120U << 10);
}

// The events that are replaced are all of one second, which the export has read and split before.
TEST(Exporter, HoldsAVersionOfEventsOfASecondThatItHasSplit) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  constexpr uint64_t kAuthors = 60;
  const auto save_profiles = [&](uint64_t at) {
    std::vector<PlainEvent> profiles;
    for (uint64_t author = 0; author < kAuthors; ++author)
      profiles.push_back(Plain(Author(author), at, 0, {}, std::to_string(at)));
    SaveAll(*store, profiles);
  };
  save_profiles(1000);
  ExportPlan plan;
  plan.order = ExportOrder::kOldest;
  plan.window.events = 7;
  std::set<std::string> authors;
  const auto exporter = Exporter::Make(*store, plan);
  for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
    const bool had_begun = !authors.empty();
    progress = exporter->Next({}, [&](EventView event) { authors.insert(ToHex(event.pubkey())); }).value();
    if (!had_begun && !authors.empty()) save_profiles(2000);
  }
  EXPECT_EQ(authors.size(), kAuthors);
}

// A client that does not take its export makes the relay hold neither a snapshot nor much memory. When it goes on it
// gets everything all the same.
TEST(Exporter, ASuspendedExportHoldsLittleAndGoesOn) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 2000; ++i)
    events.push_back(Plain(Author(static_cast<uint64_t>(i % 3)), 1000 + static_cast<uint64_t>(i), 1, {},
                           std::string(500, 'x') + std::to_string(i)));
  SaveAll(*store, events);
  for (const ExportOrder order : kOrders) {
    ExportPlan plan;
    plan.order = order;
    plan.window = {.events = 100, .bytes = 64 << 10};
    const auto exporter = Exporter::Make(*store, plan);
    size_t exported = 0;
    for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
      const size_t before = exported;
      progress = exporter->Next({.max_bytes = 8000}, [&](EventView) { ++exported; }).value();
      if (exported == before) continue;
      exporter->Suspend();
      EXPECT_LT(exporter->held_bytes(), 200U << 10) << NameOf(order);
      uint64_t snapshots = 0;
      store->db()->GetIntProperty(store->families().back(), "rocksdb.num-snapshots", &snapshots);
      EXPECT_EQ(snapshots, 0U) << NameOf(order);
    }
    EXPECT_EQ(exported, events.size()) << NameOf(order);
  }
}

TEST(Exporter, ExportsNothingFromAnEmptyStore) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  for (const ExportOrder order : kOrders) {
    ExportPlan plan;
    plan.order = order;
    EXPECT_TRUE(Ids(*store, plan, {}).empty());
  }
}

TEST(Exporter, RefusesPlansThatContradictThemselves) {
  const Filter limited{.limit = 3};
  const struct {
    ExportPlan plan;
    std::string_view error;
  } kCases[] = {
      {{.filters = {limited}, .order = ExportOrder::kNewest}, ""},
      {{.filters = {Filter(), limited}, .order = ExportOrder::kOldest}, "limit"},
      {{.filters = {limited}}, "newest"},
      {{.since = 5, .until = 5}, ""},
      {{.since = 6, .until = 5}, "since is after until"},
  };
  for (const auto& [plan, error] : kCases) {
    const Status status = Check(plan);
    EXPECT_EQ(status.ok(), error.empty()) << Describe(plan);
    EXPECT_NE(status.message().find(error), std::string::npos) << status.message();
  }
  for (const ExportOrder order : kOrders) {
    const Result<ExportOrder> parsed = ParseExportOrder(NameOf(order));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed.value(), order);
  }
  EXPECT_NE(ParseExportOrder("random").status().message().find("no order \"random\""), std::string::npos);
}

}  // namespace
}  // namespace weir
