#include "import/local_destination.h"

#include <algorithm>
#include <utility>

#include "config/cores.h"

namespace weir {
namespace {

// Memory for each byte of text, besides the text itself: the records of its events, and the allocator's overhead.
constexpr double kMorePerTextByte = 1.5;

int64_t BytesOf(const Chunk& chunk) {
  return static_cast<int64_t>(WeightOf(chunk)) +
         static_cast<int64_t>(kMorePerTextByte * static_cast<double>(chunk.text.size()));
}

size_t Threads(const DestinationOptions& options) { return options.threads > 0 ? options.threads : Cores(); }

}  // namespace

LocalDestination::LocalDestination(LocalParts parts, const DestinationOptions& options, OnSettled on_settled)
    : parts_(std::move(parts)),
      on_settled_(std::move(on_settled)),
      pool_(Threads(options), parts_.nice),
      pipeline_(PartsOfPipeline(), OptionsOfPipeline(options),
                [this](SettledChunk settled) { Settle(std::move(settled)); }) {}

PipelineOptions LocalDestination::OptionsOfPipeline(const DestinationOptions& options) const {
  PipelineOptions pipeline = parts_.pipeline;
  pipeline.judge = options.judge;
  return pipeline;
}

LocalDestination::~LocalDestination() {
  pipeline_.Stop();
  CountOwn(-own_bytes_.load());  // the bytes of dropped chunks
}

void LocalDestination::CountOwn(int64_t bytes) {
  own_bytes_ += bytes;
  if (parts_.count_own_bytes) parts_.count_own_bytes(bytes, OwnUse::kWaiting);
}

PipelineParts LocalDestination::PartsOfPipeline() {
  return {.pool = pool_,
          .store = parts_.store,
          .limiter = parts_.limiter,
          .save = parts_.save,
          .interrupt = parts_.interrupt,
          .on_failure =
              [this] {
                const MutexLock lock(mutex_);
                failed_ = true;
                changed_.notify_all();
              },
          .tracer = parts_.tracer};
}

bool LocalDestination::Push(Chunk chunk) {
  const uint64_t weight = WeightOf(chunk);
  {
    MutexLock lock(mutex_);
    changed_.wait(lock, [&]() WEIR_REQUIRES(mutex_) {
      return Ended() || under_way_ == 0 || under_way_ + weight <= parts_.window_bytes;
    });
    if (Ended()) return false;
    under_way_ += weight;
  }
  CountOwn(BytesOf(chunk));
  pipeline_.Push(std::move(chunk));
  return true;
}

void LocalDestination::Settle(SettledChunk settled) {
  const uint64_t weight = WeightOf(settled.chunk);
  const int64_t bytes = BytesOf(settled.chunk);
  on_settled_(std::move(settled));
  CountOwn(-bytes);
  const MutexLock lock(mutex_);
  under_way_ -= weight;
  changed_.notify_all();
}

Status LocalDestination::Finish() {
  pipeline_.Flush();
  {
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return Ended() || under_way_ == 0; });
    if (stopped_ && under_way_ > 0) return Status::Error("stopped");
  }
  if (Status failure = pipeline_.Failure(); !failure.ok()) return failure;
  // Events that are settled are on disk already, so a stop during the flush loses nothing.
  if (parts_.flush) pipeline_.Repeat(parts_.flush);
  return pipeline_.Failure();
}

void LocalDestination::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  pipeline_.Stop();
}

}  // namespace weir
