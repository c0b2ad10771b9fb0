// Subscribers: connections that subscribe to a publisher's events. They measure, for each event, the time from the
// moment at which it was to be sent until it arrives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/relay/publisher.h"

namespace weir {

class Subscribers final : public Listener {
 public:
  // Both must outlive the subscribers. REQUIRES: all events have the same author.
  Subscribers(const EventSet& events, const Publisher& publisher) : events_(events), publisher_(publisher) {}

  // Connects `connections` subscribers, and waits until each has received its EOSE.
  Status Connect(const Endpoint& endpoint, size_t connections, Loop* loop);

  // Runs the loop until all deliveries that are under way have arrived, but for at most five seconds.
  Status AwaitDeliveries(Loop* loop) const;

  size_t received() const { return received_; }  // events that arrived, each counted once for each subscriber
  size_t repeated() const { return repeated_; }  // events that arrived again at a subscriber
  // Deliveries that have not arrived; negative if more events arrived than the publisher counts as accepted.
  double lost() const { return static_cast<double>(expected()) - static_cast<double>(received_); }
  const LatencyHistogram& latency() const { return *latency_; }
  // Adds the latency to `*latency`, and clears the subscribers' own.
  void MoveLatencyTo(LatencyHistogram* latency) { latency->Merge(*latency_), latency_->Clear(); }

  void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) override;

 private:
  size_t expected() const { return publisher_.accepted() * connections_.size(); }

  const EventSet& events_;
  const Publisher& publisher_;
  std::vector<std::unique_ptr<ClientSocket>> connections_;
  size_t ready_ = 0;
  size_t received_ = 0;
  size_t repeated_ = 0;
  std::unordered_map<const ClientSocket*, std::vector<bool>> seen_;  // by the number of the event
  std::unique_ptr<LatencyHistogram> latency_ = std::make_unique<LatencyHistogram>();
};

}  // namespace weir
