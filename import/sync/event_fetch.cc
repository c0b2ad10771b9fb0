#include "import/sync/event_fetch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/hex.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"

namespace weir {

Status EventFetch::AskMore(const Say& say) {
  if (clock_.Now() < pause_until_) return {};
  while (!wanted_.empty() && requests_.size() < most_requests_) {
    Request request;
    while (!wanted_.empty() && request.open.size() < kIdsOfRequest) {
      request.open.insert(wanted_.front());
      wanted_.pop_front();
    }
    Filter filter;
    filter.ids.emplace(request.open.begin(), request.open.end());
    const std::string subscription = "fetch-" + std::to_string(++asked_);
    requests_.emplace(subscription, std::move(request));
    if (Status said = say("[\"REQ\",\"" + subscription + "\"," + ToJson(filter) + "]"); !said.ok()) return said;
  }
  return {};
}

Result<bool> EventFetch::OnMessage(const RelayMessage& message, const Say& say, const Take& take) {
  const auto request = requests_.find(message.subject);
  if (request == requests_.end()) return false;
  switch (message.kind) {
    case RelayMessage::Kind::kEvent: {
      EventId id{};
      // An event that was not asked for, or that comes twice, is none of this sync.
      if (!FromHex(FindId(message.event), id.data(), id.size()) || request->second.open.erase(id) == 0) return true;
      request->second.asks_again = true;
      refusals_ = 0;
      if (Status taken = take(message.event); !taken.ok()) return taken;
      return true;
    }
    case RelayMessage::Kind::kEose: {
      const std::string subscription = request->first;
      EndRequest(request);
      if (Status said = say("[\"CLOSE\",\"" + subscription + "\"]"); !said.ok()) return said;
      return true;
    }
    case RelayMessage::Kind::kClosed:
      if (++refusals_ == kMostRefusals || message.text.starts_with("auth-required:"))
        return Status::Error("the relay does not give its events: " + message.text);
      request->second.asks_again = true;
      EndRequest(request);
      most_requests_ = std::max<size_t>(1, most_requests_ / 2);
      pause_until_ = clock_.Now() + kPause;
      return true;
    default:
      return false;
  }
}

void EventFetch::EndRequest(std::map<std::string, Request>::iterator request) {
  const Request ended = std::move(request->second);
  requests_.erase(request);
  if (ended.asks_again) {
    wanted_.insert(wanted_.end(), ended.open.begin(), ended.open.end());
  } else {
    missing_ += ended.open.size();
  }
}

}  // namespace weir
