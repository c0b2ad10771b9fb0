#include "relay/take_over.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "relay/process/lock_file.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

class TakeOverTest : public testing::Test {
 protected:
  // Starts a process that has the lock. SIGTERM ends it unless it is `stubborn`.
  pid_t Holder(bool stubborn) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);  // commands that another test ran may have set it
      auto lock = LockFile::Take(directory_);
      const char byte = lock.ok() ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      while (true) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
  }

  const TempDirectory temp_directory_;
  const std::string& directory_ = temp_directory_.path();
};

TEST_F(TakeOverTest, SucceedsIfNoProcessHoldsTheDirectory) {
  EXPECT_TRUE(AskHolderToGo(directory_ + "/missing", milliseconds(0)).ok());
  std::ofstream(directory_ + "/" + LockFile::kName) << "1 init\n";
  EXPECT_TRUE(AskHolderToGo(directory_, milliseconds(0)).ok()) << "the file is there, and nobody has it";
}

TEST_F(TakeOverTest, TheHolderIsAskedAndGoes) {
  const pid_t child = Holder(false);
  std::thread reaper([child] { waitpid(child, nullptr, 0); });
  const Status status = AskHolderToGo(directory_, milliseconds(5000));
  EXPECT_TRUE(status.ok()) << status.message();
  reaper.join();
  EXPECT_TRUE(LockFile::Take(directory_).ok());
}

TEST_F(TakeOverTest, AHolderThatStaysIsNamed) {
  const pid_t child = Holder(true);
  const Status status = AskHolderToGo(directory_, milliseconds(100));
  EXPECT_EQ(status.message(), directory_ + " is still in use by process " + std::to_string(child) +
                                  ", which was asked to stop; stop it by hand");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace weir
