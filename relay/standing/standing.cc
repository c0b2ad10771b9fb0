#include "relay/standing/standing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "config/text/rfc3339.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kRungs> kRungsInWords = {"reported", "a stranger", "a newcomer", "a regular",
                                                                "trusted"};
constexpr std::array<int, kRungs> kRungPoints = {-1, 0, 4, 12, 20};  // the fewest points of each rung
constexpr int kTrustedPoints = kRungPoints[static_cast<size_t>(Rung::kTrusted)];
constexpr uint16_t kFewestReports = 3;

constexpr int kMostWeeks = 4;
constexpr int kEachFollower = 4;
constexpr int kMostOfFollowers = 12;
constexpr int kEachReport = -4;
constexpr int kMostOfWork = 2;
constexpr int kMostOfEvents = 2;
constexpr int kProved = 1;
static_assert(kMostDayPoints + kMostWeeks + kMostOfEvents + kMostOfWork + kProved < kTrustedPoints,
              "no author becomes trusted without being followed");

constexpr uint64_t kDay = 86'400;

bool HasOwnPoints(const AuthorRecord& record, uint64_t now_seconds) {
  return record.first_seen != 0 && now_seconds >= record.first_seen + kDay;
}

uint32_t KeptEvents(const AuthorRecord& record) { return record.accepted - std::min(record.accepted, record.deleted); }

std::string Date(uint64_t seconds) {
  return FormatTime(WallTime(std::chrono::seconds(seconds))).substr(0, sizeof("2026-11-29") - 1);
}

// Returns "1 day" or "3 days".
std::string Count(int64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

// Calls `source(points, why)` for each source of the author's points. `why` returns a sentence.
template <typename Source>
void ForEachSource(const AuthorRecord& r, uint64_t now_seconds, Source&& source) {
  if (r.follow_steps == 2)
    source(kTrustedPoints,
           [&] { return "keys of the operator's own list follow the author: " + std::to_string(r.followers); });
  if (r.follow_steps == 3) {
    source(std::min(kEachFollower * r.followers, kMostOfFollowers), [&] {
      return "authors whom the operator's own list follows, follow the author: " + std::to_string(r.followers);
    });
  }
  if (r.reported > 0)
    source(kEachReport * r.reported,
           [&] { return "regular or trusted authors reported the author: " + std::to_string(r.reported); });
  if (!HasOwnPoints(r, now_seconds)) return;
  const int days = std::min<int>(r.active_days, kMostDayPoints);
  source(days, [&] { return "the author wrote on " + Count(r.active_days, "day") + " that count"; });
  int others = 0;
  const auto other = [&](int points, const auto& why) {
    others += points;
    source(points, why);
  };
  other(static_cast<int>(std::min<uint64_t>((now_seconds - r.first_seen) / (7 * kDay), kMostWeeks)),
        [&] { return "the relay has known the author since " + Date(r.first_seen); });
  other((KeptEvents(r) >= 10) + (KeptEvents(r) >= 100),
        [&] { return "the relay has taken " + Count(KeptEvents(r), "event") + " that were not deleted"; });
  if (r.work_bits > 0)
    other(r.work_bits >= 28 ? kMostOfWork : 1,
          [&] { return "an event had " + std::to_string(r.work_bits) + " bits of proof of work"; });
  if (r.proved) other(kProved, [] { return std::string("the author has proved the key by AUTH"); });
  if (others > days) source(days - others, [] { return std::string("other points count only up to those of days"); });
}

}  // namespace

bool IsNewDay(const AuthorRecord& record, uint64_t now_seconds) { return now_seconds / kDay > record.last_day; }

void CountDay(uint64_t now_seconds, AuthorRecord* record) {
  if (!IsNewDay(*record, now_seconds)) return;
  record->last_day = static_cast<uint16_t>(now_seconds / kDay);
  ++record->active_days;
}

int PointsOf(const AuthorRecord& record, uint64_t now_seconds) {
  int points = 0;
  ForEachSource(record, now_seconds, [&points](int more, const auto&) { points += more; });
  return points;
}

Rung RungOf(const AuthorRecord& record, uint64_t now_seconds) {
  if (record.follow_steps == 1) return Rung::kTrusted;
  const int points = PointsOf(record, now_seconds);
  if (points < 0) return record.reported >= kFewestReports ? Rung::kReported : Rung::kStranger;
  size_t rung = kRungs - 1;
  while (points < kRungPoints[rung]) --rung;
  return static_cast<Rung>(rung);
}

std::vector<std::string> ExplainRung(const AuthorRecord& record, uint64_t now_seconds) {
  if (record.follow_steps == 1) return {"the author is trusted, because the key is on the operator's own list"};
  const auto rung = static_cast<size_t>(RungOf(record, now_seconds));
  std::vector<std::string> sentences = {"the author is " + std::string(kRungsInWords[rung]) + ", with " +
                                        Count(PointsOf(record, now_seconds), "point")};
  if (rung + 1 < kRungs)
    sentences[0] +=
        "; it takes " + Count(kRungPoints[rung + 1], "point") + " to be " + std::string(kRungsInWords[rung + 1]);
  ForEachSource(record, now_seconds, [&sentences](int points, const auto& why) {
    sentences.push_back((points < 0 ? "" : "+") + std::to_string(points) + ": " + why());
  });
  if (record.first_seen != 0 && !HasOwnPoints(record, now_seconds))
    sentences.push_back("+0: the author's own points begin a day after the first event");
  return sentences;
}

}  // namespace weir
