// EventSink: saves the events that another relay sends, through the destination of an import (import/destination.h),
// which verifies them.
//
//   Result<std::unique_ptr<EventSink>> sink = EventSink::Open(settings, stop, open);
//   sink.value()->Take(json);   // …
//   sink.value()->Finish();
//
// Threads: one thread at a time calls Take, Flush, Finish and Close. Any thread may call outcome and problem.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "config/mutex.h"
#include "import/destination.h"
#include "import/input/line_splitter.h"
#include "import/sync/reason_counts.h"
#include "import/tally.h"

namespace weir {

class EventSink {
 public:
  using OpenDestination = std::function<Result<std::unique_ptr<Destination>>(const DestinationOptions& options,
                                                                             const Destination::OnSettled& on_settled)>;
  struct Outcome {
    Tally saved;            // the events by what has become of them
    ReasonCounts rejected;  // events that are not valid here, by the reason

    Outcome& operator+=(const Outcome& more) {
      saved += more.saved;
      rejected.Add(more.rejected);
      return *this;
    }
  };

  // `settings` says which events are valid. A requested stop ends each call with the error "stopped".
  static Result<std::unique_ptr<EventSink>> Open(const RelaySettings& settings, const std::stop_token& stop,
                                                 const OpenDestination& open);

  // Takes the JSON of an event, not checked. Blocks while the destination holds as many events as it may. Returns its
  // error if it has failed.
  Status Take(std::string_view json);
  // Makes the destination begin to save what it was given, without waiting for more.
  Status Flush();
  // Waits until all events are settled.
  Status Finish();
  // Drops the events that are not settled, and returns the outcome of the others. No other call may follow.
  Outcome Close();
  Outcome outcome() const;
  // Returns why nothing can be saved at present; empty: no problem. Not after Close.
  std::string problem() const { return destination_->Conditions().problem; }

 private:
  struct Stopper {
    Destination* destination;
    void operator()() const { destination->Stop(); }
  };

  explicit EventSink(size_t most_line_bytes) : splitter_({.max_line_bytes = most_line_bytes}, 0) {}
  void Push(Chunk chunk) { failed_ = !destination_->Push(std::move(chunk)) || failed_; }
  void OnSettled(const SettledChunk& settled);

  LineSplitter splitter_;
  bool failed_ = false;
  mutable Mutex mutex_;
  Outcome outcome_ WEIR_GUARDED_BY(mutex_);
  std::unique_ptr<Destination> destination_;  // calls OnSettled until it is destroyed
  std::optional<std::stop_callback<Stopper>> stopper_;
};

}  // namespace weir
