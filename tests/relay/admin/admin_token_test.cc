// The file by which programs on this machine show that they are the operator's.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "relay/admin/admin.h"
#include "relay/process/lock_file.h"
#include "tests/fixtures/as_nobody.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class AdminTokenTest : public testing::Test {
 protected:
  void Write(const std::string& text) const { WriteText(path_, text); }

  const TempDirectory temp_directory_;
  const std::string& directory_ = temp_directory_.path();
  const std::string path_ = AdminTokenPath(directory_);
};

TEST_F(AdminTokenTest, IsNewEachTimeAndForItsOwnerAlone) {
  const mode_t before = umask(0);
  Write("an old one that all may read");
  fs::permissions(path_, fs::perms(0666));
  const Result<std::string> first = MakeAdminToken(directory_);
  umask(before);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first.value().size(), 64U);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0600));
  EXPECT_EQ(ReadAdminToken(directory_), first.value());
  const Result<std::string> second = MakeAdminToken(directory_);
  EXPECT_NE(second.value(), first.value());
  EXPECT_EQ(ReadAdminToken(directory_), second.value());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1) << "nothing else is left";
}

TEST_F(AdminTokenTest, IsNotWrittenThroughALink) {
  const std::string elsewhere = directory_ + "/elsewhere";
  fs::create_symlink(elsewhere, path_ + ".new");
  EXPECT_TRUE(MakeAdminToken(directory_).ok());
  EXPECT_FALSE(fs::exists(elsewhere));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path_)));
}

TEST_F(AdminTokenTest, IsRemovedByItsOwnRelayOnly) {
  const std::string mine = MakeAdminToken(directory_).value();
  const std::string successor = MakeAdminToken(directory_).value();
  RemoveAdminToken(directory_, mine);
  RemoveAdminToken(directory_, "");
  EXPECT_EQ(ReadAdminToken(directory_), successor);
  RemoveAdminToken(directory_, successor);
  EXPECT_FALSE(fs::exists(path_));
  RemoveAdminToken(directory_, successor);
}

TEST_F(AdminTokenTest, ReadsNoMalformedToken) {
  EXPECT_EQ(ReadAdminToken(directory_), "");
  const std::string good(64, 'a');
  for (const std::string& bad : {std::string(), std::string("\n"), good.substr(1), good + "a", good.substr(1) + "A\n",
                                 good.substr(1) + "\n\n"}) {
    Write(bad);
    EXPECT_EQ(ReadAdminToken(directory_), "") << bad;
  }
  Write(good);
  EXPECT_EQ(ReadAdminToken(directory_), good);
}

TEST_F(AdminTokenTest, SaysWhyThereIsNoToken) {
  EXPECT_EQ(FindAdminToken(directory_).status().message(), "cannot read " + path_ + ": No such file or directory");
  Write("short");
  EXPECT_TRUE(Has(FindAdminToken(directory_).status().message(), path_ + " holds no token"));
  fs::permissions(path_, fs::perms(0));
  EXPECT_EQ(AsNobody(directory_, [this] { return FindAdminToken(directory_).status().message(); }),
            "cannot read " + path_ + ": Permission denied; run this as the user of the relay, or as root");
}

// A token goes only to the relay that wrote it.
TEST_F(AdminTokenTest, IsForTheRelayThatHasTheDirectoryAlone) {
  const std::string mine = MakeAdminToken(directory_).value();
  const auto error = [&](const std::string& url) { return FindAdminTokenFor(url, directory_).status().message(); };
  EXPECT_TRUE(Has(error("http://127.0.0.1:3334"), "no relay runs on the data directory " + directory_));
  fs::create_directory(directory_ + "/events");
  const auto lock = LockFile::Take(directory_ + "/events", "http://127.0.0.1:3334");
  ASSERT_TRUE(lock.ok());
  for (const char* url :
       {"http://127.0.0.1:3334", "http://localhost:3334/", "http://[::1]:3334", "https://127.0.0.1:3334"})
    EXPECT_EQ(FindAdminTokenFor(url, directory_).value(), mine) << url;
  for (const char* url : {"http://127.0.0.1:3335", "http://127.0.0.1", "http://[::1]", "http://relay.example:3334", ""})
    EXPECT_TRUE(Has(error(url), "is at http://127.0.0.1:3334, not at")) << url;
}

TEST_F(AdminTokenTest, AnAddressWithoutAPortMeansTheUsualOneOfItsScheme) {
  ASSERT_TRUE(MakeAdminToken(directory_).ok());
  fs::create_directory(directory_ + "/events");
  struct Case {
    const char* relay;
    const char* same;
    const char* other;
  };
  for (const auto& [relay, same, other] : {Case{"https://127.0.0.1:443", "https://localhost", "http://localhost"},
                                           Case{"http://127.0.0.1:80", "http://[::1]/", "https://[::1]/"}}) {
    const auto lock = LockFile::Take(directory_ + "/events", relay);
    ASSERT_TRUE(lock.ok()) << relay;
    EXPECT_TRUE(FindAdminTokenFor(same, directory_).ok()) << same << " for " << relay;
    EXPECT_FALSE(FindAdminTokenFor(other, directory_).ok()) << other << " for " << relay;
  }
}

TEST_F(AdminTokenTest, SaysThatItCannotBeWritten) {
  const std::string nowhere = directory_ + "/nowhere";
  const Result<std::string> token = MakeAdminToken(nowhere);
  ASSERT_FALSE(token.ok());
  EXPECT_EQ(token.status().message(), "cannot write " + nowhere + "/admin.token: No such file or directory");
}

}  // namespace
}  // namespace weir
