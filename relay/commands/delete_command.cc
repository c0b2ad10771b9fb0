#include "relay/commands/delete_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "config/text/time_span.h"
#include "relay/commands/interrupt.h"
#include "relay/commands/progress_line.h"
#include "relay/commands/reading_command.h"
#include "relay/commands/removal_client.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kLookEvery{300};
// The time after Ctrl-C for which the command waits for the end of the removal. The relay ends it within the next
// slice, unless the gate holds back bulk work.
constexpr std::chrono::seconds kPatienceWithEnd{10};
constexpr int kFailed = 1;

struct DeleteFlags {
  AttachOptions attach;
  std::vector<std::string> filters;
  std::string age;
  bool dry_run = false;
  bool yes = false;
  bool all = false;
  bool json = false;
};

void ShowState(const RemovalState& state) {
  ShowProgress(state.phase == RemovalState::Phase::kCounting
                   ? fmt::format("counting: {} events match", state.matched)
                   : fmt::format("removing: {} of {} events", state.removed, state.matched));
}

// Follows a removal until it is over. After Ctrl-C it cancels the removal first. An error says how many events were
// removed when it was last seen.
Result<RemovalState> Follow(RemovalClient& client, RemovalState state, Interrupt& interrupt) {
  std::optional<TimePoint> cancelled;
  while (state.goes_on()) {
    ShowState(state);
    if (!cancelled && interrupt.CameWithin(kLookEvery)) {
      client.Cancel(state.id);
      cancelled = Clock::System().Now();
    }
    if (cancelled) std::this_thread::sleep_for(kLookEvery);
    Result<RemovalState> next = client.Look(state.id);
    const bool too_late = cancelled && Clock::System().Now() - *cancelled > kPatienceWithEnd;
    if (next.ok() && !(too_late && next.value().goes_on())) {
      state = std::move(next).value();
      continue;
    }
    const std::string why =
        next.ok() ? "the removal is cancelled, and ends when the relay can write again" : next.status().message();
    return Status::Error(fmt::format("{}; {} of {} events were removed by then; the same command goes on", why,
                                     state.removed, state.matched));
  }
  return state;
}

// Asks on the terminal. Returns false also if the input ends, or after Ctrl-C.
bool Confirm(uint64_t matched, Interrupt& interrupt) {
  std::fprintf(stderr, "%s events match. Remove them? They cannot be brought back. [y/N] ",
               std::to_string(matched).c_str());
  std::fflush(stderr);
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (!interrupt.CameWithin(Duration(0))) {
    if (poll(&input, 1, 100) <= 0) continue;
    char answer[64] = "";
    if (std::fgets(answer, sizeof answer, stdin) == nullptr) return false;
    const std::string_view word = TrimBlanks(answer);
    return word == "y" || word == "Y" || word == "yes";
  }
  return false;
}

std::string JsonOf(const RemovalState& state) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("state").String(NameOf(state.phase));
  json.Member("matched").Number(state.matched);
  json.Member("removed").Number(state.removed);
  json.Member("dry_run").Bool(state.dry_run);
  json.Member("error").String(state.error);
  json.Close('}');
  return std::move(json).Text();
}

std::string TextOf(const RemovalState& state) {
  using Phase = RemovalState::Phase;
  if (state.dry_run && state.phase == Phase::kDone)
    return fmt::format("{} events match; none is removed\n", state.matched);
  if (state.phase == Phase::kDone) return fmt::format("{} events are removed\n", state.removed);
  const std::string why = state.phase == Phase::kFailed ? "it has failed: " + AsText(state.error) : "it was stopped";
  return fmt::format("{}; {} of {} events are removed; the same command goes on\n", why, state.removed, state.matched);
}

int PrintState(const CommandLine& line, const DeleteFlags& flags, const RemovalState& state) {
  const int code = state.phase == RemovalState::Phase::kDone ? 0 : kFailed;
  return line.Print(flags.json ? JsonOf(state) : TextOf(state), code, kFailed);
}

Result<RemovalState> Carry(RemovalClient& client, const RemovalOrder& order, Interrupt& interrupt) {
  Result<RemovalState> begun = client.Begin(order);
  if (!begun.ok()) return begun;
  Result<RemovalState> ended = Follow(client, begun.value(), interrupt);
  ShowProgress("");
  return ended;
}

int Delete(const CommandLine& line, const DeleteFlags& flags, RemovalOrder order, RemovalClient& client,
           Interrupt& interrupt) {
  RemovalOrder count = order;
  count.dry_run = true;
  Result<RemovalState> state = Carry(client, count, interrupt);
  if (!state.ok()) return line.Fail(state.status(), kFailed);
  const bool counted = state.value().phase == RemovalState::Phase::kDone;
  if (flags.dry_run || !counted) return PrintState(line, flags, state.value());
  if (state.value().matched > 0 && !flags.yes && !Confirm(state.value().matched, interrupt))
    return line.Fail(Status::Error("nothing is removed"), kFailed);
  order.counted = state.value().matched;
  state = Carry(client, order, interrupt);
  return state.ok() ? PrintState(line, flags, state.value()) : line.Fail(state.status(), kFailed);
}

// Returns an error if the flags ask for no possible removal.
Result<RemovalOrder> OrderOf(const DeleteFlags& flags) {
  Result<std::vector<Filter>> filters = ParseFilters(flags.filters);
  if (!filters.ok()) return filters.status();
  RemovalOrder order{.filters = std::move(filters).value(), .all = flags.all};
  if (!flags.age.empty()) order.older_than_seconds = ParseSpan(flags.age).value();
  if (Status checked = order.Check(); !checked.ok()) return Status::Error(checked.message() + ": add --all");
  if (flags.dry_run || flags.yes || isatty(STDIN_FILENO) == 1) return order;
  return Status::Error("standard input is no terminal to ask on; --dry-run counts, and --yes removes without asking");
}

void AddTo(CommandLine& line, DeleteFlags& flags) {
  line.Add("--filter", &flags.filters, "a filter as in a REQ of NIP-01; may be given more than once")
      .Required()
      .OneWordEach();
  line.Add("--age", &flags.age, "only events whose created_at is at least this long ago: 90s, 15m, 12h, 30d")
      .Check("AGE", [](const std::string& age) {
        const Result<uint64_t> seconds = ParseSpan(age);
        if (seconds.ok() && seconds.value() == 0) return Status::Error("an age of 0 has no effect");
        return seconds.ok() ? Status() : Status::Error(Printable(age) + " is " + seconds.status().message());
      });
  line.Add("--dry-run", &flags.dry_run, "count the events that match, and remove none");
  line.Add("--yes", &flags.yes, "do not ask").Excludes("--dry-run");
  line.Add("--all", &flags.all, "needed for a filter that matches every event, also with --age");
  line.Add("--json", &flags.json, "print the result as JSON");
  AddTo(line, flags.attach);
  line.SetFooter(
      "The events are removed as bulk work, through the relay that runs; its clients do not notice. Without a relay "
      "on\n"
      "the data directory, and with WEIR_STORE=postgres://…, the command removes them from the database itself. No\n"
      "mark is kept, so a client may send a removed event again; `weir admin ban` is for authors and events that "
      "shall\n"
      "not come back. Events that come while it runs stay. With a limit, a filter matches its newest events only.\n"
      "\n"
      "Examples:\n"
      "  weir delete --filter '{\"kinds\":[7]}' --age 30d --dry-run     how many reactions are older than 30 days\n"
      "  weir delete --filter '{\"kinds\":[7]}' --age 30d               count, ask, and remove them\n"
      "  weir delete --filter '{\"#t\":[\"spam\"]}' --filter '{\"ids\":[\"…\"]}' --yes\n"
      "  weir delete --filter '{}' --all --yes                        every event\n"
      "\n"
      "Ctrl-C ends the removal, and prints how many events are gone; the same command goes on. A second Ctrl-C ends "
      "the\n"
      "command at once, and the relay goes on: `weir admin list event-removals` shows it.\n"
      "--json prints one object on one line: state (done, stopped or failed), matched, removed, dry_run, error.\n"
      "Exit status: 0 all that match are removed, or counted with --dry-run; 1 it failed, was stopped, or the answer\n"
      "was no; 2 wrong flags or settings.");
}

}  // namespace

int DeleteCommand(int argc, char** argv) {
  CommandLine line(argv[0], "Removes the stored events that match any of the filters. It counts them first, and asks.");
  DeleteFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const Result<RemovalOrder> order = OrderOf(flags);
  if (!order.ok()) return line.Fail(order.status());
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &flags.attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  Interrupt interrupt(configuration.log_format);  // before any other thread
  const bool here =
      NoRelayRuns(configuration, flags.attach) || (flags.attach.url.empty() && !IsEmbedded(configuration.storage));
  if (here) {
    const Result<std::unique_ptr<RemovalClient>> client = RemovalsHere(configuration);
    return client.ok() ? Delete(line, flags, order.value(), *client.value(), interrupt)
                       : line.Fail(client.status(), kFailed);
  }
  Result<RunningRelay> relay = RunningRelay::Find(configuration, flags.attach);
  if (!relay.ok()) return line.Fail(relay.status(), kFailed);
  return Delete(line, flags, order.value(), *RemovalsOf(std::move(relay).value()), interrupt);
}

}  // namespace weir
