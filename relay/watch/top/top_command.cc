#include "relay/watch/top/top_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "relay/running/attachment.h"
#include "relay/watch/top/feed_follower.h"
#include "relay/watch/top/plain_line.h"
#include "relay/watch/top/top_session.h"

namespace weir {
namespace {

struct TopFlags {
  AttachOptions attach;
  std::string view{kTopViewNames.front()};
  bool once = false;
};

void AddTo(CommandLine& line, TopFlags& flags) {
  AddTo(line, flags.attach);
  line.Add("--view", &flags.view, "what to show first")
      .OneOf({kTopViewNames.begin(), kTopViewNames.end()})
      .ShowDefault();
  line.Add("--once", &flags.once, "print one view as text, and end");
  line.SetFooter(
      "On a terminal it draws a screen each second; the last line lists the keys, and ? explains the figures. If the\n"
      "relay is restarted, weir top reconnects and reads the new token.\n"
      "\n"
      "Examples:\n"
      "  weir top\n"
      "  weir top --data-dir /var/lib/weir                the relay of the service, as root\n"
      "  ssh host cat /var/lib/weir/admin.token >token    a relay on another machine\n"
      "  weir top --url https://relay.example --token-file token\n"
      "  weir top --once --view imports\n"
      "  weir top | grep -v ' calm '                      one line a second, only while something is amiss\n"
      "\n"
      "Columns of the lines when standard output is not a terminal (- means no value):\n" +
      std::string(kPlainColumns) +
      "\n"
      "\n"
      "Exit status: 0 ended by the user or after --once, 1 the relay could not be reached at the start, or refused,\n"
      "or the output could not be written, 2 wrong flags or settings.");
}

Look LookOf(const TopFlags& flags) {
  const auto view = std::ranges::find(kTopViewNames, flags.view);
  return {.view = static_cast<TopView>(view - kTopViewNames.begin()), .charset = RawTerminal::CharsetOfLocale()};
}

Status PrintOnce(const FeedFollower& follower, Look look) {
  constexpr size_t kColumnsWithoutTerminal = 100;
  look.width = isatty(STDOUT_FILENO) == 1 ? RawTerminal::SizeNow().columns : kColumnsWithoutTerminal;
  for (const std::string& text : DrawWhole(follower.Now(), look, Clock::System().Now()).Lines())
    std::printf("%s\n", text.c_str());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return Status::Error(std::string("cannot write: ") + std::strerror(errno));
  return {};
}

int Run(const CommandLine& line, const TopFlags& flags, const RelayConfiguration& configuration) {
  TopSession* shown = nullptr;
  FeedFollower follower({.find = [&] { return FindAttachment(configuration, flags.attach); },
                         .on_change =
                             [&shown] {
                               if (shown != nullptr) shown->Wake();
                             }});
  const Look look = LookOf(flags);
  // Makes `words` safe to show, because it may quote a server.
  const auto complain = [&](const std::string& words) {
    return line.Fail(Status::Error(ShownText(words, look.charset)), 1);
  };
  if (const Status status = follower.Begin(); !status.ok()) return complain(status.message());
  if (flags.once) {
    const Status printed = PrintOnce(follower, look);
    return printed.ok() ? 0 : complain(printed.message());
  }
  TopSession session;
  shown = &session;
  follower.Start();
  const Status shown_to_end = RawTerminal::IsThere() ? session.ShowScreen(follower, look)
                                                     : session.PrintLines(follower, look.charset, complain);
  follower.Stop();
  return shown_to_end.ok() ? 0 : complain(shown_to_end.message());
}

}  // namespace

int TopCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Shows what a relay does and why, live, as the page at /live does: levels, setpoints and reasons, the\n"
      "clients that take most, imports, quotas, keys and endpoints.");
  TopFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) return line.Fail(Status::Error("standard output is closed"));
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &flags.attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  return Run(line, flags, configuration);
}

}  // namespace weir
