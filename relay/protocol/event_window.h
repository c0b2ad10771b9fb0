// EventWindow: the EVENTs of one connection between its messages and their OKs.
//
// What one read brought goes to the pipeline in batches, at most max_events_in_flight events at a time and within the
// byte budget of all connections. What does not fit stays here, and the socket is not read until half of the window is
// free: TCP holds the sender back. So what waits here is at most what one read brings.
//
// All of it counts as held by the connection, from its message to its OK.
//
// Used on the connection's I/O thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "relay/protocol/event_pipeline.h"
#include "relay/protocol/peer.h"
#include "relay/protocol/relay_context.h"

namespace weir {

class EventWindow final : public EventSender, public std::enable_shared_from_this<EventWindow> {
 public:
  EventWindow(RelayContext& context, EventPipeline& pipeline, std::shared_ptr<Peer> peer);
  ~EventWindow() override;

  void Add(std::string_view event_json);
  // Hands over what was gathered.
  void Flush();
  // Calls, maybe at once, when no event is in flight. One at a time.
  void WhenIdle(std::function<void()> callback);
  void End();

  size_t io_thread() const override { return peer_->io_thread(); }
  void OnAnswers(std::span<Answer> answers) override;

 private:
  size_t most_in_flight() const { return static_cast<size_t>(context_.settings.max_events_in_flight); }
  void SubmitWhatFits();
  void OnGranted(uint64_t bytes);
  void SubmitFront();
  void GiveBack(uint64_t bytes);
  void PauseOrResume();

  RelayContext& context_;
  EventPipeline& pipeline_;
  const std::shared_ptr<Peer> peer_;
  std::shared_ptr<EventBatch> gathered_;
  std::deque<std::shared_ptr<EventBatch>> queued_;
  size_t in_flight_ = 0;
  uint64_t in_flight_bytes_ = 0;
  bool waits_for_budget_ = false;  // with the first of those that are queued
  bool paused_ = false;
  std::function<void()> when_idle_;
};

}  // namespace weir
