#include "import/sync/event_offer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/hex.h"

namespace weir {

Status EventOffer::SendMore(const Say& say) {
  if (clock_.Now() < pause_until_) return {};
  while (!waiting_.empty() && unanswered_.size() < kMostUnanswered) {
    const size_t count = std::min(waiting_.size(), kMostUnanswered - unanswered_.size());
    std::vector<EventId> ids;
    for (size_t n = 0; n < count; ++n) {
      const Offered& next = waiting_.front();
      ids.push_back(next.id);
      unanswered_[next.id] = next.tries + 1;
      waiting_.pop_front();
    }
    Status said;
    std::vector<EventId> sent;
    const Status read = read_(ids, [&](EventView event) {
      if (!said.ok()) return;
      sent.push_back(event.id());
      said = say("[\"EVENT\"," + std::string(event.json()) + "]");
    });
    if (!read.ok()) return read;
    if (!said.ok()) return said;
    if (sent.size() == ids.size()) continue;
    std::ranges::sort(sent);
    for (const EventId& id : ids)
      if (!std::ranges::binary_search(sent, id)) gone_ += unanswered_.erase(id);
  }
  return {};
}

bool EventOffer::OnMessage(const RelayMessage& message) {
  if (message.kind != RelayMessage::Kind::kOk) return false;
  EventId id{};
  if (!FromHex(message.subject, id.data(), id.size())) return false;
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return false;
  const int tries = found->second;
  unanswered_.erase(found);
  if (message.accepted) {
    ++accepted_;
  } else if (message.text.starts_with("rate-limited:") && tries < kMostTries) {
    waiting_.push_back({id, tries});
    pause_until_ = clock_.Now() + kPause;
  } else {
    const bool is_known = refused_.contains(message.text) || refused_.size() < kMostReasons;
    ++refused_[is_known ? message.text : "other reasons"];
  }
  return true;
}

}  // namespace weir
