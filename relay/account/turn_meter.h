// TurnMeter: the cost of a turn, charged by code that is far from the code that counts it.
//
//   Work spent = 0;
//   const TurnMeter meter(spent);            // the session, around a turn
//   TurnMeter::Charge(kSignatureWork);       // a handler that it calls, on the same thread
//
// A request's handler is charged a usual amount. A handler that does more charges the rest, so that the connection that
// asked for it pays, and its address waits for its next turn. Outside of a turn Charge does nothing.
#pragma once

#include <utility>

#include "relay/account/work.h"

namespace weir {

class TurnMeter {
 public:
  explicit TurnMeter(Work& spent) : outer_(std::exchange(current_, &spent)) {}
  ~TurnMeter() { current_ = outer_; }
  TurnMeter(const TurnMeter&) = delete;
  TurnMeter& operator=(const TurnMeter&) = delete;

  static void Charge(Work work) {
    if (current_ != nullptr) *current_ += work;
  }

 private:
  inline static thread_local Work* current_ = nullptr;
  Work* const outer_;
};

}  // namespace weir
