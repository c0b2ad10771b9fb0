#include "config/command_line.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace weir {
namespace {

struct Parsed {
  std::optional<int> code;
  std::string out;
  std::string err;
};

Parsed ParseWords(CommandLine line, std::vector<std::string> words) {
  words.insert(words.begin(), "weir dig");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::ostringstream out, err;
  const std::optional<int> code = line.Parse(static_cast<int>(argv.size()), argv.data(), out, err);
  return {code, out.str(), err.str()};
}

class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    line_.Add("PLACE", &place_, "where");
    line_.Add("--depth", &depth_, "metres").Within(1, 100).ShowDefault();
    line_.Add("--tool", &tools_, "what with").OneOf({"spade", "hand"}).OneWordEach();
    line_.Add("--quiet", &quiet_, "say nothing");
    line_.Add("--loud", &loud_, "say all").Excludes("--quiet");
    line_.AddSetting("--port", "PORT", "instead of WEIR_PORT");
    line_.SetFooter("Holes stay.");
  }

  CommandLine line_{"weir dig", "Digs a hole."};
  std::string place_;
  int depth_ = 2;
  std::vector<std::string> tools_;
  bool quiet_ = false;
  bool loud_ = false;
};

TEST_F(CommandLineTest, StoresTheGivenValuesInTheVariables) {
  const Parsed outcome =
      ParseWords(line_, {"--depth=3", "--tool", "hand", "garden", "--tool", "spade", "--quiet", "--port", "80"});
  EXPECT_EQ(outcome.code, std::nullopt) << outcome.err;
  EXPECT_EQ(depth_, 3);
  EXPECT_EQ(place_, "garden");
  EXPECT_EQ(tools_, (std::vector<std::string>{"hand", "spade"}));
  EXPECT_TRUE(quiet_);
  ASSERT_EQ(line_.settings().size(), 1u);
  EXPECT_EQ(line_.settings()[0].flag, "--port");
  EXPECT_EQ(line_.settings()[0].setting, "PORT");
  EXPECT_EQ(line_.settings()[0].text, "80");
}

TEST_F(CommandLineTest, HelpTellsAllAndIsNoError) {
  const Parsed help = ParseWords(line_, {"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* part : {"Digs a hole.", "Usage: weir dig", "\n  PLACE  ", "--depth 1..100", "metres (default: 2)",
                           "--tool spade|hand", "say all; not with --quiet", "--port TEXT", "Holes stay."})
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
}

TEST_F(CommandLineTest, HelpKeepsTheLinesOfItsTexts) {
  const std::string examples =
      "Examples:\n  weir dig " + std::string(100, 'x') + "   a long hole\n  weir dig y   a short one";
  line_.SetFooter(examples);
  const Parsed help = ParseWords(line_, {"--help"});
  EXPECT_NE(help.out.find(examples), std::string::npos) << help.out;
}

TEST_F(CommandLineTest, WrongArgumentsAreReportedAndExitWith2) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--depth", "0"},
                                                {"--depth", "x"},
                                                {"--tool", "fork"},
                                                {"--none"},
                                                {"--quiet", "--loud"},
                                                {"--port", "1", "--port", "2"}}) {
    const Parsed outcome = ParseWords(line_, words);
    EXPECT_EQ(outcome.code, 2) << words.front();
    EXPECT_NE(outcome.err, "") << words.front();
  }
}

TEST_F(CommandLineTest, ChecksAllValuesTogether) {
  line_.Check([this] { return place_ == "house" ? Status::Error("PLACE: not there") : Status(); });
  EXPECT_EQ(ParseWords(line_, {"garden"}).code, std::nullopt);
  const Parsed outcome = ParseWords(line_, {"house"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "PLACE: not there\nRun with --help for more information.\n");
}

// A program with two subcommands.
class SubcommandTest : public testing::Test {
 protected:
  SubcommandTest() {
    line_.AddSubcommand("dig", "digs").Add("--depth", &depth_, "metres");
    line_.AddSubcommand("fill", "fills");
  }

  CommandLine line_{"weir", "Does this and that."};
  int depth_ = 0;
};

TEST_F(SubcommandTest, IsNeededAndNamed) {
  EXPECT_EQ(ParseWords(line_, {}).code, 2);
  EXPECT_EQ(line_.subcommand(), "");
  EXPECT_EQ(ParseWords(line_, {"dig", "--depth", "4"}).code, std::nullopt);
  EXPECT_EQ(line_.subcommand(), "dig");
  EXPECT_EQ(depth_, 4);
}

// Returns the choices that a shell is told, without their meanings.
std::string Choices(const CommandLine& line, std::vector<std::string> words) {
  words.insert(words.begin(), "--complete");
  std::istringstream lines(ParseWords(line, words).out);
  std::string all, choice;
  while (std::getline(lines, choice)) all += choice.substr(0, choice.find('\t')) + " ";
  return all;
}

TEST_F(CommandLineTest, ListsCompletionsForAShell) {
  EXPECT_EQ(Choices(line_, {""}), "/ ");
  EXPECT_EQ(Choices(line_, {"garden", ""}), "");
  EXPECT_EQ(Choices(line_, {"--"}), "--help --depth --tool --quiet --loud --port ");
  EXPECT_EQ(Choices(line_, {"--quiet", "--d"}), "--depth ");
  EXPECT_EQ(Choices(line_, {"--tool", ""}), "spade hand ");
  EXPECT_EQ(Choices(line_, {"--tool", "h"}), "hand ");
  EXPECT_EQ(Choices(line_, {"--tool=s"}), "--tool=spade ");
  EXPECT_EQ(Choices(line_, {"--tool", "=", "s"}), "spade ");
  EXPECT_EQ(Choices(line_, {"--depth", ""}), "");
  EXPECT_EQ(Choices(line_, {"--tool", "hand", ""}), "/ ");
}

TEST_F(SubcommandTest, IsListedForAShellWithItsFlags) {
  EXPECT_EQ(Choices(line_, {""}), "dig fill ");
  EXPECT_EQ(Choices(line_, {"f"}), "fill ");
  EXPECT_EQ(Choices(line_, {"dig", "--"}), "--help --depth ");
  EXPECT_EQ(Choices(line_, {"dig", ""}), "");
}

TEST(RunGuardedTest, ExceptionsAreReportedAndTheStatusIsOne) {
  const auto said = [](const std::function<int()>& run, int code) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(RunGuarded("weir dig", run), code);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said([] { return 2; }, 2), "");
  EXPECT_EQ(said([]() -> int { throw std::runtime_error("the spade broke"); }, 1), "weir dig: the spade broke\n");
  EXPECT_EQ(said([]() -> int { throw std::bad_alloc(); }, 1),
            "weir dig: there is not enough memory; allow more (ulimit -v, MemoryMax= of the unit)\n");
  const std::string no_thread = said([]() -> int { throw std::system_error(EAGAIN, std::generic_category()); }, 1);
  EXPECT_TRUE(no_thread.starts_with("weir dig: no further thread can be made: ")) << no_thread;
}

}  // namespace
}  // namespace weir
