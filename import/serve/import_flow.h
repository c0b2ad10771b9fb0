// ImportFlow: one import into a relay, with its pipeline (import/pipeline.h) and the POST requests that bring its lines
// (import_post.h).
//
// A file that a client sends whole is one POST. A run of `weir import` is many POSTs, called parts; several are open at
// once. A part passes its lines to the pipeline after all parts before it have passed theirs. So the pipeline saves the
// lines in the order of the parts, and judges the lines of one part while it saves those of the part before. If one
// POST of a flow breaks off, that is, ends before all its lines are settled (settled.h), the flow ends the others with
// an error.
//
// Threads: any thread may call the functions. The pipeline's thread calls ImportPost::OnSettled.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "config/mutex.h"
#include "import/pipeline.h"
#include "relay/account/running_limit.h"
#include "relay/relay_plugin.h"

namespace weir {

class ImportPost;

// Counts of all imports and exports of a relay, for its metrics.
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
  bool is_run = false;            // true if further parts may come after the last POST has ended
  uint64_t party = 0;             // the flow uses this and the next number as Party::id
  std::string address;            // address of the client
  uint64_t whole_bytes = 0;       // bytes of the whole import; 0: not known
  std::string traceparent;        // header field of the first POST; may be empty
  std::function<void()> on_idle;  // called by Leave each time that a POST has left the flow
};

class ImportFlow {
 public:
  // The most imports that run at once, and the largest window of one (window_bytes). The windows of all imports
  // together are at most as large as the memory that the relay allows for events in flight (RelayContext::budget).
  static constexpr uint64_t kMostAtOnce = 4;
  static constexpr uint64_t kMostWindowBytes = 4 << 20;

  explicit ImportFlow(ImportFlowParts parts);
  ~ImportFlow();

  const ImportFlowParts& parts() const { return parts_; }
  // Returns the limit, in bytes, for the weight of the unsettled chunks (WeightOf in import/input/chunk.h). The last
  // chunks that were pushed may exceed it.
  uint64_t window_bytes() const { return window_bytes_; }

  // The service (import_service.h) calls the following five functions, one call at a time.
  // Expects returns true if `part` is the next part, and the flow has not broken off.
  bool Expects(uint32_t part) const;
  // has_slot returns true if the flow holds one of the kMostAtOnce slots for running imports.
  bool has_slot() const;
  // Enter adds a POST. `slot` is the flow's slot; null if the flow holds one already.
  void Enter(const std::shared_ptr<ImportPost>& post, std::unique_ptr<RunningLimit::Slot> slot);
  // IsOver returns true if the flow broke off, or if it has no POST and gets no other (a run: after 5 s without one).
  bool IsOver() const;
  // Retire drops the unsettled chunks, waits until the running write is done, and logs the result. Blocks.
  void Retire();

  // The POSTs (import_post.h) call the following functions.
  // MayFeed returns true if all parts before `part` have passed their lines, and the window has room. A window that was
  // full has room again when at most half of it is in use.
  bool MayFeed(uint32_t part);
  void Push(Chunk chunk);
  void Flush() { pipeline_.Flush(); }
  // NoteFed notes that `part` has passed all its lines, and notifies the next part.
  void NoteFed(uint32_t part);
  // Leave removes a POST, which the flow then no longer calls. If `cause` is not empty, it says why some lines of the
  // POST are not settled; the flow then ends all other POSTs with an error.
  void Leave(const ImportPost& post, const std::string& cause);
  ImportConditions Conditions() const { return pipeline_.Conditions(); }
  // The figures of all POSTs of the flow up to now.
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
  std::shared_ptr<ImportPost> PostOf(uint32_t part) const WEIR_REQUIRES(mutex_);
  std::string Summary() const WEIR_REQUIRES(mutex_);

  const ImportFlowParts parts_;
  const uint64_t window_bytes_;
  const TimePoint began_;

  mutable Mutex mutex_;
  std::deque<std::shared_ptr<ImportPost>> posts_ WEIR_GUARDED_BY(mutex_);
  // The slot for a running import; null: the flow holds none.
  std::unique_ptr<RunningLimit::Slot> slot_ WEIR_GUARDED_BY(mutex_);
  uint32_t next_part_ WEIR_GUARDED_BY(mutex_) = 0;  // the part that Expects accepts
  uint32_t feeding_ WEIR_GUARDED_BY(mutex_) = 0;    // the part that may pass its lines
  uint64_t under_way_ WEIR_GUARDED_BY(mutex_) = 0;  // weight of the unsettled chunks
  bool full_ WEIR_GUARDED_BY(mutex_) = false;       // true while the window has no room
  bool retired_ WEIR_GUARDED_BY(mutex_) = false;
  std::string cause_ WEIR_GUARDED_BY(mutex_);  // why the flow broke off; empty: it did not
  TimePoint left_ WEIR_GUARDED_BY(mutex_);     // when the last POST left
  Tally tally_ WEIR_GUARDED_BY(mutex_);

  Pipeline pipeline_;  // last: its thread uses the others
};

}  // namespace weir
