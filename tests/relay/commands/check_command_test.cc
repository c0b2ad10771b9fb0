// weir check on real databases: what it prints and how it ends.
#include "relay/commands/check_command.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/rocksdb_store.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

class CheckCommandTest : public testing::Test {
 protected:
  // Makes a database with notes of these numbers, in this order.
  std::string MakeData(const std::string& name, const std::vector<uint64_t>& notes) {
    std::string data_dir = directory_ / name;
    const auto store = RocksDbStore::Open({.path = data_dir + "/events", .memory_target_bytes = 256ull << 20});
    EXPECT_TRUE(store.ok()) << store.status().message();
    std::vector<Event> events;
    for (const uint64_t note : notes)
      events.push_back(EventParser().Parse(Signer(1).SignedEvent(note, 1, "[]", "a note")).value());
    std::vector<SaveResult> results(events.size());
    EXPECT_TRUE(store.value()->Save(events, 0, results).ok());
    return data_dir;
  }

  static Ran Check(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "weir check");
    return CallCommand(CheckCommand, std::move(arguments));
  }

  const TempDirectory directory_;
};

TEST_F(CheckCommandTest, SaysThatNothingIsWrong) {
  const std::string data = MakeData("data", {1, 2, 3});
  const Ran ran = Check({"--data-dir", data, "--signatures"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "3 events, 12 index entries, 0 marks: nothing wrong\n");
}

TEST_F(CheckCommandTest, ComparesWithADataDirectoryOrADatabase) {
  const std::string data = MakeData("data", {1, 2, 3});
  const std::string other = MakeData("other", {3, 1, 2});
  for (const std::string& name : {other, other + "/events"}) {
    const Ran ran = Check({"--data-dir", data, "--compare", name});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.out, "3 events, 0 marks: the same in both\n");
  }
}

TEST_F(CheckCommandTest, SaysWhatDiffers) {
  const std::string data = MakeData("data", {1, 2, 3, 4});
  const std::string other = MakeData("other", {2, 5});
  const Ran ran = Check({"--data-dir", data, "--compare", other, "--examples", "1"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.out.starts_with("4 events, 0 marks: not the same\nevent only in the first: 3\n  ")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "  and 2 more\nevent only in the second: 1\n")) << ran.out;
}

TEST_F(CheckCommandTest, SaysWhyItCannotCompare) {
  const std::string data = MakeData("data", {1});
  const Ran missing = Check({"--data-dir", data, "--compare", directory_ / "missing"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(Has(missing.err, "there is no database in " + (directory_ / "missing"))) << missing.err;
  EXPECT_EQ(Check({"--data-dir", data, "--compare", data, "--signatures"}).code, 2) << "one or the other";
}

}  // namespace
}  // namespace weir
