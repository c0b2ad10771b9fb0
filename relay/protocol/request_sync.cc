// The messages of a NEG-OPEN (request.h).
#include <algorithm>
#include <utility>

#include "relay/protocol/policy.h"
#include "relay/protocol/request.h"
#include "relay/protocol/request_room.h"

namespace weir {
namespace {

// A NEG-OPEN without a NEG-MSG for so long is closed. Clients may fetch events between two messages.
constexpr Duration kMostSilence = std::chrono::minutes(2);

// If more authors are banned, records are read to find out whose events they are.
constexpr size_t kMostBanned = 10'000;

}  // namespace

bool Request::FindNothing() {
  if (sync_ != nullptr) sync_->FindNothing();
  return sync_ != nullptr;
}

// The entries of the index show the kind, and the beginning of the author's key.
IdsOnly Request::PlanIds() const {
  const DecidedLists& decided = context_.rules->decided();
  const auto sight = [this, identity = peer_->identity(), banned = decided.banned_authors.Beginnings(kMostBanned)](
                         uint16_t kind, uint32_t by) {
    if (context_.settings.auth && IsPrivate(kind)) return identity->empty() ? Sight::kHidden : Sight::kUnknown;
    const bool may_be_banned = !banned || std::ranges::binary_search(*banned, by);
    return may_be_banned || slice_rules_->hides() ? Sight::kUnknown : Sight::kShown;
  };
  return {.sight = sight, .shows = [&decided](const EventId& id) { return !decided.banned_events.Has(id); }};
}

// A NEG-OPEN stays open, and waits for the next message.
void Request::AnswerSync() {
  state_ = State::kLives;
  answered_ = context_.clock.Now();
  room_->ReturnPlace();
  std::string answer = sync_->TakeAnswer();
  (void)TakeGatheredMemory();  // which is less now
  peer_->Say(RelayVerb::kNegMsg, std::move(answer));
}

std::string Request::Hear(std::string message) {
  if (state_ != State::kLives) return "invalid: the message before is not answered yet; send one at a time";
  state_ = State::kQueued;
  sync_->Hear(std::move(message));
  return TakeGatheredMemory();
}

bool Request::IsSilent() const {
  return sync_ != nullptr && state_ == State::kLives && context_.clock.Now() - answered_ > kMostSilence;
}

}  // namespace weir
