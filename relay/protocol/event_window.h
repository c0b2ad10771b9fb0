// EventWindow: passes the EVENT messages of one connection to the EventPipeline, a limited number at once.
//
// It passes events in batches. At most max_events_in_flight events (RelaySettings) of a connection are in the pipeline
// at once; this number is the window. Their bytes must fit into the byte budget of all connections
// (relay/account/byte_budget.h). Other events wait here. While events wait or the window is full, the relay does not
// read the socket. So TCP slows the sender down, and only the events of one read can wait. The relay reads again when
// no event waits and half of the window is free.
//
// The bytes of an event count in the connection's account (relay/account/ledger.h) from its arrival until its answer.
//
// Threads: all functions run on the connection's I/O thread; io_thread() and address() may be called from any
// thread.
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

  // Adds an event to the open batch, which is the one that gathers events. Calls Flush if the batch is full.
  void Add(std::string_view event_json);
  // Closes the open batch and queues it for the pipeline. The client calls it after each read, and before it verifies
  // an AUTH.
  void Flush();
  // Calls Flush. Calls `callback` once, when every event has been answered: before WhenIdle returns if all are answered
  // already, otherwise later. A later call of WhenIdle replaces a callback that still waits. End drops the callback.
  void WhenIdle(std::function<void()> callback);
  // Drops the events that wait here and the callback of WhenIdle. Called when the connection has ended. The pipeline
  // still handles the events that it has.
  void End();

  size_t io_thread() const override { return peer_->io_thread(); }
  std::string_view address() const override { return peer_->address(); }
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
  std::shared_ptr<EventBatch> gathered_;            // the open batch; null if it has no event
  std::deque<std::shared_ptr<EventBatch>> queued_;  // batches that wait for the window or the byte budget
  size_t in_flight_ = 0;                            // events in the pipeline
  uint64_t in_flight_bytes_ = 0;                    // bytes that these events have taken from the byte budget
  bool waits_for_budget_ = false;                   // true while the first queued batch waits for the byte budget
  bool paused_ = false;                             // true while the connection is not read
  std::function<void()> when_idle_;
};

}  // namespace weir
