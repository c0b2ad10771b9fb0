// Reader: sends one REQ after the other on one connection, and measures the time from each REQ to its EOSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/relay/loop.h"
#include "config/clock.h"

namespace weir {

class Reader final : public Listener {
 public:
  // Each filter is a JSON object. The reader uses the filters in turn, and begins again after the last.
  explicit Reader(std::vector<std::string> filters) : filters_(std::move(filters)) {}

  Status Connect(const Endpoint& endpoint, Loop* loop);
  // Sends a REQ each `interval`, the first after `offset`, and `how_many` in all (nullopt: until Stop). If a REQ has to
  // wait for the one before, its latency still counts from the time at which it was due. If `interval` is 0, sends each
  // REQ when the one before has ended.
  void Start(Duration interval, Duration offset, std::optional<size_t> how_many);
  // Sends no more REQs. REQs that are due but still wait for the one before count with the time that they have waited.
  void Stop();

  // Removes the connection from the loop and closes it. REQUIRES: idle().
  void Leave() { loop_->Forget(connection_.get()), connection_.reset(); }

  // Returns true if no REQ is unanswered and the reader will send no other.
  bool idle() const { return !waiting_ && (stopped_ || (how_many_ && asked_ >= *how_many_)); }

  size_t answered() const { return answered_; }
  size_t closed() const { return closed_; }  // number of REQs that the relay refused by CLOSED
  size_t results() const { return results_; }
  // Returns a sum over the ids of the results, which does not depend on their order. It is below 2^48, so that a double
  // can hold it.
  uint64_t digest() const { return digest_ & ((uint64_t{1} << 48) - 1); }
  const LatencyHistogram& latency() const { return *latency_; }
  // Adds the latency to `*latency`, and clears the reader's own.
  void MoveLatencyTo(LatencyHistogram* latency) { latency->Merge(*latency_), latency_->Clear(); }

  void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) override;

 private:
  void Ask(TimePoint due);
  void Ended(TimePoint now);
  std::string Subscription() const { return "q" + std::to_string(asked_); }

  const std::vector<std::string> filters_;
  std::unique_ptr<ClientSocket> connection_;
  Loop* loop_ = nullptr;
  Duration interval_{};
  std::optional<size_t> how_many_;
  bool stopped_ = false;
  bool waiting_ = false;
  TimePoint due_{};
  size_t asked_ = 0;
  size_t answered_ = 0;
  size_t closed_ = 0;
  size_t results_ = 0;
  uint64_t digest_ = 0;
  std::unique_ptr<LatencyHistogram> latency_ = std::make_unique<LatencyHistogram>();
};

}  // namespace weir
