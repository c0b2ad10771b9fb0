#include "bench/advise/log_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "bench/measure/own_memory.h"
#include "config/file_descriptor.h"
#include "tests/bench/advise/storm_log.h"

namespace weir {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }
  Descriptor read_end;
  Descriptor write_end;
};

std::vector<std::string> LinesThroughPipe(const std::string& text) {
  Pipe pipe;
  std::thread writer([&] {
    WriteAll(pipe.write_end.number(), text);
    pipe.write_end.Close();
  });
  std::vector<std::string> lines;
  LogReader reader(pipe.read_end.number());
  while (const auto line = reader.Next()) lines.emplace_back(*line);
  writer.join();
  EXPECT_EQ(reader.error(), 0);
  EXPECT_EQ(reader.bytes(), text.size());
  return lines;
}

TEST(LogReader, LeavesOutALastLineWithoutEnd) {
  EXPECT_EQ(LinesThroughPipe("one\ntwo\r\n\nthr"), (std::vector<std::string>{"one", "two", ""}));
  EXPECT_TRUE(LinesThroughPipe("").empty());
}

TEST(LogReader, CutsLongLines) {
  const std::string limit(LogReader::kLongestLine, 'x');
  for (const size_t more : {size_t{1}, size_t{3} << 20}) {
    const auto lines = LinesThroughPipe(limit + std::string(more, 'y') + "\nnext\n");
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0], limit);
    EXPECT_EQ(lines[1], "next");
  }
}

RC_GTEST_PROP(LogReaderProperty, GivesTheLinesOfAnyText, (const std::vector<std::pair<uint8_t, bool>>& parts)) {
  std::string text;
  std::vector<std::string> expected;
  for (const auto& [size, large] : parts) {
    expected.emplace_back(size_t{size} * (large ? 250 : 1), 'a');
    text += expected.back() + "\n";
  }
  RC_ASSERT(LinesThroughPipe(text) == expected);
}

TEST(LogReader, SaysWhyAReadFails) {
  const Descriptor directory(open("/", O_RDONLY | O_CLOEXEC));
  LogReader reader(directory.number());
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.error(), EISDIR);
}

// A LOG of many gigabytes in small: the figures come, and the memory does not grow with them.
TEST(LogReader, ALongLogTakesNoMoreMemoryThanAShortOne) {
  const std::string storm = StormLog(7).text();
  constexpr size_t kBytes = 64 << 20;
  Pipe pipe;
  std::thread writer([&] {
    for (size_t written = 0; written < kBytes; written += storm.size()) WriteAll(pipe.write_end.number(), storm);
    pipe.write_end.Close();
  });
  HistoryReader history;
  LogReader reader(pipe.read_end.number());
  size_t before = 0;
  while (const auto line = reader.Next()) {
    history.Add(*line);
    if (before == 0 && reader.bytes() > kBytes / 16) before = HeapBytes();
  }
  const size_t after = HeapBytes();
  writer.join();
  EXPECT_GE(reader.bytes(), kBytes);
  EXPECT_LT(after, before + (1 << 20));
  const DatabaseHistory happened = std::move(history).Finish();
  EXPECT_GT(happened.runs, 1000U);
  EXPECT_EQ(happened.families.size(), 1U);
}

}  // namespace
}  // namespace weir
