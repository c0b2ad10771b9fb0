// weir top as a process: on a terminal, in a pipe, once.
#include "relay/watch/top/top_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/watch/top/live_relay.h"
#include "tests/relay/watch/top/pty_child.h"
#include "tests/relay/watch/top/scripted_server.h"
#include "tests/relay/watch/top/shown_lines.h"

namespace weir {
namespace {

const std::string kLeft = "\x1b[?25h\x1b[?1049l";

class TopCommandTest : public LiveRelayTest {
 protected:
  TopCommandTest() : LiveRelayTest("Quiet \x1b[2JHarbour") { UseUtf8(); }
  std::vector<std::string> Here() const { return {"--data-dir", directory_ / "data"}; }
  // Expects a screen of this size whose every line fits.
  static void ExpectFits(const PtyChild& top, size_t columns, size_t lines) {
    const std::vector<std::string> screen = top.Screen();
    EXPECT_EQ(screen.size(), lines);
    for (const std::string& line : screen) EXPECT_EQ(ColumnsOf(line), columns) << line;
  }
  static bool HasScreens(PtyChild& top, int count) {
    return top.ReadUntil([count](const std::string& written) {
      int screens = 0;
      for (size_t at = 0; (at = written.find("\x1b[H", at)) != written.npos; ++at) ++screens;
      return screens >= count;
    });
  }
};

TEST_F(TopCommandTest, DrawsOnATerminalFollowsItsSizeAndLeavesItAsItWas) {
  PtyChild top(Here(), 80, 24);
  ASSERT_TRUE(HasScreens(top, 2));
  EXPECT_TRUE(top.IsRaw());
  ExpectFits(top, 80, 24);
  EXPECT_TRUE(Has(top.Screen()[0], "Quiet ?[2JHarbour")) << "a name is text";
  EXPECT_TRUE(Has(top.written(), "\x1b[?1049h"));

  top.Forget();
  top.Resize(60, 15);
  ASSERT_TRUE(top.ReadUntilHas("\x1b[2J")) << "it is drawn anew";
  top.Forget();
  ASSERT_TRUE(HasScreens(top, 2));
  ExpectFits(top, 60, 15);

  top.Type("5");
  ASSERT_TRUE(top.ReadUntilHas("Controllers"));
  top.Type("?");
  ASSERT_TRUE(top.ReadUntilHas("PageDown"));
  top.Type("q");
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_TRUE(top.written().ends_with(kLeft)) << "and nothing after it";
  EXPECT_TRUE(top.IsRestored());
}

TEST_F(TopCommandTest, EverySignalThatEndsItRestoresTheTerminal) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    PtyChild top(Here(), 80, 24);
    ASSERT_TRUE(HasScreens(top, 1));
    top.Signal(signal);
    EXPECT_EQ(top.Wait(), 0) << signal;
    EXPECT_TRUE(top.written().ends_with(kLeft)) << signal;
    EXPECT_TRUE(top.IsRestored());
  }
}

TEST_F(TopCommandTest, EndsThoughTheTerminalTakesNothing) {
  PtyChild top(Here(), 80, 24);
  ASSERT_TRUE(HasScreens(top, 1));
  // Each key draws a screen. The program reads no key while it waits to write.
  ASSERT_TRUE(Eventually([&] {
    top.Type(std::string(256, '\t'));
    return !top.TakesKeys();
  }));
  top.Signal(SIGTERM);
  EXPECT_TRUE(top.EndsUnread());
  EXPECT_TRUE(top.IsRestored());
}

TEST_F(TopCommandTest, ControlCOfTheKeyboardEndsIt) {
  PtyChild top(Here(), 80, 24);
  ASSERT_TRUE(HasScreens(top, 1));
  top.Type("\x03");
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_TRUE(top.IsRestored());
}

TEST_F(TopCommandTest, ControlZDoesNotStopItWithoutAShellToResumeIt) {
  PtyChild top(Here(), 80, 24);
  ASSERT_TRUE(HasScreens(top, 1));
  top.Forget();
  top.Type("\x1a");
  ASSERT_TRUE(top.ReadUntilHas("\x1b[?1049h"));
  ASSERT_TRUE(HasScreens(top, 1));
  top.Type("q");
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_TRUE(top.IsRestored());
}

TEST_F(TopCommandTest, SaysThatTheRelayIsAwayAndGoesOnWhenItIsBack) {
  PtyChild top(Here(), 80, 24);
  ASSERT_TRUE(HasScreens(top, 1));
  Close();
  ASSERT_TRUE(top.ReadUntilHas("trying again"));
  Open();
  top.Forget();
  EXPECT_TRUE(top.ReadUntilHas("CALM")) << top.written();
}

TEST_F(TopCommandTest, WithoutColoursMoodsAreStillThere) {
  PtyChild top(Here(), 80, 24, {{"NO_COLOR", "1"}});
  ASSERT_TRUE(HasScreens(top, 1));
  ASSERT_TRUE(top.ReadUntilHas("CALM"));
  for (const char* colour : {"\x1b[0;3", "\x1b[0;4", "\x1b[0;9"}) EXPECT_FALSE(Has(top.written(), colour));
}

TEST_F(TopCommandTest, WithoutUtf8EveryByteIsAscii) {
  PtyChild top(Here(), 80, 24, {{"LC_ALL", "C"}});
  ASSERT_TRUE(HasScreens(top, 2));
  EXPECT_TRUE(std::ranges::all_of(top.written(), [](char c) { return c > 0; }));
}

TEST_F(TopCommandTest, ADumbTerminalGetsLines) {
  PtyChild top(Here(), 80, 24, {{"TERM", "dumb"}});
  ASSERT_TRUE(top.ReadUntilHas(" calm write "));
  top.Signal(SIGTERM);
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_FALSE(Has(top.written(), "\x1b"));
}

TEST_F(TopCommandTest, APipeGetsALineASecond) {
  WeirChild top("weir top", Here());
  ASSERT_TRUE(Eventually([&] { return std::ranges::count(top.out(), '\n') >= 3; }));
  top.Signal(SIGTERM);
  const Ran ran = top.Wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out.substr(0, 2), "20");
  EXPECT_TRUE(Has(ran.out, "Z calm write 0.")) << ran.out;
}

TEST_F(TopCommandTest, ASignalThatWasIgnoredBeforeStaysIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  WeirChild top("weir top", Here());
  ::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(Eventually([&] { return std::ranges::count(top.out(), '\n') >= 1; }));
  top.Signal(SIGHUP);
  const auto before = std::ranges::count(top.out(), '\n');
  EXPECT_TRUE(Eventually([&] { return std::ranges::count(top.out(), '\n') >= before + 2 || !top.runs(); }));
  EXPECT_TRUE(top.runs());
  top.Signal(SIGTERM);
  EXPECT_EQ(top.Wait().code, 0);
}

TEST_F(TopCommandTest, OncePrintsOneViewAndEnds) {
  std::vector<std::string> arguments = Here();
  arguments.insert(arguments.end(), {"--once", "--view", "engine"});
  const Ran ran = WeirChild("weir top", arguments, {{"LC_ALL", "C.UTF-8"}}).Wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "Controllers")) << ran.out;
  EXPECT_FALSE(Has(ran.out, "\x1b"));
}

TEST_F(TopCommandTest, ARefusalAtFirstEndsItWithTheReason) {
  WriteText(directory_ / "token", "wrong");
  const std::string url = "http://127.0.0.1:" + std::to_string(configuration_.server.port);
  const Ran refused = WeirChild("weir top", {"--url", url, "--token-file", directory_ / "token"}).Wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(Has(refused.err, "weir top: " + url + " answers 401")) << refused.err;
  EXPECT_TRUE(Has(refused.err, "admin.token"));
  const Ran known = WeirChild("weir top", {"--url", url, "--once"}, {{"WEIR_DATA_DIR", directory_ / "data"}}).Wait();
  EXPECT_EQ(known.code, 0) << "the token of the data directory is for its relay: " << known.err;
  const Ran nobody = WeirChild("weir top", {"--data-dir", directory_ / "none"}).Wait();
  EXPECT_EQ(nobody.code, 1);
  EXPECT_TRUE(Has(nobody.err, "no relay runs on"));
}

TEST_F(TopCommandTest, EscapesTextOfAServerInErrorsToo) {
  const ScriptedServer server([](const std::string&, const ScriptedServer::Send& send) {
    send(ScriptedServer::Whole("text/plain", "\u009b2J\x1b[2J\u202eno", "503 No"));
  });
  const Ran ran = WeirChild("weir top", {"--url", server.url()}, {{"LC_ALL", "C.UTF-8"}}).Wait();
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(Has(ran.err, "answers 503")) << ran.err;
  for (const char* sequence : {"\x1b", "\u009b", "\u202e"}) EXPECT_FALSE(Has(ran.err, sequence));
}

TEST_F(TopCommandTest, WrongFlagsEndItWithTwo) {
  EXPECT_EQ(WeirChild("weir top", {"--url", "ws://127.0.0.1"}).Wait().code, 2);
  EXPECT_EQ(WeirChild("weir top", {"--view", "tides"}).Wait().code, 2);
  EXPECT_EQ(WeirChild("weir top", {"--help"}).Wait().code, 0);
}

}  // namespace
}  // namespace weir
