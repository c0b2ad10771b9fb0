#include "import/run/import_run.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

namespace weir {

ImportRun::ImportRun(const ImportRunParts& parts, ImportRunOptions options)
    : parts_(parts),
      options_(std::move(options)),
      checkpoint_(options_.from),
      tail_input_(options_.from.input),
      next_checkpoint_(parts_.clock.Now() + options_.checkpoint_interval) {
  state_.input = checkpoint_.input;
  state_.place = checkpoint_.place;
  state_.tally = checkpoint_.tally;
  state_.file_bytes = options_.file_bytes;
}

Status ImportRun::Run(Source& source, Destination& destination) {
  // Writes a checkpoint at once, so that an import can be resumed even if it is killed before it settles anything. An
  // import that resumes does not know the tail yet, but it has a checkpoint on disk already.
  {
    const MutexLock lock(settling_);
    if (checkpoint_.place.bytes == 0 && checkpoint_.input == 0) TellCheckpoint(WriteCheckpoint());
  }
  Attach(&source, &destination);
  if (stopped()) {
    source.Stop();
    destination.Stop();
  }
  const Status fed = Feed(source, destination);
  const Status finished = destination.Finish();
  Attach(nullptr, nullptr);
  // An error of the source takes precedence over an error of the destination, which may follow from it.
  Status status = stopped() ? Status::Error("stopped") : !fed.ok() ? fed : finished;
  input_failed_ = !stopped() && !fed.ok();
  const Status closed = Close(status.ok());
  return status.ok() ? closed : status;
}

Status ImportRun::Feed(Source& source, Destination& destination) {
  bool first = true;
  while (true) {
    Result<std::optional<Chunk>> next = source.Next();
    if (!next.ok()) return next.status();
    if (!next.value().has_value()) return {};
    if (std::exchange(first, false)) {
      const MutexLock lock(settling_);
      if (next.value()->input == checkpoint_.input) tail_ = open_tail_ = Tail(source.first_tail());
    }
    if (!destination.Push(std::move(*next.value()))) return {};
  }
}

void ImportRun::Attach(Source* source, Destination* destination) {
  const MutexLock lock(feeding_);
  source_ = source;
  destination_ = destination;
}

void ImportRun::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  // Run does not return while feeding_ is held.
  const MutexLock lock(feeding_);
  if (source_ != nullptr) source_->Stop();
  if (destination_ != nullptr) destination_->Stop();
}

bool ImportRun::stopped() const {
  const MutexLock lock(mutex_);
  return stop_;
}

ImportRunState ImportRun::State() const {
  const MutexLock lock(mutex_);
  return state_;
}

std::string ImportRun::checkpoint_problem() const {
  const MutexLock lock(settling_);
  return checkpoint_problem_;
}

void ImportRun::OnSettled(const SettledChunk& settled) {
  const MutexLock lock(settling_);
  if (over_) return;
  if (parts_.rejects != nullptr) {
    parts_.rejects->Add(settled, options_.inputs[settled.chunk.input]);
    if (!WriteRejects()) return;
  }
  Count(settled);
  if (!settled.chunk.last_piece || parts_.clock.Now() < next_checkpoint_) return;
  TellCheckpoint(WriteCheckpoint());
  next_checkpoint_ = parts_.clock.Now() + options_.checkpoint_interval;
}

// Waits until all rejects are written. Returns false if the run is stopped before that.
bool ImportRun::WriteRejects() {
  if (Insist([this] { return parts_.rejects->Write(); }).ok()) return true;
  parts_.rejects->Forget();
  over_ = true;
  return false;
}

// Clears the problem after a success. If the run is stopped before that, the problem stays.
Status ImportRun::Insist(const std::function<Status()>& write) {
  Status status = write();
  if (status.ok()) return status;
  for (; !status.ok() && !stopped(); status = write()) {
    MutexLock lock(mutex_);
    state_.problem = status.message();
    changed_.wait_for(lock, options_.retry, [this]() WEIR_REQUIRES(mutex_) { return stop_; });
  }
  if (!status.ok()) return status;
  const MutexLock lock(mutex_);
  state_.problem.clear();
  return status;
}

void ImportRun::Count(const SettledChunk& settled) {
  const Chunk& chunk = settled.chunk;
  if (std::exchange(tail_input_, chunk.input) != chunk.input) open_tail_ = Tail();
  open_tail_.Add(chunk.text);
  const MutexLock lock(mutex_);
  state_.begun = true;
  state_.tally += settled.tally;
  state_.file_bytes = chunk.file_bytes;
  state_.input = chunk.input;
  if (!chunk.last_piece) return;
  state_.place = chunk.end;
  tail_ = open_tail_;
  checkpoint_.input = chunk.input;
  checkpoint_.place = chunk.end;
  checkpoint_.tally = state_.tally;
  if (parts_.rejects != nullptr) checkpoint_.rejects_bytes = parts_.rejects->bytes();
}

Status ImportRun::WriteCheckpoint() {
  if (parts_.checkpoint == nullptr) return {};
  if (parts_.rejects != nullptr) {
    if (Status status = parts_.rejects->Sync(); !status.ok()) return status;
  }
  checkpoint_.tail = checkpoint_.place.bytes > 0 ? tail_.Hex() : "";
  return parts_.checkpoint->Write(checkpoint_);
}

// Logs a problem when it begins, and not again while it lasts. The import goes on without the checkpoint.
void ImportRun::TellCheckpoint(const Status& written) {
  if (!written.ok() && checkpoint_problem_.empty()) spdlog::error("{}", written.message());
  checkpoint_problem_ = written.message();
}

Status ImportRun::Close(bool whole) {
  const MutexLock lock(settling_);
  over_ = true;
  if (!whole) {
    // If no line was settled, the checkpoint on disk is still right, and the tail may not be known.
    const bool moved = checkpoint_.input != options_.from.input || checkpoint_.place.bytes != options_.from.place.bytes;
    Status status = moved ? WriteCheckpoint() : Status();
    checkpoint_problem_ = status.message();
    return status;
  }
  if (parts_.rejects != nullptr) {
    if (Status status = Insist([this] { return parts_.rejects->Sync(); }); !status.ok()) return status;
  }
  checkpoint_problem_.clear();
  return parts_.checkpoint != nullptr ? parts_.checkpoint->Remove() : Status();
}

}  // namespace weir
