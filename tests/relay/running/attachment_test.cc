// Which relay is asked, and with which token.
#include "relay/running/attachment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "relay/admin/admin.h"
#include "relay/process/lock_file.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class AttachmentTest : public testing::Test {
 protected:
  AttachmentTest() { configuration_.data_dir = directory_.path(); }
  Result<Attachment> Find(const AttachOptions& options) const { return FindAttachment(configuration_, options); }
  std::string Write(const std::string& text) const {
    std::ofstream(directory_ / "token") << text;
    return directory_ / "token";
  }

  TempDirectory directory_;
  RelayConfiguration configuration_;
};

TEST_F(AttachmentTest, WithoutARelayItSaysHowToNameOne) {
  const Result<Attachment> found = Find({});
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(Has(found.status().message(), "no relay runs on"));
  EXPECT_TRUE(Has(found.status().message(), "--url"));
}

TEST_F(AttachmentTest, ATokenFileIsReadAgainEachTime) {
  const AttachOptions options{.url = "http://127.0.0.1:3334", .token_file = Write("abc\n"), .admin_token = "def"};
  EXPECT_EQ(Find(options).value().token, "abc");
  Write("ghi");
  EXPECT_EQ(Find(options).value().token, "ghi");
  EXPECT_TRUE(Has(Find(options).value().advice, "token, which is read again"));
}

TEST_F(AttachmentTest, DoesNotShowAMalformedToken) {
  for (const char* text : {"", "\n", "a\r\nX-Evil: 1", "a b", "a\x1b"}) {
    const Result<Attachment> found = Find({.url = "http://127.0.0.1:3334", .token_file = Write(text)});
    ASSERT_TRUE(found.ok()) << "a relay may ask for none";
    EXPECT_EQ(found.value().token, "") << text;
    EXPECT_TRUE(Has(found.value().advice, "holds no token"));
  }
  EXPECT_TRUE(
      Has(Find({.url = "http://127.0.0.1:3334", .token_file = directory_ / "none"}).value().advice, "No such file"));
}

TEST_F(AttachmentTest, ATokenGoesToOthersByHttpsAlone) {
  const AttachOptions options{.url = "http://relay.example", .admin_token = "def"};
  ASSERT_FALSE(Find(options).ok());
  EXPECT_TRUE(Has(Find(options).status().message(), "overheard"));
  EXPECT_EQ(Find({.url = "https://relay.example", .admin_token = "def"}).value().token, "def");
  EXPECT_EQ(Find({.url = "http://localhost:3334", .admin_token = "def"}).value().token, "def");
}

TEST_F(AttachmentTest, TheTokenOfADirectoryIsForItsRelayAlone) {
  ASSERT_TRUE(MakeAdminToken(directory_.path()).ok());
  const Result<Attachment> found = Find({.url = "https://relay.example"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().token, "");
  EXPECT_TRUE(Has(found.value().advice, "no relay runs on the data directory"));
}

TEST_F(AttachmentTest, OnAPostgresTheSettingsSayWhereItListens) {
  configuration_.storage.store = "postgres://localhost/weir";
  configuration_.server.port = 4711;
  const std::string token = MakeAdminToken(directory_.path()).value();
  const Result<Attachment> found = Find({});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found.value().url.Origin(), "http://127.0.0.1:4711");
  EXPECT_EQ(found.value().token, token);
}

TEST_F(AttachmentTest, KnowsWhetherARelayMayRun) {
  EXPECT_TRUE(NoRelayRuns(configuration_, {}));
  EXPECT_FALSE(NoRelayRuns(configuration_, {.url = "http://127.0.0.1:3334"})) << "it may run anywhere";
  std::filesystem::create_directories(directory_ / "events");
  {
    const Result<LockFile> held = LockFile::Take(directory_ / "events");
    ASSERT_TRUE(held.ok());
    EXPECT_FALSE(NoRelayRuns(configuration_, {})) << "another program has the database open";
    EXPECT_TRUE(Has(Find({}).status().message(), "which is no relay"));
  }
  EXPECT_TRUE(NoRelayRuns(configuration_, {}));
  configuration_.storage.store = "postgres://localhost/weir";
  EXPECT_FALSE(NoRelayRuns(configuration_, {})) << "it may run on another machine";
}

}  // namespace
}  // namespace weir
