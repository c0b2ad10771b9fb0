// The index that a filter is answered from.
#include "relay/store/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fixtures/plain_event.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

std::vector<PublicKey> Authors(int count) {
  std::vector<PublicKey> authors;
  for (int i = 0; i < count; ++i) authors.push_back(ToBytes(Author(i)));
  std::ranges::sort(authors);
  return authors;
}

// Returns "points ranges kind_ranges" and the letters of the keys.
std::string Shape(const Plan& plan) {
  std::string letters;
  for (const auto* keys : {&plan.points, &plan.ranges, &plan.kind_ranges})
    for (const Key& key : *keys)
      if (letters.find(key.view()[0]) == std::string::npos) letters.push_back(key.view()[0]);
  return std::to_string(plan.points.size()) + " " + std::to_string(plan.ranges.size()) + " " +
         std::to_string(plan.kind_ranges.size()) + " " + letters;
}

std::vector<std::string> Shapes(const Filter& filter, const PlanLimits& limits = {}) {
  std::vector<std::string> shapes;
  for (const PlanChoice& choice : PossiblePlans(filter, limits))
    shapes.push_back(Shape(MakePlan(filter, choice, limits)));
  return shapes;
}

using Strings = std::vector<std::string>;

TEST(Planner, EachShapeHasItsIndex) {
  EXPECT_EQ(Shapes({}), Strings{"0 1 0 c"});
  EXPECT_EQ(Shapes({.ids = {{ToBytes(Author(1)), ToBytes(Author(2))}}}), Strings{"2 0 0 i"});
  EXPECT_EQ(Shapes({.kinds = {{1, 6, 7}}}), Strings{"0 3 0 k"});
  EXPECT_EQ(Shapes({.authors = Authors(2)}), Strings{"0 0 2 a"});
  EXPECT_EQ(Shapes({.authors = Authors(2), .kinds = {{1, 6}}}), Strings{"0 4 0 a"});
  EXPECT_EQ(Shapes({.tags = {{'t', {"a", "b"}}}}), Strings{"0 0 2 t"});
  EXPECT_EQ(Shapes({.kinds = {{1, 6}}, .tags = {{'t', {"a"}}}}), Strings{"0 2 0 t"});
}

TEST(Planner, NewestVersionsAreLookedUp) {
  EXPECT_EQ(Shapes({.authors = Authors(3), .kinds = {{0, 3, 10002}}}), Strings{"9 0 0 d"});
  EXPECT_EQ(Shapes({.authors = Authors(3), .kinds = {{0, 1}}}), Strings{"3 3 0 da"});
  EXPECT_EQ(Shapes({.authors = Authors(1), .kinds = {{30023}}}), Strings{"0 1 0 a"});
  // Kept under its first d, an event answers to every d that it has.
  EXPECT_EQ(Shapes({.authors = Authors(1), .kinds = {{30023}}, .tags = {{'d', {"x", "y"}}}}).front(), "0 1 0 a");
}

TEST(Planner, AuthorsAndTagsAreBothPossible) {
  EXPECT_EQ(Shapes({.authors = Authors(1), .kinds = {{1}}, .tags = {{'e', {"x", "y"}}, {'p', {"z"}}}}),
            (Strings{"0 1 0 a", "0 1 0 t", "0 2 0 t"}));
}

TEST(Planner, TooManyRangesFallBack) {
  const PlanLimits limits{.max_ranges = 10, .max_points = 20};
  const Filter filter{.authors = Authors(11), .kinds = {{1, 2}}};
  EXPECT_EQ(Shapes(filter, limits), Strings{"0 2 0 k"});
  EXPECT_EQ(MakePlan(filter, PossiblePlans(filter, limits)[0], limits).by.size(), 11U);
  std::vector<uint16_t> kinds;
  for (uint16_t kind = 1000; kind < 1100; ++kind) kinds.push_back(kind);
  const Filter many{.authors = Authors(11), .kinds = kinds};
  EXPECT_EQ(Shapes(many, limits), Strings{"0 1 0 c"});
  EXPECT_EQ(MakePlan(many, PossiblePlans(many, limits)[0], limits).kinds, kinds);
  EXPECT_EQ(Shapes({.authors = Authors(11), .tags = {{'t', {"a"}}}}, limits), Strings{"0 0 1 t"});
}

TEST(Planner, AFilterThatMatchesNoEventHasNoPlan) {
  EXPECT_TRUE(PossiblePlans({.ids = std::vector<EventId>()}).empty());
  EXPECT_TRUE(PossiblePlans({.since = 2, .until = 1}).empty());
}

// Authors with more kinds each than ranges may be had are answered from all entries instead, with the same outcome.
TEST(Planner, TooManyKindsFallBack) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 3000; ++i) events.push_back(Plain(Author(1), i, static_cast<uint16_t>(1000 + i)));
  for (uint64_t i = 0; i < 10; ++i) events.push_back(Plain(Author(2), 5000 + i, 1, {}, std::to_string(i)));
  SaveAll(*store, events);
  const auto query = store->Find({Filter{.authors = {{ToBytes(Author(1))}}, .limit = 50}}, {});
  const std::vector<std::string> ids = Drain(*query);
  ASSERT_EQ(ids.size(), 50U);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], events[2999 - i].id);
  EXPECT_FALSE(query->complete());
}

}  // namespace
}  // namespace weir
