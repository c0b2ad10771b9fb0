// Request: one REQ or COUNT, from its place in its connection's queue to EOSE and on to live events.
//
//   kQueued     other requests of its connection run
//   kAtGate     it waits at the scan gate
//   kReads      a worker reads a slice of the store for it, or the slice's report is on its way back
//   kPaused     it has sent what was found, and goes on once its client has taken most of it
//   kInLine     it waits for a turn among the scans of its address, from the second slice on
//   kCatchesUp  the stored events are out; it sends the live ones that came meanwhile, and holds those that come behind
//   kLives      it sends events as they come
//   kOver       it was answered, refused or closed
//
// From kAtGate to kInLine it has one of its connection's places. While it waits, it keeps nothing of its query but a
// key, and in kPaused and kInLine it leaves gate and turn to others: otherwise clients that read slowly would keep all
// places and a snapshot each, for as long as they like. What a query holds between two slices counts for its account.
//
// An event that is replaced while the answer is under way may be in it in neither form: its old version is gone, and
// the query has passed the place of the new one. So new versions that come live before EOSE are sent before EOSE, for
// clients that close there.
//
// The gate judges the probable cost of a request. If the request turns out to cost more, it passes again at that cost.
//
// Threads: the connection's I/O thread; in kReads the members below `admission_` belong to the worker. Gate, turn and
// memory are given back by the last holder of the request.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/account/ledger.h"
#include "relay/nostr/messages.h"
#include "relay/protocol/peer.h"
#include "relay/protocol/relay_context.h"

namespace weir {

class Requests;

class Request final : public LiveSubscriber, public std::enable_shared_from_this<Request> {
 public:
  Request(RelayContext& context, std::shared_ptr<Peer> peer, std::weak_ptr<Requests> owner, std::string name,
          std::vector<Filter> filters, bool is_count);

  const std::string& name() const { return name_; }
  bool is_count() const { return is_count_; }

  // Returns the account's refusal; empty if the memory was taken.
  std::string TakeMemory();
  void EndSpan(std::string_view refusal);
  // Begins, once the request was given a place.
  void Start();
  // Sends CLOSED and ends the request.
  void Refuse(std::string_view reason);
  // Ends the request: gives back what it has of the gate, the turns and its connection's places.
  void Stop();
  // Stops and gives back the rest.
  void End();

  void OnLive(const LiveEvent& event, bool by_query) override;
  void OnTooCostly() override;

 private:
  enum class State : uint8_t { kQueued, kAtGate, kReads, kPaused, kInLine, kCatchesUp, kLives, kOver };
  struct Report {
    std::string refusal;  // with prefix; if set, nothing follows
    bool done = false;
    std::shared_ptr<const std::string> text;  // whole messages, one after the other
    std::vector<uint32_t> ends;
    bool complete = false;
    Moment moment;
    uint64_t bytes() const { return ends.empty() ? 0 : ends.back(); }
  };
  struct Held {
    static constexpr uint64_t kBytes = 128;  // besides its record
    LiveEvent event;
    bool by_query;
    uint64_t bytes() const { return event.event.record()->size() + kBytes; }
  };

  void EnterLive();
  void PlanQuery();
  void AskGate();
  void AfterGate();
  bool TakeTurn();
  bool IsCovered() const;
  void GoOn();
  void GoOnInTurn();
  void SubmitSlice();
  Work RunSlice();
  void Walk(Report* report);
  void OnReport(const Report& report);
  void SayEvents(const Report& report);
  void Finish(const Report& report, Completeness completeness);
  void SayHeld();
  void SayLive(const LiveEvent& event, bool by_query);
  void Suspend();
  void GiveBackQuery();
  std::function<void()> Later(State state, void (Request::*step)());

  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  const std::weak_ptr<Requests> owner_;
  const std::string name_;
  const bool is_count_;
  const TimePoint received_;
  const std::string message_head_;  // `["EVENT","sub",`; empty for a COUNT
  std::atomic<State> state_{State::kQueued};
  HeldBytes memory_;           // for itself and its place in the live index
  HeldBytes filter_memory_;    // for its filters, until its query is over
  bool may_withhold_ = false;  // matches may be kept from this client, or are not asked for

  Delivery::Subscription live_;
  Moment moment_;  // the query's moment
  Completeness completeness_ = Completeness::kUnknown;
  std::deque<Held> held_;
  size_t before_eose_ = 0;  // events at the front of held_ that EOSE waits for
  bool said_eose_ = false;
  HeldBytes held_memory_;

  Cost cost_;
  std::optional<Admission> admission_;
  std::unique_ptr<ScanTurns::Place> turn_;
  std::vector<Filter> filters_;  // until its query is made
  QueryOptions options_;
  std::unique_ptr<Query> query_;
  Work slice_work_ = kTurnWork;  // work of the slice that is read
  HeldBytes query_memory_;
  uint64_t found_ = 0;

  Span span_;   // until its answer is out
  Span stage_;  // part of the span: at the gate, or a slice
};

}  // namespace weir
