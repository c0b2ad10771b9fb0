// The two halves of EventPipeline share these types: event_judging.cc judges events before the gates, and
// event_pipeline.cc passes them through the gates and the commit to their answers.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/account/work.h"
#include "relay/protocol/event_pipeline.h"
#include "relay/standing/ladder.h"

namespace weir {

inline constexpr const char* kHaveIt = "duplicate: already have this event";
// The work of an event after its wait at the gate: it is only passed on or answered.
inline constexpr Work kAfterWaitWork = kDeliveryWork;

// Logs the fault, and returns the answer to the event whose handling it ended.
std::string FaultText(const std::exception& fault);

// Flight: an event from parsing until its answer. The destructor returns its bytes to the budget and its admission to
// the gate, whatever happens.
struct EventPipeline::Flight final : Submission {
  Flight(const Event& e, const EventBatch& batch, Work saving, uint64_t bytes, ByteBudget& from, Span of)
      : Submission(e, batch.party, saving),
        sender(batch.sender),
        client(batch.party),
        identity(batch.identity),
        received(batch.received),
        budget_bytes(bytes),
        budget(from),
        span(std::move(of)) {}
  ~Flight() override {
    if (budget_bytes > 0) budget.GiveBack(budget_bytes);
  }

  uint64_t TakeBytes() { return std::exchange(budget_bytes, 0); }

  const std::shared_ptr<EventSender> sender;
  const Party client;  // the sender's; Submission::party is another one if the event is held back
  const std::shared_ptr<const Identity> identity;
  const TimePoint received;
  uint64_t budget_bytes;
  ByteBudget& budget;
  Work debt = 0;                       // the part of its address's debt that the event is charged
  Cost cost;                           // at the gates
  std::optional<Rung> rung;            // its author's; nullopt if the event has no standing or there is no ladder
  bool held_back = false;              // the event may be held back for its rung
  bool would_wait = false;             // the event would be held back if the ladder were on
  bool waited = false;                 // the event has waited at a gate
  std::unique_ptr<WordSearch> search;  // null if its content need not be searched, or was searched
  std::optional<Admission> admission;
  StrangerShare::Room room;  // while the event waits and is held back
  Span span;
  Span stage;  // a part of `span`: the wait for the plugin or at the gate, or the commit
};

// The results of a task for its events.
struct EventPipeline::Judged {
  std::vector<Answer> answers;
  std::vector<std::shared_ptr<Submission>> submissions;
  std::shared_ptr<LiveBatch> live;
  uint64_t settled_bytes = 0;  // bytes that Finish returns to the budget

  void Live(Flight& flight) {
    if (live == nullptr) live = std::make_shared<LiveBatch>(flight.budget);
    live->events.push_back({flight.event, flight.result.serial, flight.received});
    live->bytes += flight.TakeBytes();
  }
};

// A batch that is being judged.
struct EventPipeline::Judging {
  const std::shared_ptr<EventBatch> batch;       // without the texts once they were read
  std::vector<std::shared_ptr<Flight>> flights;  // the events that the rules take
  Judged judged;
};

}  // namespace weir
