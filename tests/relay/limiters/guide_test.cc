// The sessions that GUIDE.md prints, with the files that it prints, do what it says.
#include <cstdio>
#include <regex>
#include <string>

#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

// The first block of that language in the section.
std::string Block(const std::string& guide, const std::string& title, const std::string& language) {
  const size_t section = guide.find("\n## " + title + "\n");
  const std::string fence = "```" + language + "\n";
  const size_t begin = guide.find(fence, section) + fence.size();
  return guide.substr(begin, guide.find("```", begin) - begin);
}

// Numbers of grants, and times that go on meanwhile, are as they come.
std::string Comparable(std::string text) {
  text = std::regex_replace(text, std::regex("[0-9a-f]{16}"), "ID");
  text = std::regex_replace(text, std::regex("durationUntilReset\":\"[0-9]+s"), "durationUntilReset\":\"TIME");
  return std::regex_replace(text, std::regex("try again in [^,]*,"), "try again in TIME,");
}

std::string Output(const std::string& script) {
  std::string output;
  FILE* pipe = popen(script.c_str(), "r");
  char piece[4096];
  for (size_t bytes = 0; (bytes = fread(piece, 1, sizeof piece, pipe)) > 0;) output.append(piece, bytes);
  pclose(pipe);
  return output;
}

// Of a section, with its file as what the flag names.
void RunsAsPrinted(const std::string& title, const std::string& flag, bool of_directory) {
  if (Output("command -v curl").empty()) GTEST_SKIP() << "there is no curl";
  const std::string guide = TextOf(WEIR_SOURCE_DIR "/relay/limiters/GUIDE.md");
  const ConfigDirectory directory;
  const std::string file = directory.Write("limits.yaml", Block(guide, title, "yaml"));
  GateChild child({"--port", "0", flag, of_directory ? directory.path() : file});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  const std::string session = Block(guide, title, "sh");
  std::string expected;
  for (size_t at = 0; at < session.size(); at = session.find('\n', at) + 1)
    if (session.compare(at, 2, "# ") == 0) expected += session.substr(at + 2, session.find('\n', at) - at - 1);
  ASSERT_FALSE(expected.empty());
  const std::string script =
      std::regex_replace(session, std::regex("localhost:3335"), "127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(Comparable(Output(script)), Comparable(expected));
}

TEST(Guide, LimitsByKeyWorkAsPrinted) { RunsAsPrinted("Limits by key", "--config", false); }

TEST(Guide, EnvoysRateLimitsWorkAsPrinted) { RunsAsPrinted("Envoy's rate limits", "--ratelimit-config", true); }

}  // namespace
}  // namespace weir
