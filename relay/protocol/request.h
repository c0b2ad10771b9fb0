// Request: one REQ, COUNT or NEG-OPEN of a client. A REQ waits in its connection's queue, sends the stored events,
// sends EOSE, and then sends live events. A COUNT also waits in the queue, then counts (counting.h), answers and ends.
// A NEG-OPEN waits in the queue, gathers a set of events (sync_dialogue.h), answers its first message and stays open;
// for each NEG-MSG it waits in the queue again and answers. A request works in slices of about a millisecond, on
// workers. Its states are:
//
//   kQueued     it waits for one of the places of its connection (requests.h)
//   kAtGate     it waits at the scan gate, which limits the reads of all clients (throttle/adaptive_limiter.h)
//   kReads      a worker reads a slice for it, or the slice's report is on its way back to the I/O thread
//   kPaused     it has sent the events of a slice, and waits until its client has taken most of them
//   kInLine     it has read a slice, and waits for a turn among the scans of its address (scan_turns.h)
//   kCatchesUp  it has sent the stored events; it sends the live events that came meanwhile, and queues newer ones
//   kLives      it sends live events as they come; a NEG-OPEN waits for the next NEG-MSG
//   kOver       it was answered, refused or closed
//
// In the states from kAtGate to kInLine a request has one of the four places of its connection (requests.h). While it
// waits in one of these states, its query keeps only a key from which it can continue. While it waits in kPaused or
// kInLine, it has no admission of the gate and no turn, so clients that read slowly keep neither from others. The
// memory that a query holds between two slices counts in the client's account (relay/account/ledger.h).
//
// If an event is replaced while the request reads the store, the query may find neither version: the old version is
// gone, and the query has passed the place of the new one. So new versions that arrive live before EOSE are sent before
// EOSE, because some clients close the subscription at EOSE.
//
// The scan gate admits a request at its estimated cost (request_cost.h). If the request turns out to cost more, it must
// ask the gate again, at a higher cost.
//
// If the rules change so that the client may not read any more, the request is closed at its next slice or live event,
// or by Requests::CloseIfDenied within a second.
//
// Threads: all functions run on the connection's I/O thread, except RunSlice and Walk, which run on a worker. In kReads
// `gathering_` and the members from `admission_` to `found_` belong to the worker. The destructor returns the request's
// memory, admission and turn, if the request still has them.
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
#include "relay/protocol/counting.h"
#include "relay/protocol/peer.h"
#include "relay/protocol/relay_context.h"
#include "relay/protocol/sync_dialogue.h"

namespace weir {

class RequestRoom;

class Request final : public LiveSubscriber, public std::enable_shared_from_this<Request> {
 public:
  // `name` is the subscription's id. `room` is that of the Requests object that owns the request. `verb` is kReq,
  // kCount or kNegOpen; `message` is that of a NegOpen. A request must be made with std::make_shared, because workers
  // share it.
  Request(RelayContext& context, std::shared_ptr<Peer> peer, std::shared_ptr<RequestRoom> room, std::string name,
          std::vector<Filter> filters, Verb verb, std::string message = {});

  const std::string& name() const { return name_; }
  Verb verb() const { return verb_; }
  const std::vector<Filter>& filters() const { return filters_; }  // complete until Start

  // Counts the memory of the request in the client's account. Returns an empty string, or, if the account has no room
  // for it, the reason for a refusal, with NIP-01's prefix.
  std::string TakeMemory();
  // Ends the trace span of the request, if it is traced. `refusal` is the reason for a refusal with its prefix, or
  // "closed"; empty if the request was answered.
  void EndSpan(std::string_view refusal);
  // Begins to answer the request. Requests calls Start when it has given the request a place.
  void Start();
  // Sends CLOSED with `reason`, which begins with NIP-01's prefix. Then the owner removes and ends the request. This
  // may destroy the request before Refuse returns.
  void Refuse(std::string_view reason);
  // Answers a request that has not started as if no event matched, and ends it. Then the owner removes the request, as
  // after Refuse.
  void AnswerNothing();
  // Makes a NEG-OPEN that has not started go on as if no event matched. Returns false, and does nothing, for a REQ or
  // COUNT.
  bool FindNothing();
  // Takes the next message of an open NEG-OPEN. Returns an empty string, and then Start must be called again, or the
  // reason for which the NEG-OPEN must be refused.
  std::string Hear(std::string message);
  // Returns true if this is an open NEG-OPEN whose client has sent nothing for too long.
  bool IsSilent() const;
  // Changes the state to kOver and returns the admission, the turn and the connection's place. In kReads, the worker
  // returns the admission and the turn, and OnReport returns the place. From now on the request ignores live events.
  // May be called more than once.
  void Stop();
  // Calls Stop, removes the request from the live index and returns its memory. Called once, by Requests::Remove.
  void End();

  void OnLive(const LiveEvent& event, bool by_query) override;
  void OnTooCostly() override;

 private:
  enum class State : uint8_t { kQueued, kAtGate, kReads, kPaused, kInLine, kCatchesUp, kLives, kOver };
  // The result of one slice.
  struct Report {
    std::string refusal;                      // the reason with its prefix; if not empty, the rest has no meaning
    bool done = false;                        // true if this was the last slice
    std::shared_ptr<const std::string> text;  // whole EVENT messages, without separators; null if the slice found none
    std::vector<uint32_t> ends;               // the end of each message in `text`
    bool complete = false;                    // true if all stored matches were found (Query::complete)
    Moment moment;                            // the query's moment (relay/store/serial.h), if `done`
    uint64_t bytes() const { return ends.empty() ? 0 : ends.back(); }
  };
  // A live event that waits until the stored events are sent.
  struct Held {
    static constexpr uint64_t kBytes = 128;  // its memory without the event's record
    LiveEvent event;
    bool by_query;
    uint64_t bytes() const { return event.event.record()->size() + kBytes; }
  };

  void EnterLive();
  void PlanQuery();
  IdsOnly PlanIds() const;
  std::string TakeGatheredMemory();
  // Returns false for a private event of which a client with these keys is no party. May be called from any thread.
  bool IsFor(EventView event, const Identity& identity) const;
  void AskGate();
  void AfterGate();
  bool TakeTurn();
  Work WorkDone() const;
  bool IsCovered() const;
  void GoOn();
  void GoOnInTurn();
  void SubmitSlice();
  Work RunSlice();
  void Walk(Report* report);
  Result<Progress> ReadEvents(Report* report);
  void OnReport(const Report& report);
  bool MayRead();
  void SayEvents(const Report& report);
  void Finish(const Report& report, Completeness completeness);
  void AnswerSync();
  void SayHeld();
  void SayLive(const LiveEvent& event, bool by_query);
  void Suspend();
  void GiveBackQuery();
  std::function<void()> Later(State state, void (Request::*step)());

  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  const std::shared_ptr<RequestRoom> room_;
  const std::string name_;
  const Verb verb_;
  const std::unique_ptr<Gathering> gathering_;  // null for a REQ
  Counting* const counting_;                    // the gathering of a COUNT, else null
  SyncDialogue* const sync_;                    // the gathering of a NEG-OPEN, else null
  const TimePoint received_;
  const std::string message_head_;  // `["EVENT","sub",`; only for a REQ
  std::atomic<State> state_{State::kQueued};
  HeldBytes memory_;               // the memory of the request itself and of its place in the live index
  HeldBytes filter_memory_;        // the memory of its filters, until its query has ended
  bool may_withhold_ = false;      // true if matches may be left out: private events, or those of a filter with limit 0
  uint64_t rules_generation_ = 0;  // that of the rules at the start

  Delivery::Subscription live_;
  TimePoint answered_;  // the last answer of a NEG-OPEN
  Moment moment_;       // the query's moment, known once the stored events are sent
  Completeness completeness_ = Completeness::kUnknown;
  std::deque<Held> held_;
  size_t before_eose_ = 0;  // the number of events at the front of held_ that are sent before EOSE
  bool said_eose_ = false;
  HeldBytes held_memory_;

  Cost cost_;
  std::optional<Admission> admission_;
  std::unique_ptr<ScanTurns::Place> turn_;
  std::vector<Filter> filters_;  // empty once the query is made
  QueryOptions options_;
  const Rules* slice_rules_ = nullptr;  // the rules during a slice; Walk holds them, so that no event asks for the lock
  std::unique_ptr<Query> query_;
  bool is_first_slice_ = true;
  Work slice_work_ = kTurnWork;  // the most work that the current slice may do
  HeldBytes query_memory_;
  HeldBytes gathered_memory_;  // the memory of the gathering, for a NEG-OPEN
  uint64_t found_ = 0;         // the number of events that the query of a REQ has found so far

  Span span_;   // ends when the answer is sent
  Span stage_;  // a child of span_: the wait at the gate, or a slice
};

}  // namespace weir
