// The queue that the modelled laws pace with: in order of arrival, at one rate.
#pragma once

#include <deque>
#include <functional>

#include "bench/simulator/law.h"
#include "throttle/token_bucket.h"

namespace weir {

class PacedQueue {
 public:
  // An infinite rate opens it.
  void SetRate(TimePoint now, double bytes_per_second) { bucket_.SetRate(now, bytes_per_second, kDepthBytes); }

  void Admit(TimePoint now, const WriteRequest& request, std::function<void(LawAnswer)> answer) {
    queue_.push_back({request, std::move(answer)});
    Pump(now);
  }

  // Takes bytes out of the rate without waiting.
  void Charge(TimePoint now, double bytes) {
    bucket_.Refill(now);
    bucket_.Take(bytes, -kDepthBytes);
  }

  // Answers the requests that are due; returns when it has to be called next.
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
