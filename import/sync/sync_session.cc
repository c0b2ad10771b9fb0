#include "import/sync/sync_session.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weir {
namespace {

constexpr std::chrono::milliseconds kHearEvery{250};
// Differences that wait to be carried over, before the next part of the sets is compared.
constexpr size_t kMostWaiting = 20'000;

// Returns true if the relay would compare fewer events.
bool IsAboutSize(const std::string& refusal) {
  return std::ranges::any_of(std::array{"too big", "too large", "too many", "too much"},
                             [&](const char* words) { return refusal.find(words) != refusal.npos; });
}

// Divides the span of the filter into an older and a younger one. Most events are young, so the ages of both have the
// same ratio. Returns false if the span has one second.
bool Divide(const Filter& filter, Filter* older, Filter* younger) {
  const uint64_t now = WallClock::System().NowSeconds();
  const auto age_of = [now](uint64_t time) { return 1 + static_cast<double>(now - std::min(time, now)); };
  const double age = std::sqrt(age_of(filter.since) * age_of(filter.until));
  const uint64_t middle = std::clamp(now - std::min(now, static_cast<uint64_t>(age)), filter.since, filter.until);
  if (filter.since >= filter.until) return false;
  *older = *younger = filter;
  older->until = std::min(middle, filter.until - 1);
  younger->since = older->until + 1;
  return true;
}

}  // namespace

SyncSession::SyncSession(SyncParts parts)
    : parts_(std::move(parts)),
      say_([this](std::string_view message) { return parts_.relay.Say(message); }),
      to_compare_{parts_.filter},
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
  while (!to_compare_.empty()) {
    span_ = std::make_unique<Span>(std::move(to_compare_.back()));
    to_compare_.pop_back();
    Status ran = RunSpan();
    const SyncCounts until_now = counts();
    counts_.rounds = until_now.rounds;
    counts_.received = until_now.received - fetch_.received();
    span_.reset();
    if (!ran.ok()) return ran;
  }
  return {};
}

SyncCounts SyncSession::counts() const {
  SyncCounts counts = counts_;
  if (span_) {
    counts.rounds += span_->rounds.rounds() + (span_->pages ? span_->pages->pages() : 0);
    counts.received += span_->pages ? span_->pages->found() : 0;
  }
  counts.received += fetch_.received();
  counts.missing = fetch_.missing();
  counts.accepted = offer_.accepted();
  counts.gone = offer_.gone();
  counts.refused = offer_.refused();
  counts.bytes_sent = parts_.relay.bytes_sent();
  counts.bytes_received = parts_.relay.bytes_received();
  return counts;
}

Status SyncSession::RunSpan() {
  if (Status read = ReadOwn(); !read.ok()) return read;
  was_cut_ = false;
  heard_ = Clock::System().Now();
  if (Status begun = span_->rounds.Begin(span_->filter, say_); !begun.ok()) return begun;
  while (!was_cut_ && !IsDone()) {
    if (Status stepped = Step(); !stepped.ok()) return stepped;
    if (parts_.on_progress) parts_.on_progress(counts());
  }
  if (!was_cut_) counts_.stored += span_->own.size();
  return {};
}

// Reads the dates and ids of the own events.
Status SyncSession::ReadOwn() {
  const auto query = parts_.store.Find({span_->filter}, {.now_seconds = WallClock::System().NowSeconds(),
                                                         .default_limit = kAllEvents,
                                                         .max_limit = kAllEvents,
                                                         .fills_cache = false});
  Result<Progress> progress = Progress::kMore;
  while (progress.ok() && progress.value() == Progress::kMore) {
    progress = query->Next({.max_work = 100 * kTurnWork, .max_bytes = 16 << 20}, [this](EventView event) {
      span_->own.Add({.created_at = event.created_at(), .id = event.id()});
    });
  }
  if (!progress.ok()) return progress.status();
  span_->own.Seal();
  return {};
}

Status SyncSession::Step() {
  if (Status compared = Compare(); !compared.ok()) return compared;
  if (Status asked = fetch_.AskMore(say_); !asked.ok()) return asked;
  if (Status sent = offer_.SendMore(say_); !sent.ok()) return sent;
  if (IsDone()) return {};
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
  if (span_->pages) {
    if (!span_->pages->is_done() || std::exchange(span_->pages_are_read, true)) return {};
    have = span_->pages->Unseen();
    counts_.need += span_->pages->found();
  } else {
    SyncDifferences found;
    if (Status answered = span_->rounds.Answer(say_, &found); !answered.ok()) return answered;
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
  if (was_cut_ || offer_.OnMessage(message)) return {};
  Result<bool> taken = fetch_.OnMessage(message, say_, take);
  if (taken.ok() && !taken.value())
    taken = span_->pages ? span_->pages->OnMessage(message, say_, take) : span_->rounds.OnMessage(message);
  if (!taken.ok()) return taken.status();
  return span_->pages || span_->rounds.refusal().empty() ? Status() : OnRefusal();
}

Status SyncSession::OnSilence() {
  const Duration silence = Clock::System().Now() - heard_;
  if (span_->pages || span_->rounds.has_answered())
    return silence > kLongestSilence ? Status::Error("the relay was silent for a minute") : Status();
  if (silence <= (parts_.relay.knows_negentropy() ? kLongestReading : kLongestGuess)) return {};
  if (Status closed = span_->rounds.End(say_); !closed.ok()) return closed;
  return TurnToPages("it does not answer NEG-OPEN");
}

Status SyncSession::OnRefusal() {
  const std::string& refusal = span_->rounds.refusal();
  Filter older, younger;
  was_cut_ = IsAboutSize(refusal) && Divide(span_->filter, &older, &younger);
  if (!was_cut_) return TurnToPages(refusal);
  to_compare_.push_back(std::move(older));
  to_compare_.push_back(std::move(younger));
  return {};
}

Status SyncSession::TurnToPages(const std::string& why) {
  counts_.by_pages = why;
  span_->pages.emplace(span_->own, span_->filter);
  return span_->pages->Begin(say_);
}

}  // namespace weir
