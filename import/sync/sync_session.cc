#include "import/sync/sync_session.h"

#include <utility>

namespace weir {
namespace {

constexpr std::chrono::milliseconds kHearEvery{250};
// Differences that wait to be carried over, before the next part of the sets is compared.
constexpr size_t kMostWaiting = 20'000;

}  // namespace

SyncSession::SyncSession(SyncParts parts)
    : parts_(std::move(parts)),
      say_([this](std::string_view message) { return parts_.relay.Say(message); }),
      offer_([this](std::span<const EventId> ids, const std::function<void(EventView event)>& take) {
        Filter filter;
        filter.ids.emplace(ids.begin(), ids.end());
        std::ranges::sort(*filter.ids);
        const auto query = parts_.store.Find({std::move(filter)}, {.max_limit = kAllEvents});
        Result<Progress> progress = Progress::kMore;
        while (progress.ok() && progress.value() == Progress::kMore) progress = query->Next({}, take);
        return progress.status();
      }) {}

Status SyncSession::Run() {
  if (Status read = ReadOwn(); !read.ok()) return read;
  heard_ = Clock::System().Now();
  if (Status begun = rounds_.Begin(parts_.filter, say_); !begun.ok()) return begun;
  while (!IsCompared() || !fetch_.is_idle() || !offer_.is_idle()) {
    if (Status stepped = Step(); !stepped.ok()) return stepped;
    if (parts_.on_progress) parts_.on_progress(counts());
  }
  return {};
}

SyncCounts SyncSession::counts() const {
  SyncCounts counts = counts_;
  counts.rounds = pages_ ? pages_->pages() : rounds_.rounds();
  counts.received = fetch_.received() + (pages_ ? pages_->found() : 0);
  counts.missing = fetch_.missing();
  counts.accepted = offer_.accepted();
  counts.gone = offer_.gone();
  counts.refused = offer_.refused();
  counts.bytes_sent = parts_.relay.bytes_sent();
  counts.bytes_received = parts_.relay.bytes_received();
  return counts;
}

// Reads the dates and ids of the own events.
Status SyncSession::ReadOwn() {
  const auto query = parts_.store.Find({parts_.filter}, {.now_seconds = WallClock::System().NowSeconds(),
                                                         .default_limit = kAllEvents,
                                                         .max_limit = kAllEvents,
                                                         .fills_cache = false});
  Result<Progress> progress = Progress::kMore;
  while (progress.ok() && progress.value() == Progress::kMore) {
    progress = query->Next({.max_work = 100 * kTurnWork, .max_bytes = 16 << 20},
                           [this](EventView event) { own_.Add({.created_at = event.created_at(), .id = event.id()}); });
  }
  if (!progress.ok()) return progress.status();
  own_.Seal();
  counts_.stored = own_.size();
  return {};
}

Status SyncSession::Step() {
  if (Status compared = Compare(); !compared.ok()) return compared;
  if (Status asked = fetch_.AskMore(say_); !asked.ok()) return asked;
  if (Status sent = offer_.SendMore(say_); !sent.ok()) return sent;
  if (IsCompared() && fetch_.is_idle() && offer_.is_idle()) return {};
  Result<bool> heard =
      parts_.relay.Hear(kHearEvery, [this](const RelayMessage& message) { return OnMessage(message); });
  if (!heard.ok()) return heard.status();
  if (!heard.value()) return OnSilence();
  heard_ = Clock::System().Now();
  return {};
}

// Goes on with the comparison, unless many differences wait to be carried over.
Status SyncSession::Compare() {
  if (fetch_.waiting() > kMostWaiting || offer_.waiting() > kMostWaiting) return {};
  std::vector<EventId> have;
  if (pages_) {
    if (!pages_->is_done() || std::exchange(offers_rest_, true)) return {};
    have = pages_->Unseen();
    counts_.need = pages_->found();
  } else {
    SyncDifferences found;
    if (Status answered = rounds_.Answer(say_, &found); !answered.ok()) return answered;
    have = std::move(found.have);
    counts_.need += found.need.size();
    if (wants_down()) std::ranges::for_each(found.need, [this](const EventId& id) { fetch_.Want(id); });
  }
  counts_.have += have.size();
  if (wants_up()) std::ranges::for_each(have, [this](const EventId& id) { offer_.Offer(id); });
  return {};
}

Status SyncSession::OnMessage(const RelayMessage& message) {
  const EventFetch::Take take = wants_down() ? parts_.take : [](std::string_view) { return Status(); };
  if (offer_.OnMessage(message)) return {};
  Result<bool> taken = fetch_.OnMessage(message, say_, take);
  if (taken.ok() && !taken.value())
    taken = pages_ ? pages_->OnMessage(message, say_, take) : rounds_.OnMessage(message);
  if (!taken.ok()) return taken.status();
  return pages_ || rounds_.refusal().empty() ? Status() : TurnToPages(rounds_.refusal());
}

Status SyncSession::OnSilence() {
  const Duration silence = Clock::System().Now() - heard_;
  if (!pages_ && !rounds_.has_answered() && silence > kLongestOpening)
    return TurnToPages("it does not answer NEG-OPEN");
  return silence > kLongestSilence ? Status::Error("the relay was silent for a minute") : Status();
}

Status SyncSession::TurnToPages(const std::string& why) {
  counts_.by_pages = why;
  pages_.emplace(own_, parts_.filter);
  return pages_->Begin(say_);
}

}  // namespace weir
