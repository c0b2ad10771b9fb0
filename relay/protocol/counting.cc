#include "relay/protocol/counting.h"

#include "relay/nostr/messages.h"

namespace weir {
namespace {

constexpr double kMostError = 0.1;

}  // namespace

Result<Progress> Counting::Next(const EventStore& store, Query* query, Work most) {
  if (!estimate_) {
    Result<Progress> progress = query->Next({.max_work = most}, [this](EventView event) {
      ++counted_;
      if (sketch_) sketch_->Add(event.pubkey());
    });
    if (!progress.ok() || progress.value() == Progress::kDone || query->work() <= most_counted_) return progress;
    gave_up_ = !store.has_dense_serials();
    if (gave_up_) return Progress::kDone;
    query->Suspend();
    estimate_.emplace(store, *query, counted_);
    return Progress::kMore;
  }
  Result<Progress> progress = estimate_->Next(most);
  const bool is_over = !progress.ok() || progress.value() == Progress::kDone;
  if (is_over || query->work() + estimate_->work() <= most_counted_ + most_sampled_) return progress;
  gave_up_ = estimate_->error() > kMostError;
  return Progress::kDone;
}

std::string Counting::TakeAnswer() {
  return CountMessage(subscription_, events(), is_estimate(), sketch_ && !is_estimate() ? sketch_->ToHex() : "");
}

}  // namespace weir
