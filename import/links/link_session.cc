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
             {.filters = parts_.order.filters,
              .most_event_bytes = EventOffer::MostEventBytes(parts_.relay.information().most_message_bytes),
              .on_sent = [this](const EventId& id) { Remember(id); }}),
      parser_(parts_.limits),
      heard_(Clock::System().Now()) {
  if (compares()) owed_ = parts_.order.direction;
}

Status LinkSession::Run() {
  if (Status subscribed = Subscribe(); !subscribed.ok()) return subscribed;
  while (true) {
    if (const auto turn = owed_ ? parts_.comparisons.Take() : nullptr; turn != nullptr)
      if (Status compared = Compare(*std::exchange(owed_, std::nullopt)); !compared.ok()) return compared;
    if (Status passed = PassOn(); !passed.ok()) return passed;
    const Result<bool> heard = parts_.relay.Hear(parts_.own != nullptr ? kTakeOwnEvery : kHearNewsEvery,
                                                 [this](const RelayMessage& message) { return OnMessage(message); });
    if (!heard.ok()) return heard.status();
    if (Status alive = LookForLife(); !alive.ok()) return alive;
    parts_.on_progress(!owed_, counts());
  }
}

Status LinkSession::Subscribe() {
  if (parts_.sink == nullptr) return {};
  std::string request = "[\"REQ\",\"" + std::string(kLiveSubscription) + "\"";
  for (Filter filter : parts_.order.filters) {
    filter.limit = 0;
    request += "," + RemoteRelay::FilterText(filter);
  }
  return say_(request + "]");
}

Status LinkSession::Compare(SyncDirection direction) {
  for (const Filter& filter : parts_.order.filters)
    if (Status compared = Compare(filter, direction); !compared.ok()) return compared;
  heard_ = Clock::System().Now();
  return {};
}

Status LinkSession::Compare(Filter filter, SyncDirection direction) {
  if (parts_.order.catch_up_s) {
    const uint64_t now = parts_.clock.NowSeconds();
    filter.since = std::max(filter.since, now - std::min(now, *parts_.order.catch_up_s));
    if (filter.MatchesNothing()) return {};
  }
  Status passed;  // the first error of PassOn, which the next message of the relay reports
  SyncSession session(
      {.relay = parts_.relay,
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
           [&](const SyncCounts& now) {
             if (passed.ok()) passed = PassOn();
             SyncCounts all = counts();
             Add(WithoutBytes(now), &all);
             parts_.on_progress(false, all);
           },
       .reads = &parts_.reads,
       .on_sent = [this](const EventId& id) { Remember(id); },
       .on_other = [&](const RelayMessage& message) { return passed.ok() ? OnMessage(message) : passed; }});
  Status status = session.Run();
  Add(WithoutBytes(session.counts()), &counts_);
  return status.ok() ? passed : status;
}

// Sends what is new here, and lets what came be saved.
Status LinkSession::PassOn() {
  if (parts_.sink != nullptr)
    if (Status saved = parts_.sink->Flush(); !saved.ok()) return saved;
  if (parts_.own == nullptr) return {};
  if (const uint64_t left_out = parts_.own->TakeLeftOut(); left_out > 0) {
    if (!compares())
      return Status::Error(std::to_string(left_out) +
                           " new events did not go over, because the relay takes them more slowly than they come, and "
                           "no comparison is wanted that could find them");
    if (!owed_) owed_ = SyncDirection::kUp;
  }
  if (offer_.waiting() < kMostOffered)
    for (const Event& event : parts_.own->Take())
      if (!passed_.contains(event.view().id())) offer_.Offer(event.view().id());
  return offer_.SendMore(say_);
}

// The other relay may also say what nobody has asked for, such as events although the direction is up.
Status LinkSession::OnMessage(const RelayMessage& message) {
  if (offer_.OnMessage(message) || message.subject != kLiveSubscription || parts_.sink == nullptr) return {};
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
    if (!Passes(parts_.order, view)) {
      if (ClassOf(view.kind()) != KindClass::kEphemeral) ++counts_.unasked;
      if (++useless_ < kMostUseless) return {};
      return Status::Error("the relay sends events that were not asked for");
    }
    if (!Remember(view.id())) return {};
  }
  useless_ = 0;
  ++counts_.received;
  return parts_.sink->Take(json);
}

// The time during which this side did not listen is no silence of the relay.
Status LinkSession::LookForLife() {
  const TimePoint now = Clock::System().Now();
  const uint64_t bytes = parts_.relay.bytes_received();
  const bool did_not_listen = now - std::exchange(looked_, now) > kSilence / 4;
  if (std::exchange(bytes_heard_, bytes) != bytes || did_not_listen) {
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

bool LinkSession::Passes(const LinkOrder& order, EventView event) {
  return ClassOf(event.kind()) != KindClass::kEphemeral &&
         std::ranges::any_of(order.filters, [event](const Filter& filter) { return filter.Matches(event); });
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
