// PacedQueue: the queue of the modelled laws. It admits requests in the order of their arrival, at one rate.
#pragma once

#include <deque>
#include <functional>

#include "bench/simulator/law.h"
#include "throttle/token_bucket.h"

namespace weir {

class PacedQueue {
 public:
  // Sets the rate. If it is infinite, requests do not wait.
  void SetRate(TimePoint now, double bytes_per_second) { bucket_.SetRate(now, bytes_per_second, kDepthBytes); }

  void Admit(TimePoint now, const WriteRequest& request, std::function<void(LawAnswer)> answer) {
    queue_.push_back({request, std::move(answer)});
    Pump(now);
  }

  // Counts bytes against the rate, for a write that does not wait.
  void Charge(TimePoint now, double bytes) {
    bucket_.Refill(now);
    bucket_.Take(bytes, -kDepthBytes);
  }

  // Admits the requests that are due. Returns the time at which the caller has to call Pump again.
  TimePoint Pump(TimePoint now) {
    bucket_.Refill(now);
    while (!queue_.empty() && bucket_.Has(Bytes())) {
      bucket_.Take(Bytes());
      const auto answer = std::move(queue_.front().answer);
      queue_.pop_front();
      answer({});
    }
    if (queue_.empty()) return TimePoint::max();
    return now + FromSeconds(bucket_.SecondsUntil(Bytes())) + std::chrono::microseconds(1);
  }

  bool waiting() const { return !queue_.empty(); }

 private:
  struct Item {
    WriteRequest request;
    std::function<void(LawAnswer)> answer;
  };
  static constexpr double kDepthBytes = 256 << 10;

  double Bytes() const { return static_cast<double>(queue_.front().request.bytes); }

  std::deque<Item> queue_;
  TokenBucket bucket_;
};

}  // namespace weir
