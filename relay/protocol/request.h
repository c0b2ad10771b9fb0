// Request: one REQ or COUNT, from its place in its connection's queue to EOSE and on to live events.
//
//   kQueued     others of its connection run
//   kAtGate     it waits at the scan gate
//   kReads      a worker walks through a slice of the store for it, or what that found is on its way back
//   kPaused     it has said what was found, and goes on once its client has taken most of it
//   kInLine     it waits for a turn among the scans of its address, from the second slice on
//   kCatchesUp  what was stored is out; it says what came live meanwhile, and holds what comes behind that
//   kLives      it says what comes
//   kOver       it was answered, refused or closed
//
// From kAtGate to kInLine it has one of its connection's places. Where it stands still, it keeps nothing of its query
// but a key, and in kPaused and kInLine it gives gate and turn to others: those who read slowly would else keep all
// places and a snapshot each, for as long as they like. What a query holds between two slices counts for its account.
//
// An event that is replaced while the answer is under way may be in it in neither form: its old one is gone, and its
// new one has a place that was passed. So new versions that come live before EOSE are said before it, for a client that
// closes there.
//
// The gate sees what a request probably costs; where it turns out to cost more, it passes the gate again as that.
//
// Threads: the connection's I/O thread; in kReads what is below `admission_` is the worker's. Whoever lets go of it
// last gives back gate, turn and memory.
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

  // The account's refusal, or nothing.
  std::string TakeMemory();
  void EndSpan(std::string_view refusal);
  // It was given a place.
  void Start();
  // Says so, and is over.
  void Refuse(std::string_view reason);
  // It is over: gives back what it has of the gate, the turns and its connection's places.
  void Stop();
  // Stops, and gives back the rest.
  void End();

  void OnLive(const LiveEvent& event, bool by_query) override;
  void OnTooCostly() override;

 private:
  enum class State : uint8_t { kQueued, kAtGate, kReads, kPaused, kInLine, kCatchesUp, kLives, kOver };
  struct Report {
    std::string refusal;  // with prefix; nothing follows
    bool done = false;
    std::shared_ptr<const std::string> text;  // whole messages, one after the other
    std::vector<uint32_t> ends;
    bool complete = false;
    Moment moment;
    uint64_t bytes() const { return ends.empty() ? 0 : ends.back(); }
  };
  struct Held {
    static constexpr uint64_t kBytes = 128;  // beside its record
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
  const std::string message_head_;  // `["EVENT","sub",`; empty: events are only counted
  std::atomic<State> state_{State::kQueued};
  HeldBytes memory_;           // of itself and its place in the live index
  HeldBytes filter_memory_;    // until its query is over
  bool may_withhold_ = false;  // matches may be kept from this client, or are not asked for

  Delivery::Subscription live_;
  Moment moment_;  // that the query saw
  Completeness completeness_ = Completeness::kUnknown;
  std::deque<Held> held_;
  size_t before_eose_ = 0;  // of them, those in front that EOSE waits for
  bool said_eose_ = false;
  HeldBytes held_memory_;

  Cost cost_;
  std::optional<Admission> admission_;
  std::unique_ptr<ScanTurns::Place> turn_;
  std::vector<Filter> filters_;  // until its query is made
  QueryOptions options_;
  std::unique_ptr<Query> query_;
  Work slice_work_ = kTurnWork;  // of the slice that is read
  HeldBytes query_memory_;
  uint64_t found_ = 0;

  Span span_;   // until its answer is out
  Span stage_;  // of it: at the gate, or a slice
};

}  // namespace weir
