// LocalDestination: a Destination in this process: a pipeline with workers of its own, behind a window.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "import/destination.h"
#include "monitors/own_bytes.h"

namespace weir {

// The objects that a LocalDestination uses.
struct LocalParts {
  std::shared_ptr<void> owner = {};  // owns all the others; the first member, so that it goes last
  std::string name;
  const EventStore* store = nullptr;  // see PipelineParts, also for the next two
  AdaptiveLimiter* limiter = nullptr;
  std::function<Status(std::span<const Event> events, std::span<SaveResult> results)> save = {};
  std::function<Status()> flush = {};  // called at the end of an import; repeated like a save
  CountOwnBytes count_own_bytes = {};
  Tracer* tracer = nullptr;
  size_t window_bytes = 16 << 20;  // most that may be under way, as WeightOf counts
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
  bool Ended() const { return stopped_ || failed_; }
  PipelineParts PartsOfPipeline();

  const LocalParts parts_;
  const OnSettled on_settled_;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t under_way_ = 0;  // the weight under way, as WeightOf counts
  bool stopped_ = false;
  bool failed_ = false;

  WorkPool pool_;
  Pipeline pipeline_;  // last: its thread uses the others
};

}  // namespace weir
