#include "import/import_job.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "import/destination.h"
#include "import/import_run.h"
#include "import/readable.h"
#include "relay/store/lock_file.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

SourceOptions SourceOptionsOf(const RelaySettings& relay, const ImportJobOptions& options, const Checkpoint& from) {
  SourceOptions source;
  source.inputs = options.inputs;
  // White space, and escapes that minimal JSON would not have, are not part of the event's size.
  source.limits.max_line_bytes = 2 * relay.max_event_bytes + (64 << 10);
  source.first_input = from.input;
  source.first_place = from.place;
  return source;
}

Result<std::unique_ptr<Destination>> OpenDestination(const RelayConfiguration& configuration,
                                                     const ImportJobOptions& options, Destination::OnSettled on_settled,
                                                     std::vector<std::string>* notes) {
  DestinationOptions destination;
  destination.judge.limits = EventLimitsOf(configuration.relay);
  destination.judge.max_future_s = configuration.relay.created_at_future_s;
  destination.judge.verify = options.verify;
  destination.threads = options.threads;
  if (options.dry_run) return MakeDryRun(destination, std::move(on_settled));
  if (!options.relay.empty())
    return OpenRelayDestination({.url = options.relay, .holder = ""}, destination, std::move(on_settled));
  const std::string events = configuration.data_dir + "/events";
  const std::optional<LockHolder> holder = HolderOf(events);
  if (!holder) return OpenDatabaseDestination(configuration, destination, std::move(on_settled));
  const std::string who =
      "process " + std::to_string(holder->process) + (holder->name.empty() ? "" : " (" + AsText(holder->name) + ")");
  const std::string in_use = AsText(events) + " is in use by " + who;
  if (holder->address.empty()) return Status::Error(in_use + "; stop it, or name another directory with --data-dir");
  notes->push_back(in_use + ": importing through it, as bulk work");
  return OpenRelayDestination({.url = holder->address, .holder = who}, destination, std::move(on_settled));
}

class Job final : public ImportJob {
 public:
  Job(const RelayConfiguration& configuration, const ImportJobOptions& options)
      : configuration_(configuration), options_(options), paths_(AbsolutePaths(options.inputs)) {}

  // Of Open, in this order.
  Status KeepRejects();
  Status KeepCheckpoint();
  Status OpenEnds();
  Status Begin();

  const std::vector<std::string>& notes() const override { return notes_; }
  Status Run() override { return run_->Run(*source_, *destination_); }
  void Stop() override { run_->Stop(); }
  ProgressNumbers Progress() const override;
  ImportSummary Summary() const override;
  bool can_go_on() const override { return checkpoint_.has_value(); }
  const std::string& checkpoint_problem() const override { return run_->checkpoint_problem(); }

 private:
  std::string Directory() const { return configuration_.data_dir + "/import"; }

  const RelayConfiguration configuration_;
  const ImportJobOptions options_;
  const std::vector<std::string> paths_;
  std::vector<std::string> notes_;
  std::vector<uint64_t> sizes_;  // of the inputs
  std::optional<CheckpointFile> checkpoint_;
  std::optional<RejectsFile> rejects_;
  Checkpoint from_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<ImportRun> run_;
  std::unique_ptr<Destination> destination_;  // the last: it calls run_ until it is gone
};

Status Job::KeepRejects() {
  if (options_.dry_run && options_.rejects.empty()) return {};
  if (!options_.dry_run) {
    std::error_code error;
    fs::create_directories(Directory(), error);
    if (error) {
      return Status::Error("cannot make " + AsText(Directory()) + ": " + error.message() +
                           "; --data-dir names another data directory");
    }
  }
  rejects_.emplace(options_.rejects.empty() ? Directory() + "/rejects.tsv" : options_.rejects);
  for (const std::string& path : paths_) {
    std::error_code error;
    if (fs::equivalent(path, rejects_->path(), error))
      return Status::Error("the rejects would go into " + AsText(path) + ", which is to be imported");
  }
  return rejects_->Check();
}

Status Job::KeepCheckpoint() {
  if (options_.dry_run) return {};
  checkpoint_.emplace(Directory() + "/" + CheckpointName(paths_, options_.relay));
  Result<std::optional<Checkpoint>> found = checkpoint_->Read();
  if (!found.ok()) {
    if (!options_.resume) return {};
    return Status::Error(found.status().message() +
                         "; start anew without --resume: what is stored already is passed over");
  }
  if (!found.value()) {
    if (options_.resume)
      notes_.emplace_back("no interrupted import of these files is known: starting at the beginning");
    return {};
  }
  Checkpoint& old = *found.value();
  const std::string where = std::to_string(old.place.lines) + " of " + AsText(options_.inputs[old.input]);
  if (options_.resume) {
    notes_.push_back("going on after line " + where);
    from_ = std::move(old);
  } else if (old.tally.read() > 0) {
    notes_.push_back("an import of these files stopped after line " + where +
                     "; --resume would go on there, this one starts anew");
  }
  return {};
}

Status Job::OpenEnds() {
  auto source = Source::Open(SourceOptionsOf(configuration_.relay, options_, from_), from_.tail);
  if (!source.ok()) return source.status();
  source_ = std::move(source).value();
  for (const std::string& path : paths_) {
    std::error_code error;
    const auto size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
    sizes_.push_back(error ? 0 : size);
  }
  auto destination = OpenDestination(
      configuration_, options_, [this](const SettledChunk& settled) { run_->OnSettled(settled); }, &notes_);
  if (!destination.ok()) return destination.status();
  destination_ = std::move(destination).value();
  return {};
}

Status Job::Begin() {
  if (rejects_) {
    const std::string rejects = AsText(fs::absolute(rejects_->path()).lexically_normal().string());
    if (from_.rejects == rejects) {
      if (Status status = rejects_->CutBack(from_.rejects_bytes, from_.names); !status.ok()) return status;
    }
    from_.rejects = rejects;
    from_.rejects_bytes = rejects_->bytes();
  }
  from_.inputs = paths_;
  from_.names = options_.inputs;
  ImportRunParts parts{.rejects = rejects_ ? &*rejects_ : nullptr, .checkpoint = checkpoint_ ? &*checkpoint_ : nullptr};
  ImportRunOptions run{.inputs = options_.inputs,
                       .from = from_,
                       .checkpoint_interval = std::chrono::milliseconds(options_.checkpoint_every_ms)};
  run_ = std::make_unique<ImportRun>(parts, std::move(run));
  if (!options_.verify) notes_.emplace_back("signatures are not checked (--no-verify)");
  notes_.push_back(options_.dry_run ? "a dry run: nothing is stored" : "into " + destination_->Describe());
  return {};
}

ProgressNumbers Job::Progress() const {
  const ImportRunState state = run_->State();
  ProgressNumbers progress;
  progress.tally = state.tally;
  for (uint32_t i = 0; i < state.input; ++i) progress.input_bytes += sizes_[i];
  progress.input_bytes += state.file_bytes;
  progress.total_bytes = source_->total_bytes();
  progress.conditions = destination_->Conditions();
  if (!state.problem.empty()) progress.conditions.problem = state.problem;
  return progress;
}

ImportSummary Job::Summary() const {
  const ImportRunState state = run_->State();
  ImportSummary summary;
  summary.dry_run = options_.dry_run;
  summary.tally = state.tally;
  summary.read_before = from_.tally.read();
  summary.bytes_before = from_.tally.bytes;
  summary.conditions = destination_->Conditions();
  summary.input = options_.inputs[state.input];
  summary.line = state.place.lines;
  if (rejects_ && state.tally.rejected() > 0) summary.rejects = rejects_->path();
  return summary;
}

}  // namespace

Result<std::unique_ptr<ImportJob>> ImportJob::Open(const RelayConfiguration& configuration,
                                                   const ImportJobOptions& options) {
  auto job = std::make_unique<Job>(configuration, options);
  for (Status (Job::*step)() : {&Job::KeepRejects, &Job::KeepCheckpoint, &Job::OpenEnds, &Job::Begin}) {
    if (Status status = (*job.*step)(); !status.ok()) return status;
  }
  return std::unique_ptr<ImportJob>(std::move(job));
}

}  // namespace weir
