#include "relay/store/postgres/postgres_news.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr PostgresStatement kHowFar{"how_far",
                                    "SELECT origin, serial, live::int, owner FROM weir_origins"
                                    " ORDER BY origin"};
constexpr PostgresStatement kIsOwed{"is_owed", "SELECT 1 FROM weir_vanished WHERE owed LIMIT 1"};
// A server that does not know the setting takes writes.
constexpr PostgresStatement kIsReadOnly{
    "is_read_only", "SELECT coalesce(current_setting('transaction_read_only', true) = 'on', false)::int"};
// Returns events until they have $5 bytes, but at least one event.
constexpr PostgresStatement kNews{
    "news",
    "SELECT serial, record FROM (SELECT serial, record, sum(octet_length(record)) OVER (ORDER BY serial"
    " ROWS UNBOUNDED PRECEDING) - octet_length(record) AS before FROM weir_events"
    " WHERE origin = $1::int AND serial > $2::bigint AND serial <= $3::bigint ORDER BY serial LIMIT $4::bigint) AS n"
    " WHERE before < $5::bigint ORDER BY serial"};
constexpr int64_t kAtOnce = 64;                     // events of each origin
constexpr int64_t kBytesAtOnce = int64_t{1} << 20;  // for all origins together; each may exceed its share by one event

// The longest wait for an answer. The relay calls Read again after a failure anyway, and when it stops, it should not
// have to wait long for a Read.
constexpr std::chrono::seconds kLongestPatience{3};

struct Arrivals {
  uint64_t last = 0;
  bool is_all = false;
};

Arrivals TakeEvents(uint32_t origin, const PostgresRows& rows, int64_t most_bytes, std::vector<SharedEvent>* events) {
  Arrivals arrivals;
  int64_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    arrivals.last = static_cast<uint64_t>(rows.Int(i, 0));
    const std::string_view record = rows.Bytes(i, 1);
    bytes += static_cast<int64_t>(record.size());
    if (EventView::WellFormed(record)) events->push_back({Event(std::string(record)), {origin, arrivals.last}});
  }
  arrivals.is_all = rows.size() < static_cast<size_t>(kAtOnce) && bytes < most_bytes;
  return arrivals;
}

}  // namespace

PostgresNews::PostgresNews(PostgresStore& store, Moment since)
    : store_(store),
      session_(store.NewSession()),
      patience_(std::min<Duration>(store.options().settings.timeout, kLongestPatience)),
      since_(std::move(since)) {}

Result<std::vector<SharedEvent>> PostgresNews::Read(const std::function<bool()>& anybody_listens) {
  more_ = false;
  if (!session_->connected())
    if (Status connected = store_.Connect(*session_, patience_); !connected.ok()) return connected;
  const std::optional<PostgresStore::Range> unknown = store_.UnknownNews();
  Moment next;
  const Result<std::vector<Serial>> ahead = FindAhead(&next);
  if (!ahead.ok()) return ahead.status();
  Result<std::vector<SharedEvent>> events = std::vector<SharedEvent>();
  if (anybody_listens()) {
    events = ReadArrivals(ahead.value(), unknown, &next);
    if (!events.ok()) return events;
  } else {
    for (const Serial& last : ahead.value()) next.Advance(last);
    if (unknown) store_.LetGoOfUnknownNews(unknown->second);
  }
  since_ = std::move(next);
  return events;
}

// Returns the last serial of each origin that has events for Read. Adds the last serials of all other origins to
// `next`. These may be lower than before if a standby was promoted that lacked the last events.
Result<std::vector<Serial>> PostgresNews::FindAhead(Moment* next) {
  session_->Queue(kHowFar);
  session_->Queue(kIsOwed);
  session_->Queue(kIsReadOnly);
  const Result<std::vector<PostgresRows>> answers = session_->Run(patience_);
  if (!answers.ok()) return answers.status();
  store_.NoteOthersOwe(answers.value()[1].size() > 0);
  is_read_only_ = answers.value()[2].Int(0, 0) != 0;
  std::vector<Serial> ahead;
  const PostgresRows& origins = answers.value()[0];
  const PostgresOrigin& own = store_.origin();
  for (size_t i = 0; i < origins.size(); ++i) {
    const Serial last{static_cast<uint32_t>(origins.Int(i, 0)), static_cast<uint64_t>(origins.Int(i, 1))};
    const bool is_live = origins.Int(i, 2) != 0;
    const bool is_own = last.origin == own.number && origins.Bytes(i, 3) == own.owner;
    if (last.origin == own.number) name_is_taken_ = !is_own;
    if (is_live && !is_own && since_.NumberOf(last.origin) < last.number) {
      ahead.push_back(last);
    } else {
      next->Advance(last);
    }
  }
  return ahead;
}

Result<std::vector<SharedEvent>> PostgresNews::ReadArrivals(const std::vector<Serial>& ahead,
                                                            const std::optional<PostgresStore::Range>& unknown,
                                                            Moment* next) {
  std::vector<SharedEvent> events;
  if (ahead.empty() && !unknown) return events;
  const int64_t most_bytes = kBytesAtOnce / static_cast<int64_t>(ahead.size() + (unknown ? 1 : 0));
  const auto ask = [&](uint32_t origin, uint64_t after, uint64_t until) {
    session_->Queue(kNews, PostgresValues()
                               .Int32(static_cast<int32_t>(origin))
                               .Int64(static_cast<int64_t>(after))
                               .Int64(static_cast<int64_t>(until))
                               .Int64(kAtOnce)
                               .Int64(most_bytes));
  };
  for (const Serial& last : ahead) ask(last.origin, since_.NumberOf(last.origin), last.number);
  const uint32_t own = store_.origin().number;
  if (unknown) ask(own, unknown->first, unknown->second);
  const Result<std::vector<PostgresRows>> answers = session_->Run(patience_);
  if (!answers.ok()) return answers.status();
  // Events that were removed meanwhile are missing from the answers.
  for (size_t i = 0; i < ahead.size(); ++i) {
    const Arrivals arrivals = TakeEvents(ahead[i].origin, answers.value()[i], most_bytes, &events);
    next->Advance({ahead[i].origin, arrivals.is_all ? ahead[i].number : arrivals.last});
    more_ = more_ || !arrivals.is_all;
  }
  if (unknown) {
    const Arrivals arrivals = TakeEvents(own, answers.value()[ahead.size()], most_bytes, &events);
    store_.LetGoOfUnknownNews(arrivals.is_all ? unknown->second : arrivals.last);
    more_ = more_ || !arrivals.is_all;
  }
  return events;
}

}  // namespace weir
