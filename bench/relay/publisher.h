// Publisher: publishes events over several connections. Measures, for each event, the time from the moment at which it
// was to be sent until its OK arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/relay/event_set.h"
#include "bench/relay/loop.h"
#include "config/clock.h"

namespace weir {

class Publisher final : public Listener {
 public:
  // The events must outlive the publisher.
  explicit Publisher(const EventSet& events);

  Status Connect(const Endpoint& endpoint, size_t connections, Loop* loop) {
    return Connect(std::vector<Endpoint>(connections, endpoint), loop);
  }
  // Makes a connection for each of the endpoints.
  Status Connect(const std::vector<Endpoint>& endpoints, Loop* loop);

  // The next three functions start to send. Call only one of them, and only once.
  // StartClosedLoop keeps `window` events of each connection unanswered until all events are sent.
  void StartClosedLoop(size_t window);
  // StartBurst sends all events at once. Latency counts from now, even if the sockets take the events later.
  void StartBurst() { StartClosedLoop(events_.size()); }
  // StartPaced sends at a fixed rate, over the connections in turn. Latency counts from the intended time.
  void StartPaced(double per_second, Loop* loop);
  // Makes the publisher send no more events.
  void Stop() { stopped_ = true; }
  // Removes the connections from the loop and closes them.
  void Leave(Loop* loop);

  // Runs the loop until each event that is to be sent has an OK. An error says how many events have none.
  Status AwaitAnswers(Loop* loop) const;

  size_t released() const { return released_; }
  size_t answered() const { return answered_; }
  size_t accepted() const { return accepted_; }
  uint64_t accepted_bytes() const { return accepted_bytes_; }  // the bytes of their JSON
  // Returns the number of refused events for each reason: NIP-01's prefix of the message, or "notice" for a NOTICE. A
  // duplicate counts as refused, although its OK is true; otherwise a database that has the events would look fast.
  const std::map<std::string, size_t>& refused() const { return refused_; }
  // Returns the latency of accepted events only, because refusals are quick.
  const LatencyHistogram& latency() const { return *latency_; }
  // Adds the latency to `*latency`, and clears the publisher's own.
  void MoveLatencyTo(LatencyHistogram* latency) { latency->Merge(*latency_), latency_->Clear(); }
  // Returns the time from the first event to the last OK.
  double seconds() const { return ToSeconds(last_answer_ - first_release_); }
  // Returns the time at which the event was to be sent.
  TimePoint released_at(size_t event) const { return released_at_[event]; }

  void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) override;
  void OnMessagesTaken(ClientSocket& connection, TimePoint now) override;

 private:
  struct Line {
    std::unique_ptr<ClientSocket> connection;
    FrameLane lane;
    size_t released = 0;  // events of the lane
    size_t answered_now = 0;
  };

  void Release(Line& line, size_t count, TimePoint at);
  void ReleaseOnTime(TimePoint at);
  Line& LineOf(const ClientSocket& connection);

  const EventSet& events_;
  std::vector<Line> lines_;
  std::vector<TimePoint> released_at_;
  std::vector<bool> is_answered_;
  size_t window_ = 0;  // 0: paced
  double per_second_ = 0;
  Loop* loop_ = nullptr;
  bool stopped_ = false;
  size_t released_ = 0;
  size_t answered_ = 0;
  size_t accepted_ = 0;
  uint64_t accepted_bytes_ = 0;
  std::map<std::string, size_t> refused_;
  std::unique_ptr<LatencyHistogram> latency_ = std::make_unique<LatencyHistogram>();
  TimePoint first_release_{};
  TimePoint last_answer_{};
};

}  // namespace weir
