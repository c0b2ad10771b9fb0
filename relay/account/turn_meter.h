// TurnMeter: charges work to the connection whose turn runs on this thread, from code that does not know the
// connection. A turn is one run of a session on its I/O thread (relay/net/session.h).
//
//   Work spent = 0;
//   const TurnMeter meter(spent);            // in the session, for the length of a turn
//   TurnMeter::Charge(kSignatureWork);       // in a handler that the session calls, on the same thread
//
// The session counts a usual amount for each request (kRequestWork in relay/net/http_stage.cc, kStreamWork in
// http2_stage.cc). A handler that does more work than that charges the difference, so that the address of its
// connection waits longer for its next turn.
#pragma once

#include <utility>

#include "relay/account/work.h"

namespace weir {

class TurnMeter {
 public:
  // While the meter exists, Charge on this thread adds to `spent`. If meters nest, only the innermost counts.
  explicit TurnMeter(Work& spent) : outer_(std::exchange(current_, &spent)) {}
  ~TurnMeter() { current_ = outer_; }
  TurnMeter(const TurnMeter&) = delete;
  TurnMeter& operator=(const TurnMeter&) = delete;

  // Adds work to the turn that runs on this thread. Does nothing outside of a turn.
  static void Charge(Work work) {
    if (current_ != nullptr) *current_ += work;
  }

 private:
  inline static thread_local Work* current_ = nullptr;
  Work* const outer_;
};

}  // namespace weir
