#include "import/links/link_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "config/text/hex.h"

namespace weir {
namespace {

constexpr std::string_view kLiveSubscription = "live";
// New events of this relay go out after at most this time.
constexpr std::chrono::milliseconds kTakeOwnEvery{20};
constexpr std::chrono::milliseconds kHearNewsEvery{250};

// The bytes of a comparison are those of the whole connection.
SyncCounts WithoutBytes(SyncCounts counts) {
  counts.bytes_sent = counts.bytes_received = 0;
  return counts;
}

}  // namespace

LinkSession::LinkSession(LinkSessionParts parts)
    : parts_(std::move(parts)),
      say_([this](std::string_view message) { return parts_.relay.Say(message); }),
      offer_(EventOffer::ReadFrom(parts_.store),
             EventOffer::LimitsFor(parts_.order.filters, parts_.relay.information().most_message_bytes)),
      parser_(parts_.limits),
      heard_(Clock::System().Now()) {}

Status LinkSession::Run() {
  if (Status subscribed = Subscribe(); !subscribed.ok()) return subscribed;
  if (Status compared = CatchUp(parts_.order.direction); !compared.ok()) return compared;
  return Live();
}

Status LinkSession::Subscribe() {
  if (parts_.sink == nullptr) return {};
  std::string request = "[\"REQ\",\"" + std::string(kLiveSubscription) + "\"";
  for (Filter filter : parts_.order.filters) {
    filter.limit = 0;
    request += "," + ToJson(filter);
  }
  return say_(request + "]");
}

Status LinkSession::CatchUp(SyncDirection direction) {
  if (parts_.order.catch_up_s == 0) return {};
  const Result<std::unique_ptr<RunningLimit::Slot>> turn = AwaitTurn();
  if (!turn.ok()) return turn.status();
  for (const Filter& filter : parts_.order.filters)
    if (Status compared = Compare(filter, direction); !compared.ok()) return compared;
  heard_ = Clock::System().Now();
  return {};
}

Result<std::unique_ptr<RunningLimit::Slot>> LinkSession::AwaitTurn() {
  while (true) {
    if (auto slot = parts_.comparisons.Take()) return slot;
    const Result<bool> heard =
        parts_.relay.Hear(kHearNewsEvery, [this](const RelayMessage& message) { return OnMessage(message); });
    if (!heard.ok()) return heard.status();
    parts_.on_progress(false, counts());
  }
}

Status LinkSession::Compare(Filter filter, SyncDirection direction) {
  if (parts_.order.catch_up_s) {
    const uint64_t now = parts_.clock.NowSeconds();
    filter.since = std::max(filter.since, now - std::min(now, *parts_.order.catch_up_s));
    if (filter.MatchesNothing()) return {};
  }
  SyncSession session({.relay = parts_.relay,
                       .store = parts_.store,
                       .filter = std::move(filter),
                       .direction = direction,
                       .limits = parts_.limits,
                       .take =
                           [this](std::string_view json) {
                             if (EventId id{}; FromHex(FindId(json), id.data(), id.size())) Remember(id);
                             return parts_.sink->Take(json);
                           },
                       .on_progress =
                           [this](const SyncCounts& now) {
                             SyncCounts all = counts();
                             Add(WithoutBytes(now), &all);
                             parts_.on_progress(false, all);
                           },
                       .reads = &parts_.reads,
                       .on_other = [this](const RelayMessage& message) { return OnMessage(message); }});
  Status status = session.Run();
  Add(WithoutBytes(session.counts()), &counts_);
  return status;
}

Status LinkSession::Live() {
  while (true) {
    if (parts_.own != nullptr) {
      if (parts_.own->TakeLost())
        if (Status compared = CatchUp(SyncDirection::kUp); !compared.ok()) return compared;
      if (Status sent = TakeOwn(); !sent.ok()) return sent;
    }
    const Result<bool> heard = parts_.relay.Hear(parts_.own != nullptr ? kTakeOwnEvery : kHearNewsEvery,
                                                 [this](const RelayMessage& message) { return OnMessage(message); });
    if (!heard.ok()) return heard.status();
    if (parts_.sink != nullptr)
      if (Status saved = parts_.sink->Flush(); !saved.ok()) return saved;
    if (Status alive = LookForLife(); !alive.ok()) return alive;
    parts_.on_progress(true, counts());
  }
}

Status LinkSession::OnMessage(const RelayMessage& message) {
  if (offer_.OnMessage(message) || message.subject != kLiveSubscription) return {};
  if (message.kind == RelayMessage::Kind::kEvent) return TakeLive(message.event);
  if (message.kind == RelayMessage::Kind::kClosed)
    return Status::Error("the relay does not give new events: " +
                         (message.text.empty() ? "it gives no reason" : message.text));
  return {};
}

// An event that is not valid passes, because the sink counts it with what is wrong.
Status LinkSession::TakeLive(std::string_view json) {
  if (const Result<Event> event = parser_.Parse(json); event.ok()) {
    const EventView view = event.value().view();
    if (ClassOf(view.kind()) == KindClass::kEphemeral) return {};
    if (!Matches(view)) {
      ++counts_.unasked;
      return {};
    }
    if (!Remember(view.id())) return {};
  }
  ++counts_.received;
  return parts_.sink->Take(json);
}

Status LinkSession::TakeOwn() {
  if (offer_.waiting() < kMostOffered) {
    for (const Event& event : parts_.own->Take()) {
      const EventView view = event.view();
      if (ClassOf(view.kind()) != KindClass::kEphemeral && Matches(view) && Remember(view.id()))
        offer_.Offer(view.id());
    }
  }
  return offer_.SendMore(say_);
}

Status LinkSession::LookForLife() {
  const TimePoint now = Clock::System().Now();
  if (const uint64_t bytes = parts_.relay.bytes_received(); bytes != bytes_heard_) {
    bytes_heard_ = bytes;
    heard_ = now;
    pinged_ = false;
  }
  if (now - heard_ > 2 * kSilence) return Status::Error("the relay was silent for a minute");
  if (now - heard_ <= kSilence || std::exchange(pinged_, true)) return {};
  return parts_.relay.Ping();
}

bool LinkSession::Remember(const EventId& id) {
  if (!passed_.insert(id).second) return false;
  passed_in_order_.push_back(id);
  if (passed_in_order_.size() > kRemembered) {
    passed_.erase(passed_in_order_.front());
    passed_in_order_.pop_front();
  }
  return true;
}

bool LinkSession::Matches(EventView event) const {
  return std::ranges::any_of(parts_.order.filters, [event](const Filter& filter) { return filter.Matches(event); });
}

SyncCounts LinkSession::counts() const {
  SyncCounts counts = counts_;
  counts.accepted += offer_.accepted();
  counts.gone += offer_.gone();
  counts.withheld += offer_.withheld();
  counts.refused.Add(offer_.refused());
  counts.bytes_sent = parts_.relay.bytes_sent();
  counts.bytes_received = parts_.relay.bytes_received();
  return counts;
}

}  // namespace weir
