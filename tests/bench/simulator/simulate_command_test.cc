#include "bench/simulator/simulate_command.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weir {
namespace {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

Ran RunCommand(std::vector<std::string> flags, const Environment& environment = {}, const Terminal& terminal = {}) {
  flags.insert(flags.begin(), "weir simulate");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  std::ostringstream out;
  std::ostringstream err;
  const int code = SimulateCommand(static_cast<int>(argv.size()), argv.data(), environment, terminal, out, err);
  return {code, out.str(), err.str()};
}

TEST(SimulateCommand, DrawsTheResponse) {
  const Ran ran = RunCommand({"--scenario", "step"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("level (highest signal); - setpoint"), std::string::npos);
  EXPECT_NE(ran.out.find("overshoot_percent"), std::string::npos);
  EXPECT_EQ(ran.out.find('\033'), std::string::npos) << "no colour where nobody sees it";
  for (const char c : ran.out) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(SimulateCommand, KeepsToTheWidthOfTheTerminal) {
  const Ran ran = RunCommand({}, {}, {.width = 60});
  std::istringstream lines(ran.out.substr(ran.out.find("level")));
  for (std::string line; std::getline(lines, line) && !line.empty();) EXPECT_LE(line.size(), 60u) << line;
}

TEST(SimulateCommand, DrawsBrailleAndColourIfTheyAreWanted) {
  const Ran ran = RunCommand({}, {}, {.width = 100, .unicode = true, .colour = true});
  EXPECT_NE(ran.out.find("⡇"), std::string::npos);
  EXPECT_NE(ran.out.find("╌"), std::string::npos);
  EXPECT_NE(ran.out.find("\033[33m"), std::string::npos);
}

TEST(SimulateCommand, ListsScenariosGeometriesAndLaws) {
  const Ran ran = RunCommand({"--list"});
  EXPECT_EQ(ran.code, 0);
  for (const char* name : {"step", "thousand-writers", "recipe-x4", "spring"}) {
    EXPECT_NE(ran.out.find(name), std::string::npos) << name;
  }
}

TEST(SimulateCommand, CsvHasALineATick) {
  const Ran ran = RunCommand({"--csv", "--seconds", "10"});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 102) << "a header, and both ends of ten seconds";
  EXPECT_EQ(ran.out.rfind("time_s,level,setpoint,open,limit_bytes_per_second", 0), 0u);
}

TEST(SimulateCommand, JsonHasTheFiguresOfBothThatAreCompared) {
  const Ran one = RunCommand({"--json", "--seconds", "20"});
  EXPECT_EQ(one.out.front(), '{');
  EXPECT_NE(one.out.find("\"settling_seconds\": null"), std::string::npos) << "nothing happened yet";
  const Ran two = RunCommand({"--json", "--scenario", "memory-low-l0-high", "--seconds", "20"});
  EXPECT_EQ(two.out.front(), '[');
  EXPECT_NE(two.out.find("\"scenario\": \"memory-low-l0-high-weighted\""), std::string::npos);
}

TEST(SimulateCommand, AllLawsSideBySide) {
  const Ran ran = RunCommand({"--law", "all", "--seconds", "20"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("weir         none         plan           pd       spring"), std::string::npos);
}

TEST(SimulateCommand, PrintsTheTablesOfTheReadmes) {
  const Ran ran = RunCommand({"--table", "tuning"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("| KP | 0.5 (default) |"), std::string::npos) << ran.out;
}

TEST(SimulateCommand, RunsWithTheGainsOfTheEnvironment) {
  const std::vector<std::string> flags = {"--csv", "--seconds", "60"};
  const Ran usual = RunCommand(flags);
  EXPECT_EQ(usual.out, RunCommand(flags, {{"WEIR_IMPORT_WRITE_KP", "0.5"}}).out);
  EXPECT_NE(usual.out, RunCommand(flags, {{"ORLY_IMPORT_WRITE_KI", "0.9"}}).out);
  EXPECT_NE(usual.out, RunCommand(flags, {{"WEIR_RATE_LIMIT_WRITE_KP", "2"}}).out);
}

TEST(SimulateCommand, RefusesWrongArgumentsAndSettings) {
  EXPECT_EQ(RunCommand({"--scenario", "no such"}).code, 2);
  EXPECT_EQ(RunCommand({"--law", "all", "--csv"}).code, 2);
  EXPECT_EQ(RunCommand({"--json", "--csv"}).code, 2);
  EXPECT_EQ(RunCommand({"--seconds", "-1"}).code, 2);
  const Ran ran = RunCommand({}, {{"WEIR_IMPORT_SETPOINT", "70"}});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("WEIR_IMPORT_SETPOINT=70"), std::string::npos) << ran.err;
  const Ran check = RunCommand({}, {{"WEIR_RATE_LIMIT_RECOVERY", "2"}});
  EXPECT_EQ(check.code, 2);
  EXPECT_NE(check.err.find("RATE_LIMIT_RECOVERY"), std::string::npos);
}

}  // namespace
}  // namespace weir
