// EventWindow: the EVENTs of one connection between their messages and their OKs.
//
// The EVENTs of one read go to the pipeline in batches, at most max_events_in_flight events at a time and within the
// byte budget of all connections. EVENTs that do not fit stay here, and the socket is not read until half of the window
// is free: TCP holds the sender back. So at most the EVENTs of one read wait here.
//
// All of them count as held by the connection, from their messages to their OKs.
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
  // Hands the gathered events over.
  void Flush();
  // Calls `callback` when no event is in flight, maybe at once. One callback at a time.
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
  bool waits_for_budget_ = false;  // the first queued batch waits
  bool paused_ = false;
  std::function<void()> when_idle_;
};

}  // namespace weir
