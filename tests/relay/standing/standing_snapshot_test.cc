#include "relay/standing/standing_snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "relay/nostr/signature.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

std::map<PublicKey, AuthorRecord> Content(AuthorTable& table) {
  std::map<PublicKey, AuthorRecord> content;
  table.ForEach([&content](const PublicKey& author, const AuthorRecord& record) { content[author] = record; });
  return content;
}

class StandingSnapshotTest : public testing::Test {
 protected:
  // Returns the bytes of the snapshot of so many authors.
  std::string Write(uint32_t authors) {
    for (uint32_t i = 0; i < authors; ++i) {
      table_.Change(Sha256(std::to_string(i)), kNow, [i](AuthorRecord& record) {
        record = {.first_seen = i,
                  .last_seen = i + 1,
                  .accepted = i + 2,
                  .deleted = i + 3,
                  .active_days = 4,
                  .last_day = 5,
                  .reported = 6,
                  .follow_steps = 3,
                  .followers = 8,
                  .work_bits = 28,
                  .proved = i % 2 == 0};
      });
    }
    const Status status = WriteSnapshot(path_, table_);
    EXPECT_TRUE(status.ok()) << status.message();
    return TextOf(path_);
  }
  std::string ErrorOf(std::string_view bytes) {
    AuthorTable read(1'000'000);
    const Status status = ReadSnapshot(bytes, kNow, &read);
    EXPECT_TRUE(status.ok() || Content(read).empty()) << "a damaged file adds nothing";
    return status.message();
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "standing";
  AuthorTable table_{1'000'000};
};

TEST_F(StandingSnapshotTest, IsReadBackAsItWasWritten) {
  for (const uint32_t authors : {0U, 1U, 5'000U}) {
    const std::string bytes = Write(authors);
    AuthorTable read(1'000'000);
    const Status status = ReadSnapshot(bytes, kNow, &read);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(Content(read).size(), authors);
    EXPECT_EQ(Content(read), Content(table_));
  }
}

TEST_F(StandingSnapshotTest, AnyDamageIsRecognised) {
  const std::string bytes = Write(3);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(ErrorOf(bytes.substr(0, size)), "") << size;
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_NE(ErrorOf(damaged), "") << at;
  }
  EXPECT_EQ(ErrorOf(bytes.substr(0, bytes.size() - 1)), "is cut off");
  EXPECT_EQ(ErrorOf(bytes.substr(0, bytes.size() - 60)), "is damaged: its SHA-256 is wrong");
  EXPECT_TRUE(Has(ErrorOf("weir standing 2\n"), "this version of weir"));
}

TEST_F(StandingSnapshotTest, ASmallerTableKeepsThoseWhoStandHighest) {
  Write(5'000);
  table_.ForEach([](const PublicKey&, AuthorRecord& record) { record.follow_steps = 0; });
  table_.Change(Sha256("0"), kNow, [](AuthorRecord& record) { record.follow_steps = 1; });
  ASSERT_TRUE(WriteSnapshot(path_, table_).ok());
  AuthorTable small(640);
  ASSERT_TRUE(ReadSnapshot(TextOf(path_), kNow, &small).ok());
  EXPECT_LE(Content(small).size(), 640U);
  EXPECT_TRUE(small.Find(Sha256("0")));
}

TEST_F(StandingSnapshotTest, AFailureNamesTheFileAndLeavesTheFormer) {
  const std::string bytes = Write(3);
  std::filesystem::create_directory(path_ + ".new");
  std::filesystem::create_directory(path_ + ".new/inner");
  const Status status = WriteSnapshot(path_, table_);
  EXPECT_TRUE(Has(status.message(), "cannot write " + path_ + ": ")) << status.message();
  EXPECT_EQ(TextOf(path_), bytes);
}

}  // namespace
}  // namespace weir
