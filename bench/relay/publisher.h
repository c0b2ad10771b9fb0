// Publishes events over some connections and measures the time from the moment each was to go out until its OK is
// there.
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
  // The caller keeps the events, which must outlive this.
  explicit Publisher(const EventSet& events);

  Status Connect(const Endpoint& endpoint, size_t connections, Loop* loop);

  // Three ways to send. Call one of them, once.
  // Keeps `window` events of each connection unanswered until all are sent.
  void StartClosedLoop(size_t window);
  // Sends all at once; latency counts from now, whenever the sockets take them.
  void StartBurst() { StartClosedLoop(events_.size()); }
  // Sends at a fixed rate, over the connections in turn; latency counts from the intended time.
  void StartPaced(double per_second, Loop* loop);
  // Sends no more events.
  void Stop() { stopped_ = true; }

  // Runs the loop until each event that is to be sent has its OK; an error says how many have not.
  Status AwaitAnswers(Loop* loop) const;

  size_t released() const { return released_; }
  size_t answered() const { return answered_; }
  size_t accepted() const { return accepted_; }
  // Refusals by NIP-01's word; "notice" for a NOTICE. A duplicate is accepted by the protocol, but not here: a database
  // that has the events already would look fast.
  const std::map<std::string, size_t>& refused() const { return refused_; }
  // The latency of accepted events only, for a refusal is quick.
  const LatencyHistogram& latency() const { return *latency_; }
  // Adds the latency to `latency`, and begins anew.
  void MoveLatencyTo(LatencyHistogram* latency) { latency->Merge(*latency_), latency_->Clear(); }
  // From the first event to the last OK.
  double seconds() const { return ToSeconds(last_answer_ - first_release_); }
  // When the event was, or was to be, sent.
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
  std::map<std::string, size_t> refused_;
  std::unique_ptr<LatencyHistogram> latency_ = std::make_unique<LatencyHistogram>();
  TimePoint first_release_{};
  TimePoint last_answer_{};
};

}  // namespace weir
