#include "relay/store/postgres/postgres_news.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr PostgresStatement kHowFar{"how_far", "SELECT origin, serial, live::int FROM weir_origins ORDER BY origin"};
constexpr PostgresStatement kIsOwed{"is_owed", "SELECT 1 FROM weir_vanished WHERE owed LIMIT 1"};
constexpr PostgresStatement kNews{
    "news",
    "SELECT serial, record FROM weir_events WHERE origin = $1::int AND serial > $2::bigint"
    " ORDER BY serial LIMIT $3::bigint"};
constexpr int64_t kAtOnce = 64;  // of each origin; of the largest events they are four megabytes

// Returns the serial of the last.
uint64_t TakeEvents(uint32_t origin, uint64_t until, const PostgresRows& rows, std::vector<SharedEvent>* events) {
  uint64_t number = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    number = static_cast<uint64_t>(rows.Int(i, 0));
    const std::string_view record = rows.Bytes(i, 1);
    if (number <= until && EventView::WellFormed(record))
      events->push_back({Event(std::string(record)), {origin, number}});
  }
  return number;
}

}  // namespace

Result<std::vector<SharedEvent>> PostgresNews::Read(const std::function<bool()>& anybody_listens) {
  if (!session_->connected())
    if (Status connected = store_.Connect(*session_); !connected.ok()) return connected;
  const std::vector<PostgresStore::Range> unknown = store_.UnknownNews();
  Moment next;
  const Result<std::vector<Serial>> ahead = FindAhead(&next);
  if (!ahead.ok()) return ahead.status();
  Result<std::vector<SharedEvent>> events = std::vector<SharedEvent>();
  more_ = false;
  if (anybody_listens()) {
    events = ReadArrivals(ahead.value(), unknown, &next);
    if (!events.ok()) return events;
  } else {
    for (const Serial& last : ahead.value()) next.Advance(last);
  }
  since_ = std::move(next);
  store_.LetGoOfUnknownNews(unknown.size());
  return events;
}

// Those of others who have news; the rest are where they were. After a standby without the last of them was promoted
// they may be further back.
Result<std::vector<Serial>> PostgresNews::FindAhead(Moment* next) {
  session_->Queue(kHowFar);
  session_->Queue(kIsOwed);
  const Result<std::vector<PostgresRows>> answers = session_->Run(store_.options().settings.timeout);
  if (!answers.ok()) return answers.status();
  if (answers.value()[1].size() > 0) store_.OweVanishing();
  std::vector<Serial> ahead;
  const PostgresRows& origins = answers.value()[0];
  for (size_t i = 0; i < origins.size(); ++i) {
    const Serial last{static_cast<uint32_t>(origins.Int(i, 0)), static_cast<uint64_t>(origins.Int(i, 1))};
    const bool is_live = origins.Int(i, 2) != 0;
    if (is_live && last.origin != store_.origin().number && since_.NumberOf(last.origin) < last.number) {
      ahead.push_back(last);
    } else {
      next->Advance(last);
    }
  }
  return ahead;
}

Result<std::vector<SharedEvent>> PostgresNews::ReadArrivals(const std::vector<Serial>& ahead,
                                                            const std::vector<PostgresStore::Range>& unknown,
                                                            Moment* next) {
  const uint32_t own = store_.origin().number;
  std::vector<SharedEvent> events;
  if (ahead.empty() && unknown.empty()) return events;
  const auto ask = [this](uint32_t origin, uint64_t after, uint64_t most) {
    session_->Queue(kNews, PostgresValues()
                               .Int32(static_cast<int32_t>(origin))
                               .Int64(static_cast<int64_t>(after))
                               .Int64(static_cast<int64_t>(most)));
  };
  for (const Serial& last : ahead) ask(last.origin, since_.NumberOf(last.origin), kAtOnce);
  for (const auto& [after, until] : unknown) ask(own, after, until - after);
  const Result<std::vector<PostgresRows>> answers = session_->Run(store_.options().settings.timeout);
  if (!answers.ok()) return answers.status();
  for (size_t i = 0; i < ahead.size(); ++i) {
    const PostgresRows& rows = answers.value()[i];
    const uint64_t last = TakeEvents(ahead[i].origin, UINT64_MAX, rows, &events);
    // What was removed since leaves gaps.
    const bool is_all = rows.size() < static_cast<size_t>(kAtOnce);
    next->Advance({ahead[i].origin, is_all ? std::max(last, ahead[i].number) : last});
    more_ = more_ || !is_all;
  }
  for (size_t i = 0; i < unknown.size(); ++i)
    TakeEvents(own, unknown[i].second, answers.value()[ahead.size() + i], &events);
  return events;
}

}  // namespace weir
