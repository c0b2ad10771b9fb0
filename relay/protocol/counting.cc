#include "relay/protocol/counting.h"

#include <vector>

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
    if (Status begun = BeginEstimate(store, *query); !begun.ok()) return begun;
    return estimate_ ? Progress::kMore : Progress::kDone;
  }
  Result<Progress> progress = estimate_->Next(most);
  const bool is_over = !progress.ok() || progress.value() == Progress::kDone;
  if (is_over || query->work() + estimate_->work() <= most_counted_ + most_sampled_) return progress;
  if (estimate_->error() > kMostError) refusal_ = kLooksAtTooMuch;
  return Progress::kDone;
}

Status Counting::BeginEstimate(const EventStore& store, Query& query) {
  query.Suspend();
  Result<std::vector<EventGroups>> groups = std::vector<EventGroups>();
  if (!has_search_) groups = store.Groups(query.moment());
  if (!groups.ok()) return groups.status();
  if (groups.value().empty()) {
    refusal_ = kLooksAtTooMuch;
  } else {
    estimate_.emplace(std::move(groups).value(), query, counted_, random_);
  }
  return {};
}

std::string Counting::TakeAnswer() {
  return CountMessage(subscription_, events(), is_estimate(), sketch_ && !is_estimate() ? sketch_->ToHex() : "");
}

}  // namespace weir
