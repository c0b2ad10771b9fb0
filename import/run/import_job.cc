#include "import/run/import_job.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "config/sync_directory.h"
#include "config/text/readable.h"
#include "import/found_destination.h"
#include "import/input/input_file.h"
#include "import/run/import_run.h"
#include "relay/admin/admin.h"
#include "relay/net/host_names.h"
#include "relay/process/data_directory.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

SourceOptions SourceOptionsOf(const RelaySettings& relay, const ImportJobOptions& options, const Checkpoint& from) {
  SourceOptions source;
  source.inputs = options.inputs;
  source.limits.max_line_bytes = MaxLineBytes(EventLimitsOf(relay));
  source.first_input = from.input;
  source.first_place = from.place;
  return source;
}

// Returns the address of the relay that --relay names. Its token is WEIR_ADMIN_TOKEN, or else the token in the data
// directory if that relay runs on this directory.
Result<RelayAddress> NamedRelay(const RelayConfiguration& configuration, const ImportJobOptions& options) {
  RelayAddress address{.url = options.relay, .holder = ""};
  if (options.admin_token.empty()) {
    address.token = [url = options.relay, dir = configuration.data_dir] { return FindAdminTokenFor(url, dir); };
    return address;
  }
  if (!IsLoopbackName(options.relay)) {
    return Status::Error("WEIR_ADMIN_TOKEN is not sent to " + AsText(options.relay) +
                         ": http can be overheard; go through a tunnel, `ssh -L 3334:127.0.0.1:3334 …`, and import by "
                         "--relay http://127.0.0.1:3334");
  }
  address.token = [token = options.admin_token] { return token; };
  return address;
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
  if (!options.relay.empty()) {
    Result<RelayAddress> address = NamedRelay(configuration, options);
    if (!address.ok()) return address.status();
    return OpenRelayDestination(address.value(), destination, std::move(on_settled));
  }
  return OpenFoundDestination(configuration, destination, std::move(on_settled), notes);
}

class Job final : public ImportJob {
 public:
  Job(const RelayConfiguration& configuration, const ImportJobOptions& options)
      : configuration_(configuration), options_(options), paths_(AbsolutePaths(options.inputs)) {}

  // The steps of Open, in this order.
  Status LookAtInputs();
  Status MakeDirectory();
  Status KeepCheckpoint();
  Status KeepRejects();
  Status OpenEnds();
  Status Begin();

  const std::vector<std::string>& notes() const override { return notes_; }
  Status Run() override { return run_->Run(*source_, *destination_); }
  void Stop() override { run_->Stop(); }
  ProgressNumbers Progress() const override;
  ImportSummary Summary() const override;
  bool can_go_on() const override { return checkpoint_.has_value(); }

 private:
  std::string Directory() const { return configuration_.data_dir + "/import"; }
  std::string CheckpointPath() const { return Directory() + "/" + CheckpointName(paths_, options_.relay); }
  std::string RejectsPath() const { return options_.rejects.empty() ? Directory() + "/rejects.tsv" : options_.rejects; }
  // Returns the identity of the database. Returns an empty one on a dry run, and for a relay that --relay names,
  // because the identity of its database is not known.
  Result<std::string> Database() const;
  bool HasDatabaseOf(const Checkpoint& old, const Result<std::string>& database) const;
  Status GoOnFrom(Checkpoint old);
  std::string Where(const Checkpoint& at) const {
    return std::to_string(at.place.lines) + " of " + AsText(InputFile::NameOf(options_.inputs[at.input]));
  }

  const RelayConfiguration configuration_;
  const ImportJobOptions options_;
  const std::vector<std::string> paths_;
  std::vector<std::string> notes_;
  std::optional<CheckpointFile> checkpoint_;
  std::optional<RejectsFile> rejects_;
  Checkpoint from_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<ImportRun> run_;
  std::unique_ptr<Destination> destination_;  // last: it calls run_ until it is destroyed
};

// Checks the names of the inputs before the job creates anything. If the import resumes, inputs that an earlier run
// finished may be gone, so missing inputs are no error here.
Status Job::LookAtInputs() {
  if (options_.rejects == "-")
    return Status::Error("--rejects - would make a file of that name; --rejects /dev/stderr shows the rejected lines");
  const bool goes_on = options_.resume && fs::exists(CheckpointPath());
  for (const std::string& input : options_.inputs) {
    if (auto found = InputFile::Look(input); !found.ok() && !goes_on) return found.status();
    std::error_code error;
    if (fs::equivalent(input, RejectsPath(), error))
      return Status::Error("the rejects would go into " + AsText(input) + ", which is to be imported");
  }
  return {};
}

Status Job::MakeDirectory() {
  if (options_.dry_run) return {};
  if (Status made = MakeDataDirectory(configuration_.data_dir); !made.ok()) return made;
  const std::error_code error = MakeDirectories(Directory());
  if (!error) return {};
  return Status::Error(
      "cannot make " + AsText(Directory()) + ": " + error.message() +
      (error == std::errc::permission_denied ? "; run this as the user of the relay, or as root" : "") +
      "; --data-dir names another data directory");
}

Status Job::KeepCheckpoint() {
  if (options_.dry_run) return {};
  checkpoint_.emplace(CheckpointPath());
  if (Status held = checkpoint_->Hold(); !held.ok()) return held;
  Result<std::optional<Checkpoint>> found = checkpoint_->Read();
  if (options_.resume) {
    if (!found.ok()) {
      return Status::Error(found.status().message() +
                           "; start anew without --resume: what is stored already is passed over");
    }
    if (found.value()) return GoOnFrom(*std::move(found).value());
    notes_.emplace_back("no interrupted import of these files is known: starting at the beginning");
  } else if (found.ok() && found.value() && found.value()->tally.read() > 0 &&
             found.value()->inputs.size() == paths_.size() && HasDatabaseOf(*found.value(), Database())) {
    notes_.push_back("an import of these files stopped after line " + Where(*found.value()) +
                     "; --resume would go on there, this one starts anew");
  }
  return {};
}

Result<std::string> Job::Database() const {
  if (!options_.relay.empty() || options_.dry_run) return std::string();
  return IdentityOf(configuration_.storage, configuration_.data_dir);
}

bool Job::HasDatabaseOf(const Checkpoint& old, const Result<std::string>& database) const {
  return database.ok() && old.database == database.value() && (!old.database.empty() || !options_.relay.empty());
}

Status Job::GoOnFrom(Checkpoint old) {
  if (old.inputs.size() != paths_.size()) {
    return Status::Error("the checkpoint " + AsText(checkpoint_->path()) + " is of other files; start anew without " +
                         "--resume");
  }
  // Another database would lack the events before the checkpoint.
  const Result<std::string> database = Database();
  if (!database.ok()) return database.status();
  if (!HasDatabaseOf(old, database)) {
    const StorageSettings& storage = configuration_.storage;
    return Status::Error(
        "the database " +
        (IsEmbedded(storage) ? "in " + AsText(configuration_.data_dir) : "at " + AsText(StoreName(storage.store))) +
        " is not the one that the import was stopped in; start anew without --resume");
  }
  notes_.push_back("going on after line " + Where(old));
  from_ = std::move(old);
  return {};
}

Status Job::KeepRejects() {
  if (options_.dry_run && options_.rejects.empty()) return {};
  rejects_.emplace(RejectsPath());
  return rejects_->Open();
}

Status Job::OpenEnds() {
  auto source = Source::Open(SourceOptionsOf(configuration_.relay, options_, from_), from_.tail);
  if (!source.ok()) return source.status();
  source_ = std::move(source).value();
  auto destination = OpenDestination(
      configuration_, options_, [this](const SettledChunk& settled) { run_->OnSettled(settled); }, &notes_);
  if (!destination.ok()) return destination.status();
  destination_ = std::move(destination).value();
  return {};
}

Status Job::Begin() {
  if (rejects_) {
    const std::string rejects = AsText(AbsolutePath(rejects_->path()));
    if (from_.rejects == rejects) {
      if (Status status = rejects_->CutBack(from_.rejects_bytes, from_.rejects_mark, from_.names); !status.ok())
        return status;
    }
    from_.rejects = rejects;
    from_.rejects_bytes = rejects_->bytes();
    from_.rejects_mark = rejects_->mark();
  }
  from_.inputs = paths_;
  from_.names = options_.inputs;
  Result<std::string> database = Database();
  if (!database.ok()) return database.status();
  from_.database = std::move(database).value();
  ImportRunParts parts{.rejects = rejects_ ? &*rejects_ : nullptr, .checkpoint = checkpoint_ ? &*checkpoint_ : nullptr};
  ImportRunOptions run{.inputs = options_.inputs,
                       .from = from_,
                       .file_bytes = source_->first_file_bytes(),
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
  progress.begun = state.begun;
  // If a file grows during the import, it counts with the size that it had at the start.
  progress.input_bytes =
      std::min(source_->bytes_before(state.input) + state.file_bytes, source_->bytes_before(size_t{state.input} + 1));
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
  if (run_->input_failed()) summary.damaged = options_.inputs[source_->input()];
  const size_t last_begun = run_->input_failed() ? source_->input() : state.input;
  summary.not_begun.assign(options_.inputs.begin() + static_cast<ptrdiff_t>(last_begun) + 1, options_.inputs.end());
  summary.checkpoint_problem = run_->checkpoint_problem();
  if (rejects_ && state.tally.rejected() > 0) summary.rejects = rejects_->path();
  return summary;
}

}  // namespace

Result<std::unique_ptr<ImportJob>> ImportJob::Open(const RelayConfiguration& configuration,
                                                   const ImportJobOptions& options) {
  auto job = std::make_unique<Job>(configuration, options);
  for (Status (Job::*step)() : {&Job::LookAtInputs, &Job::MakeDirectory, &Job::KeepCheckpoint, &Job::KeepRejects,
                                &Job::OpenEnds, &Job::Begin}) {
    if (Status status = (*job.*step)(); !status.ok()) return status;
  }
  return std::unique_ptr<ImportJob>(std::move(job));
}

}  // namespace weir
