#include "relay/process/logging.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <utility>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

class Logging : public testing::Test {
 protected:
  ~Logging() override { spdlog::set_default_logger(before_); }

  static std::string Logged(LogLevel level, LogFormat format, const std::string& message) {
    testing::internal::CaptureStderr();
    SetUpLogging(level, format);
    spdlog::debug("{}", message);
    spdlog::warn("{}", message);
    StopLogging();
    return testing::internal::GetCapturedStderr();
  }

 private:
  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
};

TEST_F(Logging, TextIsALineWithTimeAndLevel) {
  const std::string text = Logged(LogLevel::kInfo, LogFormat::kText, "hello");
  EXPECT_TRUE(std::regex_match(text, std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} warning hello\n)"))) << text;
}

TEST_F(Logging, JsonIsAnObjectALine) {
  const std::string text = Logged(LogLevel::kInfo, LogFormat::kJson, "a \"quoted\"\nline");
  EXPECT_TRUE(std::regex_match(text, std::regex(R"(\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"warn",)"
                                                R"("message":"a \\"quoted\\"\\nline"\}\n)")))
      << text;
}

TEST_F(Logging, StopWritesWhatWaits) {
  testing::internal::CaptureStderr();
  SetUpLogging(LogLevel::kInfo, LogFormat::kText);
  for (int i = 0; i < 1000; ++i) spdlog::info("line {}", i);
  StopLogging();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1000);
  EXPECT_TRUE(text.ends_with("line 999\n")) << text.substr(text.size() - 200);
}

TEST_F(Logging, LogsRequestedTextAtAnyLevel) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    testing::internal::CaptureStderr();
    SetUpLogging(level, LogFormat::kText);
    LogAsked("a page");
    StopLogging();
    EXPECT_TRUE(testing::internal::GetCapturedStderr().ends_with(" a page\n")) << static_cast<int>(level);
  }
}

TEST_F(Logging, LevelDecides) {
  EXPECT_TRUE(Has(Logged(LogLevel::kDebug, LogFormat::kJson, "x"), "\"level\":\"debug\""));
  EXPECT_EQ(Logged(LogLevel::kError, LogFormat::kJson, "x"), "");
}

// More lines than the pipe and the queue hold: a logger that waits for its reader would hold up the program for ever.
TEST_F(Logging, AReaderThatTakesNothingDoesNotBlockTheProgram) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int standard_error = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  SetUpLogging(LogLevel::kInfo, LogFormat::kText);
  for (int i = 0; i < 20'000; ++i) spdlog::info("line {}", i);
  std::string text;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t bytes; (bytes = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, bytes);
  });
  StopLogging();
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  reader.join();
  close(ends[0]);
  EXPECT_TRUE(text.ends_with("line 19999\n")) << "the newest are kept";
}

}  // namespace
}  // namespace weir
