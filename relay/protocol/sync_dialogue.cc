#include "relay/protocol/sync_dialogue.h"

#include <algorithm>
#include <utility>

#include "relay/nostr/messages.h"

namespace weir {
namespace {

constexpr Work kSealStepWork = 10;
constexpr Work kMostSealSteps = 25;  // for each event
// A set of so few events is gathered, sealed and compared in one slice.
constexpr size_t kFewEvents = 1000;

}  // namespace

void SyncDialogue::Hear(std::string message) {
  other_work_ = 0;
  message_ = std::move(message);
}

Result<Progress> SyncDialogue::Next(const EventStore&, Query* query, Work most) {
  if (!gathered_) {
    Result<Progress> progress = Gather(*query, most);
    const bool is_refused = !progress.ok() || progress.value() == Progress::kDone;
    if (is_refused || !gathered_ || set_.size() > kFewEvents) return progress;
  }
  if (!sealed_) {
    sealed_ = set_.Seal(most / kSealStepWork);
    other_work_ += std::min<Work>(most, kMostSealSteps * set_.size() * kSealStepWork);
    if (!sealed_ || set_.size() > kFewEvents) return Progress::kMore;
  }
  if (!reconciler_) reconciler_ = std::make_unique<Reconciler>(set_, std::move(message_), frame_bytes_);
  const Result<bool> done = reconciler_->Next(most);
  if (!done.ok()) refusal_ = "invalid: " + done.status().message();
  if (done.ok() && !done.value()) return Progress::kMore;
  if (done.ok()) answer_ = NegMsgMessage(subscription_, reconciler_->Take());
  other_work_ += reconciler_->work();
  reconciler_.reset();
  return Progress::kDone;
}

Result<Progress> SyncDialogue::Gather(Query& query, Work most) {
  Result<Progress> progress = query.Next({.max_work = most}, [this](EventView event) {
    if (set_.size() <= most_events_ && event.created_at() != kInfinity.created_at)
      set_.Add({event.created_at(), event.id()});
  });
  if (!progress.ok()) return progress;
  gathered_ = progress.value() == Progress::kDone;
  is_too_big_ = set_.size() > most_events_ || (gathered_ && !has_limit_ && !query.complete());
  if (!is_too_big_) return Progress::kMore;
  refusal_ = "blocked: this query is too big: at most " + std::to_string(most_events_) +
             " events can be compared at once; narrow the filter by time";
  return Progress::kDone;
}

uint64_t SyncDialogue::held_bytes() const {
  return set_.bytes() + message_.capacity() + answer_.capacity() + (reconciler_ ? reconciler_->held_bytes() : 0);
}

}  // namespace weir
