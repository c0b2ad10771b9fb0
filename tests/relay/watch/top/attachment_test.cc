// Which relay is asked, and with which token.
#include "relay/watch/top/attachment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "relay/admin/admin.h"
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
  EXPECT_NE(found.status().message().find("no relay runs on"), std::string::npos);
  EXPECT_NE(found.status().message().find("--url"), std::string::npos);
}

TEST_F(AttachmentTest, ATokenFileIsReadAgainEachTime) {
  const AttachOptions options{.url = "http://127.0.0.1:3334", .token_file = Write("abc\n"), .admin_token = "def"};
  EXPECT_EQ(Find(options).value().token, "abc");
  Write("ghi");
  EXPECT_EQ(Find(options).value().token, "ghi");
  EXPECT_NE(Find(options).value().advice.find("token, which is read again"), std::string::npos);
}

TEST_F(AttachmentTest, DoesNotShowAMalformedToken) {
  for (const char* text : {"", "\n", "a\r\nX-Evil: 1", "a b", "a\x1b"}) {
    const Result<Attachment> found = Find({.url = "http://127.0.0.1:3334", .token_file = Write(text)});
    ASSERT_TRUE(found.ok()) << "a relay may ask for none";
    EXPECT_EQ(found.value().token, "") << text;
    EXPECT_NE(found.value().advice.find("holds no token"), std::string::npos);
  }
  EXPECT_NE(
      Find({.url = "http://127.0.0.1:3334", .token_file = directory_ / "none"}).value().advice.find("No such file"),
      std::string::npos);
}

TEST_F(AttachmentTest, ATokenGoesToOthersByHttpsAlone) {
  const AttachOptions options{.url = "http://relay.example", .admin_token = "def"};
  ASSERT_FALSE(Find(options).ok());
  EXPECT_NE(Find(options).status().message().find("overheard"), std::string::npos);
  EXPECT_EQ(Find({.url = "https://relay.example", .admin_token = "def"}).value().token, "def");
  EXPECT_EQ(Find({.url = "http://localhost:3334", .admin_token = "def"}).value().token, "def");
}

TEST_F(AttachmentTest, TheTokenOfADirectoryIsForItsRelayAlone) {
  ASSERT_TRUE(MakeAdminToken(directory_.path()).ok());
  const Result<Attachment> found = Find({.url = "https://relay.example"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.value().token, "");
  EXPECT_NE(found.value().advice.find("no relay runs on the data directory"), std::string::npos);
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

}  // namespace
}  // namespace weir
