#include "import/sync/event_offer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/hex.h"
#include "relay/protocol/policy.h"

namespace weir {
namespace {

// Events that are read before they are sent; bounds the memory that they take.
constexpr size_t kMostRead = 32;

}  // namespace

size_t EventOffer::MostEventBytes(size_t most_message_bytes) {
  constexpr size_t kAroundEvent = 16;
  return most_message_bytes - std::min(most_message_bytes, kAroundEvent);
}

bool EventOffer::MaySend(EventView event) const {
  if (!IsPrivate(event.kind())) return true;
  return std::ranges::any_of(limits_.filters, [event](const Filter& filter) {
    return filter.kinds && std::ranges::binary_search(*filter.kinds, event.kind()) && filter.Matches(event);
  });
}

EventOffer::Read EventOffer::ReadFrom(const EventStore& store) {
  return [&store](std::span<const EventId> ids, const std::function<void(EventView event)>& take) {
    Filter filter;
    filter.ids.emplace(ids.begin(), ids.end());
    std::ranges::sort(*filter.ids);
    const auto query = store.Find({std::move(filter)}, {.max_limit = kAllEvents});
    Result<Progress> progress = Progress::kMore;
    while (progress.ok() && progress.value() == Progress::kMore) progress = query->Next({}, take);
    return progress.status();
  };
}

Status EventOffer::SendMore(const Say& say) {
  while (clock_.Now() >= pause_until_ && !waiting_.empty() && unanswered_.size() < most_unanswered_)
    if (Status sent = SendSome(say); !sent.ok()) return sent;
  return {};
}

Status EventOffer::SendSome(const Say& say) {
  const size_t count = std::min({kMostRead, waiting_.size(), most_unanswered_ - unanswered_.size()});
  std::vector<EventId> ids;
  for (size_t n = 0; n < count; ++n) {
    const Offered& next = waiting_.front();
    ids.push_back(next.id);
    unanswered_[next.id] = next.tries + 1;
    waiting_.pop_front();
  }
  std::vector<std::pair<EventId, std::string>> found;
  Status read =
      read_(ids, [&](EventView event) { found.emplace_back(event.id(), MaySend(event) ? event.json() : ""); });
  if (!read.ok()) return read;
  for (const auto& [id, json] : found) {
    std::erase(ids, id);
    const bool is_long = json.size() > limits_.most_event_bytes;
    if (json.empty()) ++withheld_;
    if (is_long) refused_.Add("it is longer than the relay takes");
    if (json.empty() || is_long) {
      unanswered_.erase(id);
      continue;
    }
    limits_.on_sent(id);
    if (Status said = say("[\"EVENT\"," + json + "]"); !said.ok()) return said;
  }
  for (const EventId& id : ids) gone_ += unanswered_.erase(id);
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
    pause_ = kPause;
  } else if (message.text.starts_with("rate-limited:") && tries < kMostTries) {
    waiting_.push_back({id, tries});
    // The refusals of events that were under way together count once.
    if (clock_.Now() < pause_until_) return true;
    most_unanswered_ = std::max<size_t>(1, most_unanswered_ / 2);
    pause_until_ = clock_.Now() + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  } else {
    refused_.Add(message.text);
  }
  return true;
}

}  // namespace weir
