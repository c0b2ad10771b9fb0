// ImportFlow: one import on its way into the relay: its pipeline, and the POSTs that bring it (import_post.h).
//
// A file that is sent whole is one POST. A run of `weir import` is many POSTs, several at once. Each hands its lines to
// the pipeline when all before it have, so that lines are saved in the order of the parts, and those of one part are
// judged while those of the part before are saved. If a POST breaks off, the others that are under way do too.
//
// Threads: any; the pipeline's thread reports to the posts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "import/pipeline.h"
#include "import/serve/running_limit.h"
#include "relay/relay_part.h"

namespace weir {

class ImportPost;

// Counts over all imports and exports of a relay, for its metrics.
struct ImportCounters {
  std::array<std::atomic<uint64_t>, kLineOutcomes> lines{};
  std::atomic<uint64_t> bytes{0};
  std::atomic<int64_t> throttled_ns{0};
  std::atomic<uint64_t> export_events{0};
};

struct ImportFlowParts {
  RelayServices services;
  WorkPool& pool;
  ImportCounters& counters;
  bool verify = true;
  bool is_run = false;  // more may come when its last POST has left
  uint64_t party = 0;   // the flow's own ids: this one and the next
  std::string address;
  uint64_t whole_bytes = 0;       // bytes that are to come; 0: not known
  std::string traceparent;        // the one of its first POST
  std::function<void()> on_idle;  // called when a POST has left
};

class ImportFlow {
 public:
  // The imports that may run hold together no more than the events in flight may.
  static constexpr uint64_t kMostAtOnce = 4;
  static constexpr uint64_t kMostWindowBytes = 4 << 20;

  explicit ImportFlow(ImportFlowParts parts);
  ~ImportFlow();

  const ImportFlowParts& parts() const { return parts_; }
  uint64_t window_bytes() const { return window_bytes_; }

  // Called by the service, one at a time.
  bool Expects(uint32_t part) const;
  bool has_slot() const;
  void Enter(const std::shared_ptr<ImportPost>& post, std::unique_ptr<RunningLimit::Slot> slot);
  bool IsOver() const;
  // Gives up what is not settled, waits for what is under way, and logs how it ended.
  void Retire();

  // Called by the posts.
  // Returns true if all parts before it are fed, and there is room.
  bool MayFeed(uint32_t part);
  void Push(Chunk chunk);
  void Flush() { pipeline_.Flush(); }
  void NoteFed(uint32_t part);
  // Takes the post out: it is told nothing more. A `cause` says why it is not settled whole.
  void Leave(const ImportPost& post, const std::string& cause);
  ImportConditions Conditions() const { return pipeline_.Conditions(); }
  // Figures of all its posts, until now.
  struct Progress {
    Tally tally;
    Duration took{};
  };
  Progress SoFar() const;
  Status Failure() const { return pipeline_.Failure(); }

 private:
  PipelineParts PartsOfPipeline();
  PipelineOptions OptionsOfPipeline() const;
  void OnSettled(const SettledChunk& settled);
  void OnFailure();
  std::shared_ptr<ImportPost> PostOf(uint32_t part) const;
  std::string Summary() const;

  const ImportFlowParts parts_;
  const uint64_t window_bytes_;
  const TimePoint began_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::shared_ptr<ImportPost>> posts_;
  std::unique_ptr<RunningLimit::Slot> slot_;  // held while there are posts, or lines of theirs are under way
  uint32_t next_part_ = 0;
  uint32_t feeding_ = 0;    // the part whose turn it is
  uint64_t under_way_ = 0;  // the weight under way, as WeightOf counts
  bool full_ = false;       // no more may be under way for now
  bool retired_ = false;
  std::string cause_;  // why it broke off; empty: it did not
  TimePoint left_;     // when the latest post left
  Tally tally_;

  Pipeline pipeline_;  // last: its thread uses the others
};

}  // namespace weir
