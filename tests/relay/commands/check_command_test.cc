// weir check on real databases: what it prints and how it ends.
#include "relay/commands/check_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

class CheckCommandTest : public testing::Test {
 protected:
  CheckCommandTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-check-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~CheckCommandTest() override { std::filesystem::remove_all(directory_); }

  // Makes a database with notes of these numbers, in this order.
  std::string MakeData(const std::string& name, const std::vector<uint64_t>& notes) {
    std::string data_dir = directory_ + "/" + name;
    const auto store = RocksDbStore::Open({.path = data_dir + "/events", .memory_target_bytes = 256ull << 20});
    EXPECT_TRUE(store.ok()) << store.status().message();
    std::vector<Event> events;
    for (const uint64_t note : notes)
      events.push_back(EventParser().Parse(Signer(1).SignedEvent(note, 1, "[]", "a note")).value());
    std::vector<SaveResult> results(events.size());
    EXPECT_TRUE(store.value()->Save(events, 0, results).ok());
    return data_dir;
  }

  struct Ended {
    int code;
    std::string out;
    std::string err;
  };
  static Ended Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "weir check");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = CheckCommand(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  std::string directory_;
};

TEST_F(CheckCommandTest, SaysThatNothingIsWrong) {
  const std::string data = MakeData("data", {1, 2, 3});
  const Ended ended = Run({"--data-dir", data, "--signatures"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "3 events, 12 index entries, 0 marks: nothing wrong\n");
}

TEST_F(CheckCommandTest, ComparesWithADataDirectoryOrADatabase) {
  const std::string data = MakeData("data", {1, 2, 3});
  const std::string other = MakeData("other", {3, 1, 2});
  for (const std::string& name : {other, other + "/events"}) {
    const Ended ended = Run({"--data-dir", data, "--compare", name});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.out, "3 events, 0 marks: the same in both\n");
  }
}

TEST_F(CheckCommandTest, SaysWhatDiffers) {
  const std::string data = MakeData("data", {1, 2, 3, 4});
  const std::string other = MakeData("other", {2, 5});
  const Ended ended = Run({"--data-dir", data, "--compare", other, "--examples", "1"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(ended.out.starts_with("4 events, 0 marks: not the same\nevent only in the first: 3\n  ")) << ended.out;
  EXPECT_NE(ended.out.find("  and 2 more\nevent only in the second: 1\n"), std::string::npos) << ended.out;
}

TEST_F(CheckCommandTest, SaysWhyItCannotCompare) {
  const std::string data = MakeData("data", {1});
  const Ended missing = Run({"--data-dir", data, "--compare", directory_ + "/missing"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_NE(missing.err.find("there is no database in " + directory_ + "/missing"), std::string::npos) << missing.err;
  EXPECT_EQ(Run({"--data-dir", data, "--compare", data, "--signatures"}).code, 2) << "one or the other";
}

}  // namespace
}  // namespace weir
