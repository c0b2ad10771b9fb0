// Events of the public network, one a line: escapes, emoji, long tag lists, many kinds.
#include <gtest/gtest.h>

#include <fstream>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "tests/relay/nostr/reference_event.h"

namespace weir {
namespace {

TEST(RealEvents, AreTakenAsTheyAre) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/relay/nostr/data/real_events.jsonl");
  ASSERT_TRUE(file.is_open());
  EventParser parser;
  size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const Result<Event> event = parser.Parse(line);
    ASSERT_TRUE(event.ok()) << event.status().message() << "\n" << line;
    const EventView view = event.value().view();
    EXPECT_TRUE(VerifySignature(view)) << line;
    EXPECT_TRUE(EventView::WellFormed(view.record()));
    const auto reference = ReadReferenceEvent(line);
    ASSERT_TRUE(reference.has_value()) << line;
    EXPECT_EQ(view.json(), reference->minimal_json);
    EXPECT_EQ(ToHex(view.id()), reference->true_ids[0]);
  }
  EXPECT_EQ(count, 24U);
}

}  // namespace
}  // namespace weir
