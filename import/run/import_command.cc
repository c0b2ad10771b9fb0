#include "import/run/import_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "import/run/import_job.h"
#include "import/run/progress_display.h"
#include "import/run/summary.h"
#include "relay/process/logging.h"
#include "relay/process/stop_signals.h"

namespace weir {
namespace {

constexpr int kNotImported = 2;

struct ImportFlags {
  ImportJobOptions job;
  std::string summary = "text";
  bool no_verify = false;
  bool quiet = false;
};

void AddTo(CommandLine& line, ImportFlags& flags) {
  line.Add("FILE", &flags.job.inputs, "events, one JSON object a line; also gzip or zstd; - is standard input")
      .Required();
  line.AddSetting("--data-dir", "DATA_DIR", "where the events are kept, instead of WEIR_DATA_DIR");
  line.Add("--rejects", &flags.job.rejects,
           "file for the rejected lines (default: import/rejects.tsv in the data directory)");
  line.Add("--resume", &flags.job.resume, "continue an interrupted import of the same files");
  line.Add("--no-verify", &flags.no_verify, "do not check signatures; three times as fast");
  line.Add("--dry-run", &flags.job.dry_run,
           "only judge the lines; nothing is stored, no database is needed, duplicates are not known")
      .Excludes("--resume");
  line.Add("--relay", &flags.job.relay,
           "import through the relay at this URL, such as http://127.0.0.1:3334, with the token in WEIR_ADMIN_TOKEN. "
           "Not needed for a relay on this machine that uses the data directory: weir finds it and its token");
  line.Add("--threads", &flags.job.threads, "threads that judge lines; 0: one for each core")
      .Within(0, 1024)
      .ShowDefault();
  line.Add("--checkpoint-every", &flags.job.checkpoint_every_ms, "milliseconds between two checkpoints")
      .Within(1, 3'600'000)
      .ShowDefault();
  line.Add("--summary", &flags.summary, "form of the summary printed at the end").OneOf({"text", "json"}).ShowDefault();
  line.Add("--quiet", &flags.quiet, "no progress");
}

void AddFooter(CommandLine& line) {
  line.SetFooter(
      "Every line is imported, not needed (a duplicate, replaced, deleted, expired), blank, or rejected. Rejected\n"
      "lines go to the rejects file: INPUT:LINE, the reason and the line as it was, with tabs between them. When the\n"
      "engine is loaded, the disk is full or the relay is away, the import waits; it skips nothing.\n"
      "\n"
      "A checkpoint is written now and then and when the import is interrupted; --resume continues from it, also\n"
      "after a kill. With standard input, send the same stream again: the part already imported is passed over.\n"
      "Importing a file twice adds nothing.\n"
      "\n"
      "Examples:\n"
      "  weir import events.jsonl\n"
      "  weir import --data-dir /var/lib/weir 2024.jsonl.gz 2025.jsonl.zst\n"
      "  weir import --resume events.jsonl                 after Ctrl-C, a kill, a crash\n"
      "  weir import --dry-run --rejects bad.tsv dump.jsonl  what would be rejected, and why\n"
      "  weir export --data-dir old | weir import --no-verify -\n"
      "  mv data/import/rejects.tsv . && cut -f3- rejects.tsv | weir import -    the rejected lines again\n"
      "\n"
      "--summary=json prints one object on one line: whole, dry_run, read (lines), imported, duplicate, replaced,\n"
      "deleted, expired, blank, invalid, bad_signature, too_long, future, not_stored, rejected (the five before),\n"
      "bytes, read_before (lines read by earlier runs that this one continues; the other counts include them),\n"
      "throttled (times), throttled_s, seconds, lines_per_s, mb_per_s (of this run), rejects (file), input and line\n"
      "(where it ended), damaged (the input to repair before continuing), not_begun (inputs), go_on (the command that\n"
      "continues), checkpoint_problem, error. In a dry run, imported counts the lines that would be imported.\n"
      "\n"
      "Ctrl-C stops it gracefully, a second Ctrl-C at once.\n"
      "Exit status: 0 every line is stored or not needed, 1 some lines were rejected, 2 it could not continue or was\n"
      "stopped.");
}

ProgressDisplayParts::Style StyleOf(const ImportFlags& flags) {
  using Style = ProgressDisplayParts::Style;
  if (flags.quiet) return Style::kNone;
  return CanDrawLines() ? Style::kBar : Style::kLines;
}

// Returns the command line with --resume, quoted for a shell.
std::string GoOn(int argc, char** argv) {
  std::string command = "weir import --resume";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--resume") continue;
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./,:@%") == word.npos;
    std::string quoted;
    for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    command += plain ? " " + word : " '" + quoted + "'";
  }
  return command;
}

void Say(const ImportFlags& flags, const std::vector<std::string>& lines) {
  if (flags.quiet) return;
  for (const std::string& line : lines) std::fprintf(stderr, "import: %s\n", line.c_str());
}

int Complain(const Status& status) {
  std::fprintf(stderr, "weir import: %s\n", status.message().c_str());
  return kNotImported;
}

ImportSummary Summarize(const ImportJob& job, const Status& status, bool stopped, Duration time,
                        const std::string& go_on) {
  ImportSummary summary = job.Summary();
  summary.time = time;
  if (status.ok()) return summary;
  summary.end = stopped ? ImportSummary::End::kStopped : ImportSummary::End::kFailed;
  if (!stopped) summary.error = status.message();
  if (job.can_go_on()) summary.go_on = go_on;
  return summary;
}

// Opens standard streams that are closed, because a file that is opened later would otherwise get their descriptor.
// Returns true if there is a standard input.
bool OpenStandardStreams() {
  bool has_input = true;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    (void)open("/dev/null", O_RDWR);
    has_input = has_input && stream != STDIN_FILENO;
  }
  return has_input;
}

int Print(const ImportSummary& summary, bool json) {
  std::fputs((json ? ToJsonLine(summary) : ToText(summary)).c_str(), stdout);
  if (std::fflush(stdout) != 0) return Complain(Status::Error("cannot write to standard output"));
  return ExitCode(summary);
}

int Import(const ImportFlags& flags, const RelayConfiguration& configuration, const std::string& go_on) {
  StopSignals signals;
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of the shell on the size of files is an error like any other
  // Does not log warnings: the progress display shows the same problems, and a logged line would damage the display.
  SetUpLogging(std::max(configuration.log_level, flags.quiet ? LogLevel::kWarn : LogLevel::kError),
               configuration.log_format);
  signals.Listen();
  Result<std::unique_ptr<ImportJob>> opened = ImportJob::Open(configuration, flags.job);
  if (!opened.ok()) return Complain(opened.status());
  ImportJob& job = *opened.value();
  signals.BeginOrderly([] { _exit(kNotImported); });
  Say(flags, job.notes());

  ProgressDisplay display({.style = StyleOf(flags), .progress = [&job] { return job.Progress(); }});
  bool stopped = false;
  std::thread stopper([&] {
    stopped = signals.Wait() != nullptr;
    if (stopped) job.Stop();
  });
  const TimePoint begin = Clock::System().Now();
  display.Start();
  const Status status = job.Run();
  const Duration time = Clock::System().Now() - begin;
  display.Stop();
  signals.Release();
  stopper.join();
  const ImportSummary summary = Summarize(job, status, stopped, time, go_on);
  if (!summary.checkpoint_problem.empty()) Complain(Status::Error(summary.checkpoint_problem));
  opened.value().reset();
  if (summary.end == ImportSummary::End::kFailed) Complain(status);
  return Print(summary, flags.summary == "json");
}

}  // namespace

int ImportCommand(int argc, char** argv) {
  const bool has_input = OpenStandardStreams();
  CommandLine line(
      argv[0],
      "Imports events from files, checked as a relay checks them, as fast as the engine can take them and no faster:\n"
      "a relay that runs on the data directory stays responsive, and the import goes through it.");
  ImportFlags flags;
  AddTo(line, flags);
  AddFooter(line);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (!has_input && std::ranges::count(flags.job.inputs, "-") > 0)
    return Complain(Status::Error("standard input is closed; name a file, or pipe the events in"));
  RelayConfiguration configuration;
  SettingTable table;
  table.AddSecret("ADMIN_TOKEN", &flags.job.admin_token, "shown to the relay that --relay names");
  const Status loaded = LoadRelayConfiguration(table, ProcessEnvironment(), line.settings(), &configuration);
  if (!loaded.ok()) return line.Fail(loaded);
  flags.job.verify = !flags.no_verify;
  const int code = Import(flags, configuration, GoOn(argc, argv));
  StopLogging();
  return code;
}

}  // namespace weir
