// The messages of a NEG-OPEN (request.h).
#include <utility>

#include "relay/protocol/request.h"
#include "relay/protocol/request_room.h"

namespace weir {
namespace {

// A NEG-OPEN without a NEG-MSG for so long is closed. Clients may fetch events between two messages.
constexpr Duration kMostSilence = std::chrono::minutes(2);

}  // namespace

bool Request::FindNothing() {
  if (sync_ != nullptr) sync_->FindNothing();
  return sync_ != nullptr;
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
