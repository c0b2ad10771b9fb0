#include "import/sync/page_walk.h"

#include <algorithm>
#include <utility>

#include "import/sync/remote_relay.h"

namespace weir {
namespace {

// A page of fewer events is hardly one that a limit of the relay has cut.
constexpr uint64_t kLeastLimit = 100;

}  // namespace

PageWalk::PageWalk(SyncPart set, Filter filter, const EventLimits& limits)
    : set_(set), filter_(std::move(filter)), parser_(limits), seen_(set.size()) {
  filter_.limit = kEventsOfPage;
}

Status PageWalk::AskNext(const Say& say) {
  new_on_page_ = on_page_ = beyond_page_ = 0;
  ++pages_;
  return say("[\"REQ\",\"" + Subscription() + "\"," + RemoteRelay::FilterText(filter_) + "]");
}

Result<bool> PageWalk::OnMessage(const RelayMessage& message, const Say& say, const Take& take) {
  using Kind = RelayMessage::Kind;
  if (!message.subject.starts_with(kPage) || done_) return false;
  if (message.subject != Subscription()) return true;  // the rest of a page that was given up
  if (message.kind == Kind::kClosed) return Status::Error("the relay refuses to be read: " + message.text);
  if (message.kind != Kind::kEvent && message.kind != Kind::kEose) return false;
  Status status = message.kind == Kind::kEvent ? TakeEvent(message.event, say, take) : EndPage(say);
  if (!status.ok()) return status;
  return true;
}

Status PageWalk::AskAgain(const Say& say) {
  awaits_known_ = false;
  until_excludes_ = true;
  ++filter_.until;
  return AskNext(say);
}

// An event that is not valid goes to `take`, which says what is wrong with it, but does not move the walk.
Status PageWalk::TakeEvent(std::string_view json, const Say& say, const Take& take) {
  if (on_page_ + beyond_page_ >= kMostOfPage) return Status::Error("the relay gives no pages: one does not end");
  const Result<Event> parsed = parser_.Parse(json);
  if (!parsed.ok()) {
    ++beyond_page_;
    return take(json);
  }
  const EventView event = parsed.value().view();
  const SyncItem item{.created_at = event.created_at(), .id = event.id()};
  if (!filter_.Matches(event)) {
    ++beyond_page_;
    return {};
  }
  if (awaits_known_ && item.created_at < oldest_) {
    Status closed = Close(say);
    return closed.ok() ? AskAgain(say) : closed;
  }
  awaits_known_ = false;
  ++on_page_;
  if (until_excludes_ && item.created_at >= filter_.until) return {};
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

Status PageWalk::Close(const Say& say) const { return say("[\"CLOSE\",\"" + Subscription() + "\"]"); }

Status PageWalk::EndPage(const Say& say) {
  if (Status closed = Close(say); !closed.ok()) return closed;
  if (awaits_known_ && beyond_page_ == 0) return AskAgain(say);
  if (on_page_ == 0 && beyond_page_ > 0)
    return Status::Error("the relay gives no pages: none of the events on one is valid and matches its filter");
  largest_page_ = std::max(largest_page_, on_page_);
  // A page without a new event ends at events that were known: all others of their second are behind its limit.
  if (new_on_page_ == 0 && on_page_ == largest_page_ && on_page_ >= kLeastLimit) ++cut_seconds_;
  const uint64_t next = new_on_page_ == 0 ? oldest_ - 1 : oldest_;
  done_ = on_page_ == 0 || next < filter_.since || (new_on_page_ == 0 && oldest_ == 0);
  if (done_) return {};
  awaits_known_ = next == oldest_ && !until_excludes_;
  filter_.until = until_excludes_ ? next + 1 : next;
  return AskNext(say);
}

std::vector<EventId> PageWalk::Unseen() const {
  std::vector<EventId> ids;
  for (size_t n = 0; n < seen_.size(); ++n)
    if (!seen_[n]) ids.push_back(set_[n].id);
  return ids;
}

}  // namespace weir
