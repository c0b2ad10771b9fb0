#include "import/local_destination.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace weir {
namespace {

// The text, the records of its events, and what the allocator adds.
constexpr double kBytesPerTextByte = 2.5;

size_t Threads(const DestinationOptions& options) {
  return options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

LocalDestination::LocalDestination(LocalParts parts, const DestinationOptions& options, OnSettled on_settled)
    : parts_(std::move(parts)),
      on_settled_(std::move(on_settled)),
      pool_(Threads(options)),
      pipeline_(PartsOfPipeline(), {.judge = options.judge},
                [this](SettledChunk settled) { Settle(std::move(settled)); }) {}

LocalDestination::~LocalDestination() { pipeline_.Stop(); }

PipelineParts LocalDestination::PartsOfPipeline() {
  return {.pool = pool_, .store = parts_.store, .limiter = parts_.limiter, .save = parts_.save, .on_failure = [this] {
            const std::lock_guard lock(mutex_);
            failed_ = true;
            changed_.notify_all();
          }};
}

bool LocalDestination::Push(Chunk chunk) {
  const size_t size = chunk.text.size();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return Ended() || under_way_ == 0 || under_way_ + size <= parts_.window_bytes; });
    if (Ended()) return false;
    under_way_ += size;
  }
  CountOwn(static_cast<int64_t>(size));
  pipeline_.Push(std::move(chunk));
  return true;
}

void LocalDestination::Settle(SettledChunk settled) {
  const size_t size = settled.chunk.text.size();
  on_settled_(std::move(settled));
  CountOwn(-static_cast<int64_t>(size));
  const std::lock_guard lock(mutex_);
  under_way_ -= size;
  changed_.notify_all();
}

void LocalDestination::CountOwn(int64_t text_bytes) {
  if (parts_.count_own_bytes)
    parts_.count_own_bytes(static_cast<int64_t>(kBytesPerTextByte * static_cast<double>(text_bytes)));
}

Status LocalDestination::Finish() {
  pipeline_.Flush();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return Ended() || under_way_ == 0; });
    if (stopped_) return Status::Error("stopped");
  }
  if (Status failure = pipeline_.Failure(); !failure.ok()) return failure;
  return parts_.flush ? parts_.flush() : Status();
}

void LocalDestination::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  pipeline_.Stop();
}

}  // namespace weir
