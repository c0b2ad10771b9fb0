// The live events of a Request (request.h).
#include <utility>

#include "relay/protocol/policy.h"
#include "relay/protocol/request.h"
#include "relay/protocol/request_room.h"

namespace weir {

// Subscribes with the filters that a future event can match; matching events with the others would be useless work. The
// filters of the query come first.
void Request::EnterLive() {
  const uint64_t now = context_.wall_clock.NowSeconds();
  const uint64_t past = context_.settings.created_at_past_s;
  const uint64_t oldest = past > 0 && now > past ? now - past : 0;
  std::vector<Filter> live;
  const auto add = [&](bool of_query) {
    for (const Filter& filter : filters_)
      if ((filter.limit != 0) == of_query && !filter.MatchesNothing() && filter.until >= oldest) live.push_back(filter);
  };
  live.reserve(filters_.size());
  add(true);
  const size_t of_query = live.size();
  add(false);
  live_ = context_.delivery.Subscribe(peer_->io_thread(), peer_->party().group, peer_->account(), std::move(live),
                                      of_query, this);
}

// Sends as many held events as fit into a turn; the others follow in the next turns.
void Request::SayHeld() {
  for (Work left = kTurnWork; left > 0 && state_ == State::kCatchesUp; left -= kDeliveryWork) {
    if (before_eose_ == 0 && !std::exchange(said_eose_, true))
      peer_->Say(RelayVerb::kEose, EoseMessage(name_, completeness_));
    if (held_.empty()) break;
    const Held held = std::move(held_.front());
    held_.pop_front();
    if (before_eose_ > 0) --before_eose_;
    held_memory_.GiveBack(held.bytes());
    room_->LetGo(held.bytes());
    SayLive(held.event, held.by_query);
  }
  if (!held_.empty() || !said_eose_) return Later(State::kCatchesUp, &Request::SayHeld)();
  if (state_ == State::kCatchesUp) state_ = State::kLives;
  held_ = {};
  held_memory_ = HeldBytes();
}

void Request::OnLive(const LiveEvent& event, bool by_query) {
  if (state_ == State::kOver || !MayRead()) return;
  if (state_ == State::kLives) return SayLive(event, by_query);
  const Held held{event, by_query};
  if (held_.empty()) held_memory_ = HeldBytes(peer_->account(), 0, Memory::kShared);
  if (!room_->MayHold(held.bytes()) || !held_memory_.TryAdd(held.bytes()))
    return Refuse("error: too many new events arrived while the stored events were being sent");
  room_->Hold(held.bytes());
  held_.push_back(held);
}

void Request::OnTooCostly() {
  Refuse(
      "rate-limited: new events come faster than they can be matched with all that your address subscribes to; "
      "subscribe to less, or with fewer conditions");
}

void Request::SayLive(const LiveEvent& event, bool by_query) {
  if (by_query && event.serial.number != 0 && moment_.Has(event.serial)) return;
  const EventView view = event.event.view();
  if (!IsFor(view, *peer_->identity()) || !context_.rules->MaySee(view)) return;
  peer_->SayEvent(
      {.head = message_head_, .owner = event.event.record(), .body = view.json(), .tail = kEventMessageTail});
}

}  // namespace weir
