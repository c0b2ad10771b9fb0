// weir scan on a real database: what a terminal gets.
#include "relay/commands/scan_command.h"

#include <gtest/gtest.h>

#include <string>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/rocksdb_store.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

TEST(ScanCommand, EscapesWhatIsUnsafeToShowAndPrintsTheSameEvent) {
  const TempDirectory directory;
  const std::string json = Signer(1).SignedEvent(1, 1, R"([["t","\u202e"]])", "\u009b2J\u202eno\x7f \u00e9\U0001F600");
  const Event event = EventParser().Parse(json).value();
  {
    const auto store = RocksDbStore::Open({.path = directory / "events", .memory_target_bytes = 256ull << 20});
    ASSERT_TRUE(store.ok()) << store.status().message();
    SaveResult result;
    ASSERT_TRUE(store.value()->Save({&event, 1}, 0, {&result, 1}).ok());
  }
  const Ran ran = CallCommand(ScanCommand, {"weir scan", "--data-dir", directory.path(), "{}"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string& line = ran.out;
  for (const char* unsafe : {"\u009b", "\u202e", "\x7f"}) EXPECT_FALSE(Has(line, unsafe)) << line;
  EXPECT_TRUE(Has(line, "\\u009b2J\\u202eno\\u007f \u00e9\U0001F600")) << line;
  ASSERT_TRUE(line.ends_with("\n"));
  const Result<Event> parsed = EventParser().Parse(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_TRUE(VerifySignature(parsed.value().view()));
  EXPECT_EQ(parsed.value().view().id(), event.view().id());
}

}  // namespace
}  // namespace weir
