#include "import/sync/page_walk.h"

#include <utility>

namespace weir {

PageWalk::PageWalk(const SyncSet& set, Filter filter) : set_(set), filter_(std::move(filter)), seen_(set.size()) {
  filter_.limit = kEventsOfPage;
}

Status PageWalk::AskNext(const Say& say) {
  new_on_page_ = on_page_ = 0;
  ++pages_;
  return say("[\"REQ\",\"" + Subscription() + "\"," + ToJson(filter_) + "]");
}

Result<bool> PageWalk::OnMessage(const RelayMessage& message, const Say& say, const Take& take) {
  using Kind = RelayMessage::Kind;
  if (message.subject != Subscription() || done_) return false;
  if (message.kind == Kind::kClosed) return Status::Error("the relay refuses to be read: " + message.text);
  if (message.kind != Kind::kEvent && message.kind != Kind::kEose) return false;
  Status status = message.kind == Kind::kEvent ? TakeEvent(message.event, take) : EndPage(say);
  if (!status.ok()) return status;
  return true;
}

// An event that is not valid goes to `take`, which says what is wrong with it, but does not move the walk.
Status PageWalk::TakeEvent(std::string_view json, const Take& take) {
  const Result<Event> parsed = parser_.Parse(json);
  if (!parsed.ok()) return take(json);
  const EventView event = parsed.value().view();
  const SyncItem item{.created_at = event.created_at(), .id = event.id()};
  if (item.created_at > filter_.until) return {};  // the relay ignores `until`, and the page does not count
  ++on_page_;
  if (item.created_at < oldest_) {
    oldest_ = item.created_at;
    of_oldest_second_.clear();
  }
  if (item.created_at == oldest_ && !of_oldest_second_.insert(item.id).second) return {};
  ++new_on_page_;
  const size_t index = set_.FirstAtOrBehind(item, 0);
  if (index < set_.size() && set_[index] == item) {
    seen_[index] = true;
    return {};
  }
  ++found_;
  return take(json);
}

Status PageWalk::EndPage(const Say& say) {
  if (Status closed = say("[\"CLOSE\",\"" + Subscription() + "\"]"); !closed.ok()) return closed;
  done_ = on_page_ == 0 || oldest_ == 0 || oldest_ < filter_.since;
  if (done_) return {};
  // A page without a new event ends at events that were known: all others of their second are behind its limit.
  if (new_on_page_ == 0) {
    cut_seconds_ += on_page_ >= kEventsOfPage ? 1 : 0;
    filter_.until = oldest_ - 1;
  } else {
    filter_.until = oldest_;
  }
  return AskNext(say);
}

std::vector<EventId> PageWalk::Unseen() const {
  std::vector<EventId> ids;
  for (size_t n = 0; n < seen_.size(); ++n)
    if (!seen_[n]) ids.push_back(set_[n].id);
  return ids;
}

}  // namespace weir
