#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/relay/event_maker.h"
#include "bench/relay/event_set.h"
#include "bench/relay/launch.h"
#include "bench/relay/shapes.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint64_t kDay = 20'000;

std::vector<std::string> Made(const EventRecipe& recipe) {
  std::vector<std::string> events;
  MakeEvents(recipe, [&](std::string json) { events.push_back(std::move(json)); });
  return events;
}

std::string Lines(const std::vector<std::string>& events) {
  std::string lines;
  for (const std::string& event : events) lines += event + "\n";
  return lines;
}

EventSet SetOf(const EventRecipe& recipe) {
  auto set = EventSet::FromLines(Lines(Made(recipe)));
  EXPECT_TRUE(set.ok()) << set.status().message();
  return std::move(set).value();
}

TEST(EventMaker, MakesValidEventsOfManyKindsFromTheLastThirtyDays) {
  EventParser parser;
  std::map<uint16_t, int> kinds;
  std::set<char> tags;
  for (const std::string& json : Made({.purpose = "test", .count = 1000, .day = kDay})) {
    const auto event = parser.Parse(json);
    ASSERT_TRUE(event.ok()) << event.status().message() << "\n" << json;
    const EventView view = event.value().view();
    EXPECT_TRUE(VerifySignature(view)) << json;
    EXPECT_GE(view.created_at(), (kDay - 30) * 86'400);
    EXPECT_LT(view.created_at(), kDay * 86'400);
    ++kinds[view.kind()];
    for (const char letter : {'e', 'p', 't'})
      if (view.FirstTag(letter).data() != nullptr) tags.insert(letter);
  }
  EXPECT_GE(kinds.size(), 6u);
  EXPECT_NEAR(kinds[1], 570, 80);
  EXPECT_EQ(tags.size(), 3u);
}

TEST(EventMaker, MeanIsThatOfTheFiguresToReach) {
  constexpr double kMeanBytes = 680;
  size_t bytes = 0;
  const std::vector<std::string> events = Made({.purpose = "ingest", .count = 10'000, .day = kDay});
  for (const std::string& json : events) bytes += json.size();
  EXPECT_NEAR(static_cast<double>(bytes) / static_cast<double>(events.size()), kMeanBytes, 0.03 * kMeanBytes);
}

TEST(EventMaker, SameRecipeSameEventsAndOtherPurposeOtherIds) {
  const auto made = Made({.purpose = "a", .count = 50, .day = kDay});
  EXPECT_EQ(made, Made({.purpose = "a", .count = 50, .day = kDay}));
  std::vector<std::string> all = made;
  for (const EventRecipe& other : {EventRecipe{.purpose = "b", .count = 50, .day = kDay},
                                   EventRecipe{.purpose = "a", .seed = 2, .count = 50, .day = kDay},
                                   EventRecipe{.purpose = "a", .count = 50, .day = kDay, .one_author = true}})
    for (std::string& json : Made(other)) all.push_back(std::move(json));
  const auto set = EventSet::FromLines(Lines(all));
  EXPECT_TRUE(set.ok()) << set.status().message();  // no id occurs twice
}

TEST(EventMaker, MakesNotesOfASingleAuthor) {
  std::set<std::string_view> authors, kinds;
  const EventSet set = SetOf({.purpose = "live", .count = 50, .day = kDay, .one_author = true});
  for (size_t i = 0; i < set.size(); ++i) {
    authors.insert(PlainField(set.json(i), "pubkey"));
    kinds.insert(PlainField(set.json(i), "kind"));
  }
  EXPECT_EQ(authors.size(), 1u);
  EXPECT_EQ(kinds, std::set<std::string_view>{"1"});
}

// Late events, large ones, and deletions by the authors of the deleted events.
TEST(EventMaker, ALivedInRelayGetsOddOnes) {
  const EventSet set = SetOf({.purpose = "lived-in", .count = 3000, .day = kDay, .lived_in = true});
  EventParser parser;
  size_t deletions = 0, late = 0, large = 0;
  uint64_t newest = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    const auto event = parser.Parse(std::string(set.json(i)));
    ASSERT_TRUE(event.ok()) << event.status().message();
    const EventView view = event.value().view();
    EXPECT_GE(view.created_at(), (kDay - 30) * 86'400);
    EXPECT_LT(view.created_at(), kDay * 86'400);
    late += view.created_at() + 86'400 < newest;
    newest = std::max(newest, view.created_at());
    large += set.json(i).size() > 5000;
    if (view.kind() != 5) continue;
    ++deletions;
    constexpr std::string_view kTag = "[\"e\",\"";
    const std::string_view json = set.json(i);
    const auto deleted = set.FindHex(json.substr(json.find(kTag) + kTag.size(), 64));
    ASSERT_TRUE(deleted && *deleted < i);
    EXPECT_EQ(PlainField(set.json(*deleted), "pubkey"), PlainField(json, "pubkey"));
  }
  EXPECT_NEAR(static_cast<double>(deletions), 90, 40);
  EXPECT_NEAR(static_cast<double>(late), 150, 100);
  EXPECT_GT(large, 10u);
}

TEST(EventSet, ASampleHasEveryNthLine) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const auto file = EventSet::MakeFile({.purpose = "sample", .count = 10, .day = kDay}, scratch.value()->path());
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto all = EventSet::Sample(file.value(), 1);
  const auto sample = EventSet::Sample(file.value(), 4);
  ASSERT_TRUE(all.ok() && sample.ok());
  ASSERT_EQ(all.value().size(), 10u);
  ASSERT_EQ(sample.value().size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sample.value().json(i), all.value().json(4 * i));
  EXPECT_FALSE(EventSet::Sample(scratch.value()->path() / "none", 1).ok());
}

TEST(EventSet, FindsEventsByTheirIds) {
  const EventSet set = SetOf({.purpose = "find", .count = 300, .day = kDay});
  for (size_t i = 0; i < set.size(); ++i) EXPECT_EQ(set.FindHex(set.id(i)), i);
  EXPECT_EQ(set.FindHex(std::string(64, '0')), std::nullopt);
  EXPECT_EQ(set.FindHex("no id"), std::nullopt);
}

TEST(EventSet, SecondRunReadsTheFileOfTheFirst) {
  auto scratch = TemporaryDirectory::Make(std::filesystem::temp_directory_path());
  ASSERT_TRUE(scratch.ok());
  const std::filesystem::path cache = scratch.value()->path() / "cache";
  const EventRecipe recipe{.purpose = "kept", .count = 20, .day = kDay};
  const auto first = EventSet::Get(recipe, cache);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EventRecipe next_day = recipe;
  next_day.day = kDay + 1;
  const auto second = EventSet::Get(next_day, cache);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(first.value().json(19), second.value().json(19));
  std::filesystem::resize_file(EventSet::FileOf(recipe, cache), 1000);
  const auto third = EventSet::Get(recipe, cache);
  ASSERT_TRUE(third.ok()) << third.status().message();
  EXPECT_EQ(third.value().size(), 20u) << "a file that is cut off is made again";
}

TEST(FrameLane, LanesShareTheEventsInTheirOrder) {
  const EventSet set = SetOf({.purpose = "lanes", .count = 7, .day = kDay});
  const std::vector<FrameLane> lanes = MakeLanes(set, 3);
  EXPECT_EQ(lanes[0].size(), 3u);
  EXPECT_EQ(lanes[2].size(), 2u);
  EXPECT_EQ(lanes[1].event(1), 4u);
  EXPECT_EQ(lanes[0].frames(0, 3).size(), lanes[0].frames(0, 1).size() + lanes[0].frames(1, 3).size());
  EXPECT_EQ(lanes[0].frames(0, 1).data() + lanes[0].frames(0, 1).size(), lanes[0].frames(1, 2).data());
  EXPECT_TRUE(lanes[0].frames(2, 2).empty());
}

TEST(Shapes, AllFiltersAreGood) {
  const EventSet set = SetOf({.purpose = "shapes", .count = 500, .day = kDay});
  const std::vector<ReqShape> shapes = ReqShapes(set, 5, 1);
  EXPECT_EQ(shapes.size(), 12u);
  for (const ReqShape& shape : shapes) {
    ASSERT_EQ(shape.filters.size(), 5u) << shape.name;
    for (const std::string& filter : shape.filters) {
      const auto parsed = ParseFilter(filter);
      EXPECT_TRUE(parsed.ok()) << shape.name << ": " << filter << ": " << parsed.status().message();
    }
  }
  EXPECT_EQ(InteractiveFilters(set, 5, 1).size(), 20u);
}

}  // namespace
}  // namespace weir
