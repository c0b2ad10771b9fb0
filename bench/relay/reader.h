// Asks one REQ after the other on one connection and measures the time from each to its EOSE.
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
  // Each filter is a JSON object; after the last comes the first again.
  explicit Reader(std::vector<std::string> filters) : filters_(std::move(filters)) {}

  Status Connect(const Endpoint& endpoint, Loop* loop);
  // A new REQ each interval, the first after `offset`; one that has to wait for the REQ before it is late, and its
  // latency counts from when it was due. Without an interval each comes when the one before has ended.
  void Start(Duration interval, Duration offset, std::optional<size_t> how_many);
  // REQs that were due by now, and had to wait for the one that is under way, count with the time they have waited.
  void Stop();

  // Closes the connection. The reader must be idle; its loop goes on.
  void Leave() { loop_->Forget(connection_.get()), connection_.reset(); }

  // True if no REQ is under way, nor will be.
  bool idle() const { return !waiting_ && (stopped_ || (how_many_ && asked_ >= *how_many_)); }

  size_t answered() const { return answered_; }
  size_t closed() const { return closed_; }  // refused by CLOSED
  size_t results() const { return results_; }
  // A sum over the ids that came, in any order; below 2^48, so that a double holds it.
  uint64_t digest() const { return digest_ & ((uint64_t{1} << 48) - 1); }
  const LatencyHistogram& latency() const { return *latency_; }
  // Adds the latency to `latency`, and begins anew.
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
