// Requests to vanish (NIP-62) that take more than one write.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/store/plain_event.h"
#include "tests/store/store_fixture.h"

namespace weir {
namespace {

// More than one piece of removal, and the request stays.
TEST(Vanishing, ALargeAuthorVanishes) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (uint64_t i = 0; i < 2000; ++i) events.push_back(Plain(Author(1), i, 1, {{"t", "a"}}));
  events.push_back(Plain(Author(1), 5000, 1));
  events.push_back(Plain(Author(2), 10, 1059, {{"p", Author(1)}}));
  events.push_back(Plain(Author(2), 10, 1, {{"p", Author(1)}}));
  SaveAll(*store, events);
  const PlainEvent request = Plain(Author(1), 4000, 62, {{"relay", "ALL_RELAYS"}});
  EXPECT_EQ(SaveAll(*store, {request, events[0]}), (std::vector{SaveOutcome::kSaved, SaveOutcome::kVanished}));
  EXPECT_EQ(StoredIds(*store), (std::vector<std::string>{events[2000].id, events[2002].id, request.id}));
  EXPECT_EQ(store->Sizes().events, 3U);
  EXPECT_EQ(SaveAll(*store, {events[1], request, events[2001]}),
            (std::vector{SaveOutcome::kVanished, SaveOutcome::kDuplicate, SaveOutcome::kVanished}));
}

}  // namespace
}  // namespace weir
