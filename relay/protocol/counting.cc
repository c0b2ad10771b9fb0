#include "relay/protocol/counting.h"

#include "relay/nostr/messages.h"

namespace weir {
namespace {

constexpr double kMostError = 0.1;
constexpr const char* kNotBuilt =
    "error: the search does not find all events yet; ask again when the relay has read them";

}  // namespace

Result<Progress> Counting::Next(const EventStore& store, Query* query, Work most) {
  if (!estimate_) {
    Result<Progress> progress = query->Next({.max_work = most}, [this](EventView event) {
      ++counted_;
      if (sketch_) sketch_->Add(event.pubkey());
    });
    const bool is_over = progress.ok() && progress.value() == Progress::kDone;
    if (is_over && has_search_ && !query->complete()) refusal_ = kNotBuilt;
    if (!progress.ok() || is_over || query->work() <= most_counted_) return progress;
    if (has_search_ || !store.has_dense_serials()) {
      refusal_ = kLooksAtTooMuch;
      return Progress::kDone;
    }
    query->Suspend();
    estimate_.emplace(store, *query, counted_);
    return Progress::kMore;
  }
  Result<Progress> progress = estimate_->Next(most);
  const bool is_over = !progress.ok() || progress.value() == Progress::kDone;
  if (is_over || query->work() + estimate_->work() <= most_counted_ + most_sampled_) return progress;
  if (estimate_->error() > kMostError) refusal_ = kLooksAtTooMuch;
  return Progress::kDone;
}

std::string Counting::TakeAnswer() {
  return CountMessage(subscription_, events(), is_estimate(), sketch_ && !is_estimate() ? sketch_->ToHex() : "");
}

}  // namespace weir
