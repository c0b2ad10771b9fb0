// LocalDestination: a Destination (destination.h) that judges and stores the chunks in this process, with a Pipeline
// that has its own workers. Push blocks while the new chunk and the unsettled chunks together weigh more than
// `window_bytes`, unless no chunk is unsettled.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/mutex.h"
#include "import/destination.h"
#include "monitors/own_bytes.h"

namespace weir {

// The objects that a LocalDestination uses.
struct LocalParts {
  std::shared_ptr<void> owner = {};   // owns the other objects; it is the first member, so that it is destroyed last
  std::string name;                   // the text of Describe
  const EventStore* store = nullptr;  // `store`, `limiter` and `save`: see PipelineParts (pipeline.h)
  AdaptiveLimiter* limiter = nullptr;
  std::function<Status(std::span<const Event> events, std::span<SaveResult> results)> save = {};
  std::function<void()> interrupt = {};  // see PipelineParts
  std::function<Status()> flush = {};    // Finish calls it when all chunks are settled, by Pipeline::Repeat
  CountOwnBytes count_own_bytes = {};    // called with each change of the unsettled chunks' memory, in bytes
  Tracer* tracer = nullptr;              // may be null
  size_t window_bytes = 16 << 20;        // largest weight (WeightOf) of the unsettled chunks; one chunk may exceed it
  PipelineOptions pipeline = {};         // `judge` is that of the DestinationOptions
  int nice = WorkPool::kNice;            // the nice value of the threads that judge lines
};

class LocalDestination final : public Destination {
 public:
  LocalDestination(LocalParts parts, const DestinationOptions& options, OnSettled on_settled);
  ~LocalDestination() override;

  bool Push(Chunk chunk) override;
  Status Finish() override;
  void Stop() override;
  ImportConditions Conditions() const override { return pipeline_.Conditions(); }
  std::string Describe() const override { return parts_.name; }

 private:
  void Settle(SettledChunk settled);
  void CountOwn(int64_t bytes);
  bool Ended() const WEIR_REQUIRES(mutex_) { return stopped_ || failed_; }
  PipelineParts PartsOfPipeline();
  PipelineOptions OptionsOfPipeline(const DestinationOptions& options) const;

  const LocalParts parts_;
  const OnSettled on_settled_;
  std::atomic<int64_t> own_bytes_{0};  // the sum of what was passed to count_own_bytes

  Mutex mutex_;
  Condition changed_;
  uint64_t under_way_ WEIR_GUARDED_BY(mutex_) = 0;  // weight (WeightOf) of the chunks that are not settled
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  bool failed_ WEIR_GUARDED_BY(mutex_) = false;

  WorkPool pool_;
  Pipeline pipeline_;  // last: its thread uses the others
};

}  // namespace weir
