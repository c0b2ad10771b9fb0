#include "import/links/stream_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "import/links/link_order.h"
#include "import/links/link_state.h"
#include "relay/commands/interrupt.h"
#include "relay/commands/progress_line.h"
#include "relay/commands/reading_command.h"
#include "relay/running/running_relay.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kRenewEvery{1};
constexpr int kNoStream = 1;

struct StreamFlags {
  AttachOptions attach;
  LinkOrder order;
  std::string direction = "both";
  std::vector<std::string> filters;
  std::string catch_up = "all";
  std::string summary = "text";
  bool quiet = false;
};

void AddTo(CommandLine& line, StreamFlags& flags) {
  line.Add("URL", &flags.order.url, "the other relay, such as wss://relay.example").Required();
  line.Add("--dir", &flags.direction, "down: get its new events; up: send those of this relay; both")
      .OneOf({"both", "up", "down"})
      .ShowDefault();
  line.Add("--filter", &flags.filters, "only events that match this filter of NIP-01; more than once: any of them")
      .OneWordEach();
  line.Add("--catch-up", &flags.catch_up,
           "what is compared after each connection: all, none, or events up to this age, such as 7d")
      .ShowDefault()
      .Check("WHAT", [](const std::string& text) {
        const Result<std::optional<uint64_t>> age = ParseCatchUp(text);
        return age.ok() ? Status() : Status::Error(Printable(text) + " is " + age.status().message());
      });
  line.Add("--ca", &flags.order.ca_file, "a file of certificates to trust, instead of the system's");
  line.Add("--summary", &flags.summary, "form of the summary printed at the end").OneOf({"text", "json"}).ShowDefault();
  line.Add("--quiet", &flags.quiet, "no progress");
  AddTo(line, flags.attach);
  line.SetFooter(
      "The relay that runs on the data directory opens the link, and keeps it until Ctrl-C. After each connection the\n"
      "two relays compare their events, as `weir sync` does, so that none is missing; new events go over as they "
      "come.\n"
      "If the connection breaks, the relay connects again. Events that come are verified and saved as bulk work, and\n"
      "subscribers of this relay get those that are not older than a day. Ephemeral events do not go over; private "
      "ones\n"
      "(direct messages, gift wraps) are sent only if --filter names their kinds. For links that last, name the "
      "relays\n"
      "in weir.yaml, under router:.\n"
      "\n"
      "Examples:\n"
      "  weir stream wss://relay.example --dir down\n"
      "  weir stream wss://relay.example --filter '{\"kinds\":[0,1,3]}' --catch-up 1d\n"
      "\n"
      "--summary=json prints one object on one line: url, dir, state, for_s, trouble (why the last connection ended),\n"
      "connections, received, saved (the received events by their outcome, as in weir import), rejected (by reason),\n"
      "unasked (they match no filter), missing (announced there and not given), accepted (there), refused (there, by\n"
      "reason), withheld (private), bytes_sent, bytes_received.\n"
      "Exit status: 0 stopped by Ctrl-C; 1 no relay runs, or it opens no link; 2 wrong flags or settings.");
}

std::string ProgressText(const LinkFigures& figures) {
  std::string text = fmt::format("{}  down {} ({} new)  up {}", figures.phase, ShortNumber(figures.received),
                                 ShortNumber(figures.imported), ShortNumber(figures.accepted));
  if (figures.rejected > 0) text += fmt::format("  rejected {}", ShortNumber(figures.rejected));
  if (figures.refused > 0) text += fmt::format("  refused there {}", ShortNumber(figures.refused));
  return figures.trouble.empty() ? text : text + "  " + Printable(figures.trouble);
}

std::string SummaryText(const LinkFigures& figures) {
  return fmt::format("down: {} events came, {} were new, {} rejected\nup: {} events accepted, {} refused\n",
                     figures.received, figures.imported, figures.rejected, figures.accepted, figures.refused);
}

// The link in the relay that runs, which is another process after a restart.
class OpenedLink {
 public:
  OpenedLink(const RelayConfiguration& configuration, const StreamFlags& flags, RunningRelay relay)
      : configuration_(configuration), flags_(flags), relay_(std::move(relay)) {}

  Status Open() {
    const std::string filters = flags_.filters.empty() ? "[{}]" : "[" + Join(flags_.filters, ",") + "]";
    const Result<ManagementAnswer> answer =
        relay_.Call("openlink", {QuotedJson(flags_.order.url), QuotedJson(flags_.direction), filters,
                                 QuotedJson(flags_.catch_up), QuotedJson(flags_.order.ca_file)});
    if (answer.ok()) id_ = answer.value().result;
    return answer.status();
  }
  // Renews the link, and returns its state as JSON. If the relay does not know it any more, opens it again, and returns
  // an error.
  Result<std::string> Renew() {
    const Result<ManagementAnswer> answer = relay_.Call("renewlink", {id_});
    if (answer.ok()) return answer.value().result;
    if (answer.status().message().starts_with(kNoLink)) {
      if (Status opened = Open(); !opened.ok()) return opened;
    } else if (Result<RunningRelay> found = RunningRelay::Find(configuration_, flags_.attach); found.ok()) {
      relay_ = std::move(found).value();  // with the token of the new process
    }
    return answer.status();
  }
  void Close() { (void)relay_.Call("closelink", {id_}).ok(); }

 private:
  const RelayConfiguration& configuration_;
  const StreamFlags& flags_;
  RunningRelay relay_;
  std::string id_;
};

// Keeps the link open until Ctrl-C. Returns its last state as JSON; empty if none was seen.
std::string Keep(OpenedLink& link, bool quiet, Interrupt& interrupt) {
  std::string state;
  for (bool is_over = false; !is_over;) {
    is_over = interrupt.CameWithin(kRenewEvery);
    const Result<std::string> seen = link.Renew();
    if (seen.ok()) state = seen.value();
    const Result<LinkFigures> figures = ReadFigures(state);
    if (quiet || is_over || (seen.ok() && !figures.ok())) continue;
    ShowProgress(seen.ok() ? ProgressText(figures.value()) : "waits for the relay: " + seen.status().message());
  }
  link.Close();
  ShowProgress("");
  return state;
}

int Stream(const CommandLine& line, const StreamFlags& flags, OpenedLink& link, Interrupt& interrupt) {
  if (const Status opened = link.Open(); !opened.ok()) return line.Fail(opened, kNoStream);
  const std::string state = Keep(link, flags.quiet, interrupt);
  const Result<LinkFigures> figures = ReadFigures(state);
  if (!figures.ok()) return 0;
  return line.Print(flags.summary == "json" ? state + "\n" : SummaryText(figures.value()), 0, kNoStream);
}

}  // namespace

int StreamCommand(int argc, char** argv) {
  CommandLine line(argv[0], "Passes new events on between the relay that runs and another relay, until Ctrl-C.");
  StreamFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  Result<std::vector<Filter>> filters = ParseFilters(flags.filters);
  if (!filters.ok()) return line.Fail(filters.status());
  if (!filters.value().empty()) flags.order.filters = std::move(filters).value();
  flags.order.direction = SyncDirectionNamed(flags.direction).value();
  // The relay may have another working directory.
  if (!flags.order.ca_file.empty()) flags.order.ca_file = std::filesystem::absolute(flags.order.ca_file);
  if (const Status checked = Check(flags.order); !checked.ok()) return line.Fail(checked);
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &flags.attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  Interrupt interrupt(configuration.log_format);  // before any other thread
  Result<RunningRelay> relay = RunningRelay::Find(configuration, flags.attach);
  if (!relay.ok()) return line.Fail(relay.status(), kNoStream);
  OpenedLink link(configuration, flags, std::move(relay).value());
  return Stream(line, flags, link, interrupt);
}

}  // namespace weir
