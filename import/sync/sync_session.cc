#include "import/sync/sync_session.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "relay/protocol/policy.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kHearEvery{250};
constexpr uint64_t kSealSteps = 10'000'000;  // take about 0.1 s
// Differences that wait to be carried over, before the next part of the sets is compared.
constexpr size_t kMostWaiting = 20'000;

constexpr Slice kSlice{.max_work = 100 * kTurnWork, .max_bytes = 16 << 20};
constexpr size_t kMostSpans = 1000;
constexpr int kMostCuts = 1000;
// In a span with so many own events, these show where the relay's may be.
constexpr size_t kManyOwn = 1000;

// Returns true if the relay would compare fewer events.
bool IsAboutSize(const std::string& refusal) {
  return refusal.starts_with("blocked:") &&
         std::ranges::any_of(std::array{"too big", "too large", "too many", "too much"},
                             [&](const char* words) { return refusal.find(words) != refusal.npos; });
}

std::array<uint64_t, 4> RandomKey() {
  std::random_device random;
  std::array<uint64_t, 4> key{};
  for (uint64_t& number : key) number = (uint64_t{random()} << 32 | random()) | 1;
  return key;
}

}  // namespace

SyncSession::SyncSession(SyncParts parts)
    : parts_(std::move(parts)),
      say_([this](std::string_view message) { return parts_.relay.Say(message); }),
      hash_{RandomKey()},
      offer_(EventOffer::ReadFrom(parts_.store),
             {.filters = {parts_.filter},
              .most_event_bytes = EventOffer::MostEventBytes(parts_.relay.information().most_message_bytes),
              .on_sent = parts_.on_sent}),
      parser_(parts_.limits) {}

Status SyncSession::Run() {
  if (Status read = ReadOwn(); !read.ok()) return read;
  CutBySize();
  while (!to_compare_.empty()) {
    Filter filter = parts_.filter;
    filter.since = to_compare_.back().since;
    filter.until = to_compare_.back().until;
    to_compare_.pop_back();
    const SyncPart own(own_, filter.since, filter.until);
    span_ = std::make_unique<Span>(std::move(filter), own, hash_);
    Status ran = RunSpan();
    AddSpan(&counts_);
    span_.reset();
    if (!ran.ok()) return ran;
  }
  return {};
}

// Leaves an eighth of the relay's limit for events that only the relay has.
void SyncSession::CutBySize() {
  const uint64_t most = parts_.relay.information().most_sync_events;
  const size_t spans = std::min<size_t>(own_.size() / (most - most / 8) + 1, kMostSpans);
  Times rest{parts_.filter.since, parts_.filter.until};
  for (size_t n = 1; n < spans; ++n) {
    const uint64_t middle = own_[n * own_.size() / spans].created_at;
    if (middle <= rest.since) continue;
    to_compare_.push_back({rest.since, middle - 1});
    rest.since = middle;
  }
  to_compare_.push_back(rest);
}

// Divides a span into an older and a younger one, which have as many own events or, if it has few, ages of the same
// ratio, because most events are young. Returns false if the span has one second, or only the future.
bool SyncSession::Divide(const Span& span) {
  const auto [since, until] = Times{span.filter.since, span.filter.until};
  const uint64_t now = WallClock::System().NowSeconds();
  if (since >= std::min(until, now)) return false;
  const auto age_of = [now](uint64_t time) { return 1 + static_cast<double>(now - std::min(time, now)); };
  const auto age = static_cast<uint64_t>(std::sqrt(age_of(since) * age_of(until)));
  const uint64_t middle =
      span.own.size() >= kManyOwn ? span.own[span.own.size() / 2].created_at : 1 + now - std::min(now, age);
  const uint64_t younger = std::clamp(middle, since + 1, until);
  to_compare_.push_back({since, younger - 1});
  to_compare_.push_back({younger, until});
  return true;
}

void SyncSession::AddSpan(SyncCounts* counts) const {
  counts->rounds += span_->rounds.rounds();
  if (!span_->pages) return;
  counts->pages += span_->pages->pages();
  counts->cut_seconds += span_->pages->cut_seconds();
}

SyncCounts SyncSession::counts() const {
  SyncCounts counts = counts_;
  if (span_) AddSpan(&counts);
  counts.missing = fetch_.missing();
  counts.accepted = offer_.accepted();
  counts.gone = offer_.gone();
  counts.withheld = offer_.withheld();
  counts.refused = offer_.refused();
  counts.bytes_sent = parts_.relay.bytes_sent();
  counts.bytes_received = parts_.relay.bytes_received();
  return counts;
}

Status SyncSession::RunSpan() {
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

Status SyncSession::ReadOwn() {
  const auto query = parts_.store.Find({parts_.filter}, {.now_seconds = WallClock::System().NowSeconds(),
                                                         .default_limit = kAllEvents,
                                                         .max_limit = kAllEvents,
                                                         .fills_cache = false,
                                                         .ids_only = IdsOnly()});
  const auto add = [this](EventView event) { own_.Add({.created_at = event.created_at(), .id = event.id()}); };
  Result<Progress> progress = Progress::kMore;
  while (progress.ok() && progress.value() == Progress::kMore) {
    // Pings are answered meanwhile, and a stop ends the reading.
    if (const Result<bool> heard = parts_.relay.Hear(std::chrono::milliseconds(0), parts_.on_other); !heard.ok())
      return heard.status();
    progress = parts_.reads ? parts_.reads->Next(*query, add) : query->Next(kSlice, add);
  }
  if (!progress.ok()) return progress.status();
  while (!own_.Seal(kSealSteps))
    if (const Result<bool> heard = parts_.relay.Hear(std::chrono::milliseconds(0), parts_.on_other); !heard.ok())
      return heard.status();
  return {};
}

Status SyncSession::Step() {
  if (Status compared = Compare(); !compared.ok()) return compared;
  if (Status asked = fetch_.AskMore(say_); !asked.ok()) return asked;
  if (Status sent = offer_.SendMore(say_); !sent.ok()) return sent;
  if (IsDone()) return {};
  Result<bool> heard =
      parts_.relay.Hear(kHearEvery, [this](const RelayMessage& message) { return OnMessage(message); });
  return heard.ok() ? OnSilence() : heard.status();
}

// Goes on with the comparison, unless many differences wait to be carried over.
Status SyncSession::Compare() {
  if (fetch_.waiting() > kMostWaiting || offer_.waiting() > kMostWaiting) return {};
  return span_->pages ? ComparePages() : CompareSets();
}

Status SyncSession::ComparePages() {
  if (!span_->pages->is_done() || std::exchange(span_->pages_are_read, true)) return {};
  counts_.need += span_->pages->found();
  Found(span_->pages->Unseen(), {});
  return {};
}

Status SyncSession::CompareSets() {
  SyncDifferences found;
  const uint64_t rounds = span_->rounds.rounds();
  const size_t known = span_->known.size();
  if (Status answered = span_->rounds.Answer(say_, &found); !answered.ok()) return answered;
  Found(found.have, found.need);
  if (span_->known.size() > known) span_->idle_rounds = 0;
  const bool is_round = std::exchange(span_->last_round, rounds) < rounds;
  if (is_round && ++span_->idle_rounds > kMostIdleRounds)
    return Status::Error("the comparison does not end: the relay answers, and there is no new difference");
  return {};
}

void SyncSession::Found(std::span<const EventId> have, std::span<const EventId> need) {
  for (const EventId& id : have) {
    if (!span_->known.insert(id).second) continue;
    ++counts_.have;
    if (wants_up()) offer_.Offer(id);
  }
  for (const EventId& id : need) {
    if (!span_->known.insert(id).second) continue;
    ++counts_.need;
    if (wants_down()) fetch_.Want(id);
  }
}

// A relay that says something else keeps nothing going.
Status SyncSession::OnMessage(const RelayMessage& message) {
  if (was_cut_) return parts_.on_other(message);
  const EventFetch::Take take = [this](std::string_view json) { return Take(json); };
  const PageWalk::Take take_matching = [this](std::string_view json) { return TakeMatching(json); };
  Result<bool> taken = offer_.OnMessage(message);
  if (!taken.value()) taken = fetch_.OnMessage(message, say_, take);
  if (taken.ok() && !taken.value())
    taken = span_->pages ? span_->pages->OnMessage(message, say_, take_matching) : span_->rounds.OnMessage(message);
  if (!taken.ok()) return taken.status();
  if (taken.value()) heard_ = Clock::System().Now();
  if (!taken.value()) {
    const TimePoint began = Clock::System().Now();
    if (Status other = parts_.on_other(message); !other.ok()) return other;
    heard_ += Clock::System().Now() - began;  // the time that this side took is no silence of the relay
  }
  if (fetch_.missing() > kMostMissing) return Status::Error("the relay does not give the events that it announces");
  return span_->pages || span_->rounds.refusal().empty() ? Status() : OnRefusal();
}

// An event that is not valid passes, because the destination says what is wrong with it.
Status SyncSession::Take(std::string_view json) {
  if (parts_.filter == Filter()) return TakeMatching(json);
  if (const Result<Event> event = parser_.Parse(json); event.ok() && !parts_.filter.Matches(event.value().view())) {
    ++counts_.unasked;
    return {};
  }
  return TakeMatching(json);
}

Status SyncSession::TakeMatching(std::string_view json) {
  if (!wants_down()) return {};
  ++counts_.received;
  return parts_.take(json);
}

Status SyncSession::OnSilence() {
  const Duration silence = Clock::System().Now() - heard_;
  if (span_->pages || span_->rounds.has_answered())
    return silence > kLongestSilence ? Status::Error("the relay was silent for a minute") : Status();
  const RemoteRelay::Information& said = parts_.relay.information();
  if (silence <= (said.knows_negentropy ? kLongestReading : said.lists_nips ? kLongestDoubt : kLongestGuess)) return {};
  if (Status closed = span_->rounds.End(say_); !closed.ok()) return closed;
  return TurnToPages("it does not answer NEG-OPEN");
}

Status SyncSession::OnRefusal() {
  const std::string refusal = span_->rounds.refusal();
  if (refusal.starts_with("rate-limited:")) return Status::Error("the relay compares no sets now: " + refusal);
  was_cut_ = IsAboutSize(refusal) && cuts_ < kMostCuts && Divide(*span_);
  if (!was_cut_) return TurnToPages(refusal);
  ++cuts_;
  return {};
}

Status SyncSession::TurnToPages(const std::string& why) {
  counts_.by_pages = why;
  span_->pages.emplace(span_->own, span_->filter, parts_.limits);
  return span_->pages->Begin(say_);
}

}  // namespace weir
