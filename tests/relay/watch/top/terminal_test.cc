// Output of weir top that can be written, and output that cannot.
#include "relay/watch/top/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

namespace weir {
namespace {

// Writes to a descriptor as if it were standard output, and closes it.
Result<Written> WriteTo(int output) {
  const int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  dup2(output, STDOUT_FILENO);
  close(output);
  Result<Written> written = WriteOut("a line\n", -1);
  dup2(before, STDOUT_FILENO);
  close(before);
  return written;
}

TEST(WriteOut, FailsOnAFullDiskButNotIfItsReaderHasGone) {
  ASSERT_EQ(WriteTo(open("/dev/null", O_WRONLY | O_CLOEXEC)).value(), Written::kAll);
  const Result<Written> full = WriteTo(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.status().message(), "cannot write: No space left on device");

  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  close(pipe_ends[0]);
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(WriteTo(pipe_ends[1]).value(), Written::kNobodyReads);
}

}  // namespace
}  // namespace weir
