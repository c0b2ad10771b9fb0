// The holder of a directory, as others on the machine see it.
#include "relay/process/lock_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class LockFileTest : public testing::Test {
 protected:
  std::string file() const { return directory_ / LockFile::kName; }

  const TempDirectory directory_;
};

TEST_F(LockFileTest, AFileThatWasNotTakenHasNoHolder) {
  EXPECT_FALSE(HolderOf(directory_ / "missing").has_value());
  EXPECT_FALSE(HolderOf(directory_.path()).has_value());
  std::ofstream(file()) << "1 init\nhttp://127.0.0.1:1\n";
  EXPECT_FALSE(HolderOf(directory_.path()).has_value()) << "left by a process that was killed";
}

TEST_F(LockFileTest, TheHolderIsNamedWithItsAddressUntilItLetsGo) {
  {
    const auto lock = LockFile::Take(directory_.path(), "http://127.0.0.1:3334");
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    const auto holder = HolderOf(directory_.path());
    ASSERT_TRUE(holder.has_value());
    EXPECT_EQ(holder->process, getpid());
    EXPECT_EQ(holder->name.substr(0, 10), "store_test");
    EXPECT_EQ(holder->address, "http://127.0.0.1:3334");
    const auto second = LockFile::Take(directory_.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().message(), directory_.path() + " is in use by process " + std::to_string(getpid()) +
                                             " (" + holder->name + "); stop it, or name another directory");
  }
  EXPECT_FALSE(HolderOf(directory_.path()).has_value());
}

TEST_F(LockFileTest, AnAddressNeedNotBe) {
  const auto lock = LockFile::Take(directory_.path());
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(HolderOf(directory_.path())->address, "");
}

TEST_F(LockFileTest, DetailsMissingFromTheFileStayEmpty) {
  const auto lock = LockFile::Take(directory_.path(), "http://127.0.0.1:3334");
  ASSERT_TRUE(lock.ok());
  for (const char* text : {"", "\n", "nonsense", "-5 x", "99999999999999 x\n", "1.5"}) {
    std::ofstream(file()) << text;
    const auto holder = HolderOf(directory_.path());
    ASSERT_TRUE(holder.has_value()) << text;
    EXPECT_EQ(holder->process, 0) << text;
    EXPECT_EQ(holder->address, "") << text;
    EXPECT_TRUE(Has(LockFile::Take(directory_.path()).status().message(), "in use by another process"));
  }
}

TEST_F(LockFileTest, AStoreSaysWhereItsProgramAnswers) {
  StoreOptions options = SmallStore(directory_ / "events");
  options.address = "http://127.0.0.1:7777";
  const auto store = MustOpen(options);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(HolderOf(directory_ / "events")->address, options.address);
}

}  // namespace
}  // namespace weir
