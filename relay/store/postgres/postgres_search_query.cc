#include "relay/store/postgres/postgres_search_query.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "config/text/hex.h"
#include "relay/search/search_score.h"
#include "relay/store/postgres/postgres_edit_statements.h"
#include "relay/store/postgres/postgres_word_build.h"

namespace weir {
namespace {

using Type = PostgresArray::Type;

// Also says which events of each origin have their words.
constexpr PostgresStatement kSearchMoment{"search_moment",
                                          "SELECT o.origin, o.serial, s.kinds, s.low, s.high FROM weir_origins o"
                                          " LEFT JOIN weir_searched s ON s.origin = o.origin ORDER BY o.origin"};
constexpr PostgresStatement kNewestUntil{
    "newest_until",
    "SELECT created_at FROM weir_events WHERE created_at <= $1::bigint AND created_at >= $2::bigint"
    " ORDER BY created_at DESC, id ASC LIMIT 1"};
// Only bitmaps can use a GIN index (Tune in schema.h). Holds until the end of this Run.
constexpr PostgresStatement kAllowBitmaps{"allow_bitmaps", "SELECT set_config('enable_bitmapscan', 'on', true)"};
constexpr PostgresStatement kCountWords{
    "count_words",
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM weir_words w WHERE w.words @@ k.query::tsquery LIMIT $3::bigint) AS c)"
    " FROM unnest($1::int[], $2::text[]) AS k (number, query) ORDER BY k.number"};
// Returns the densities of the words $7 in hexadecimal, in the order of the words, and the record if $8 is 1.
constexpr PostgresStatement kFindWords{
    "find_words",
    "WITH found AS MATERIALIZED (SELECT id, created_at, words FROM weir_words WHERE words @@ $1::text::tsquery"
    " AND created_at >= $2::bigint AND created_at <= $3::bigint AND (created_at < $3::bigint OR id > $4::bytea)"
    " AND kind = ANY($5::int[]) ORDER BY created_at DESC, id LIMIT $6::bigint)"
    " SELECT f.id, f.created_at, e.origin, e.serial,"
    " (SELECT string_agg(to_hex(w.positions[1]::int), '' ORDER BY w.lexeme COLLATE \"C\") FROM unnest(f.words) AS w"
    "  WHERE w.lexeme = ANY($7::text[])),"
    " CASE WHEN $8::int = 1 THEN e.record ELSE '' END"
    " FROM found f CROSS JOIN LATERAL (SELECT * FROM weir_events e WHERE e.id = f.id AND e.created_at = f.created_at"
    " AND e.created_at >= $2::bigint AND e.created_at <= $3::bigint LIMIT 1) AS e"
    " ORDER BY f.created_at DESC, f.id"};

// The number of hits whose records are read together.
constexpr size_t kHandedOutAtOnce = 16;
// The number of hits of a statement, without and with their records, which have up to 128 KB.
constexpr size_t kHitsAtOnce = 256;
constexpr size_t kHitRecordsAtOnce = 16;
// The work of a statement that uses the GIN index, and of one of its rows, which is rated on the server.
constexpr Work kStatementWork = kTurnWork / 4;
constexpr Work kRatedRowWork = 10'000;

}  // namespace

PostgresSearchQuery::PostgresSearchQuery(SessionPool& sessions, Duration patience, const SearchedEvents* searched,
                                         const std::vector<Filter>& filters, const QueryOptions& options)
    : RankingQuery(filters, options),
      sessions_(sessions),
      patience_(patience),
      searched_(searched),
      rest_(sessions, patience, WithSearch(filters, false), options) {
  if (searched_ == nullptr) complete_ = false;
  for (Part& part : parts_) {
    if (searched_ == nullptr || part.words.empty() || part.left == 0) continue;
    part.walk = std::make_unique<SpanWalk>();
    part.walk->counts.resize(part.words.size());
  }
}

void PostgresSearchQuery::Suspend() {
  for (Part& part : parts_) {
    KeepBest(&part);
    part.hits.shrink_to_fit();
  }
  rest_.Suspend();
}

// If a round trip to the server fails, the query is in the state before it, so With can call Answer again.
Result<Progress> PostgresSearchQuery::AnswerSlice(const OnMatch& on_match) {
  if (searched_ == nullptr) return Progress::kDone;
  return sessions_.With<Progress>([&](PostgresSession& session) -> Result<Progress> {
    session_ = &session;
    if (Status begun = has_begun_ ? Status() : Begin(); !begun.ok()) return begun;
    return Answer(on_match);
  });
}

Status PostgresSearchQuery::Begin() {
  session_->Queue(kSearchMoment);
  const int64_t now = options_.now_seconds == 0 ? INT64_MAX : SqlTime(options_.now_seconds);
  int64_t since = INT64_MAX;
  for (const Part& part : parts_)
    if (part.walk) since = std::min(since, SqlTime(part.filter.since));
  session_->Queue(kNewestUntil, PostgresValues().Int64(now).Int64(since));
  const Result<std::vector<PostgresRows>> answers = Run();
  if (!answers.ok()) return answers.status();
  const PostgresRows& origins = answers.value()[0];
  Moment moment;
  for (size_t i = 0; i < origins.size(); ++i) {
    moment.Advance({static_cast<uint32_t>(origins.Int(i, 0)), static_cast<uint64_t>(origins.Int(i, 1))});
    NoteWordless(origins, i);
  }
  rest_.Use(moment);
  const PostgresRows& newest = answers.value()[1];
  newest_ = newest.size() == 0 ? 0 : static_cast<uint64_t>(newest.Int(0, 0));
  has_begun_ = true;
  return {};
}

// Notes which events of the origin in this row of kSearchMoment have no words.
void PostgresSearchQuery::NoteWordless(const PostgresRows& origins, size_t row) {
  const auto origin = static_cast<uint32_t>(origins.Int(row, 0));
  const auto serial = static_cast<uint64_t>(origins.Int(row, 1));
  const std::optional<SearchedState> state = ReadSearched(origins.Bytes(row, 2));
  const bool has_kinds =
      state && state->version == kWordsVersion && std::ranges::includes(state->kinds, searched_->kinds());
  const uint64_t low = has_kinds ? static_cast<uint64_t>(origins.Int(row, 3)) : serial;
  const uint64_t high = has_kinds ? static_cast<uint64_t>(origins.Int(row, 4)) : serial;
  if (ranks()) {
    if (low > 0 || high < serial) complete_ = false;
    return;
  }
  if (low > 0) wordless_.push_back({.origin = origin, .after = 0, .until = std::min(low, serial)});
  if (high < serial) wordless_.push_back({.origin = origin, .after = high, .until = serial});
}

bool PostgresSearchQuery::IsWordless(Serial serial) const {
  return std::ranges::any_of(wordless_, [serial](const WordlessEvents& events) { return events.Has(serial); });
}

Result<bool> PostgresSearchQuery::Walk(Part* part) {
  while (part->walk && (ranks() || part->hits.empty())) {
    if (is_over()) return false;
    const int64_t before = budget_.work;
    if (Status done = WalkOn(part); !done.ok()) return done;
    NoteWalked(part, static_cast<Work>(before - budget_.work));
  }
  KeepBest(part);
  return true;
}

Status PostgresSearchQuery::WalkOn(Part* part) {
  if (part->walk->wordless < wordless_.size()) return ReadWordless(part);
  return part->walk->is_counted ? WalkSpan(part) : CountWords(part);
}

// Looks for hits among the next events that have no words yet.
Status PostgresSearchQuery::ReadWordless(Part* part) {
  SpanWalk& walk = *part->walk;
  if (part->walked >= kMostWordless) {
    complete_ = false;
    walk.wordless = wordless_.size();
    return {};
  }
  const WordlessEvents& events = wordless_[walk.wordless];
  session_->Queue(kNewerEvents, PostgresValues()
                                    .Int32(static_cast<int32_t>(events.origin))
                                    .Int64(static_cast<int64_t>(std::max(events.after, walk.passed)))
                                    .Int64(static_cast<int64_t>(events.until))
                                    .Array(KindsOf(part->filter))
                                    .Int64(kSplitAtOnce)
                                    .Int64(kPassedAtOnce));
  const Result<std::vector<PostgresRows>> answers = Run();
  if (!answers.ok()) return answers.status();
  const PostgresRows& rows = answers.value()[0];
  budget_.Spend(kSeekWork);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string_view record = rows.Bytes(i, 1);
    budget_.Visit(kVisitWork);
    if (!EventView::WellFormed(record)) continue;  // it is of another kind
    const EventView event(record);
    budget_.Spend(kRecordWork + record.size() * kRecordByteWork + searched_->SplittingWork(event));
    budget_.Spend(MatchingWork(TagsOf(event), TagWorkOf(part->filter)));
    if (!part->filter.Matches(event)) continue;
    const SearchWords words = WordsOf(ContentOf(event));
    if (std::ranges::includes(words.words, part->words, {}, &WordCount::word))
      part->hits.push_back({.place = {event.created_at(), event.id()}});
  }
  walk.passed = rows.size() == 0 ? 0 : static_cast<uint64_t>(rows.Int(rows.size() - 1, 0));
  if (rows.size() == 0) ++walk.wordless;
  return {};
}

PostgresArray PostgresSearchQuery::KindsOf(const Filter& filter) const {
  PostgresArray kinds{Type::kInt32};
  for (const uint16_t kind : filter.kinds ? *filter.kinds : searched_->kinds()) kinds.Add(int64_t{kind});
  return kinds;
}

// Counts the words that have too few events in shorter spans.
Status PostgresSearchQuery::CountWords(Part* part) {
  SpanWalk& walk = *part->walk;
  PostgresArray numbers{Type::kInt32};
  PostgresArray queries{Type::kText};
  std::vector<size_t> asked;
  for (size_t i = 0; i < part->words.size(); ++i) {
    if (walk.counts[i] >= kMostCountedEvents) continue;
    numbers.Add(static_cast<int64_t>(asked.size()));
    queries.Add(RecentQuery(part->words[i], newest_, walk.level));
    asked.push_back(i);
  }
  session_->Queue(kAllowBitmaps);
  session_->Queue(kCountWords,
                  PostgresValues().Array(numbers).Array(queries).Int64(static_cast<int64_t>(kMostCountedEvents)));
  session_->Queue(kNewestUntil, PostgresValues().Int64(SqlTime(part->filter.until)).Int64(SqlTime(part->filter.since)));
  const Result<std::vector<PostgresRows>> answers = Run();
  if (!answers.ok()) return answers.status();
  budget_.Spend(kStatementWork);
  bool is_over = true;
  bool is_missing = false;
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto count = static_cast<uint32_t>(answers.value()[1].Int(i, 0));
    walk.counts[asked[i]] = count;
    budget_.Visit(kSeekWork + count * kVisitWork);
    is_over = is_over && count >= kMostCountedEvents;
    is_missing = is_missing || (count == 0 && walk.level == kSpanLevels);
  }
  const PostgresRows& newest = answers.value()[2];
  if (is_missing || newest.size() == 0) {
    part->walk.reset();
  } else if (is_over || walk.level == kSpanLevels) {
    walk.is_counted = true;
    walk.longest = std::exchange(walk.level, 0);
    walk.until = newest.Int(0, 0);
  } else {
    ++walk.level;
  }
  return {};
}

// Looks for hits in the span at which the walk is, and moves it on to the next event before.
Status PostgresSearchQuery::WalkSpan(Part* part) {
  SpanWalk& walk = *part->walk;
  const Filter& filter = part->filter;
  const bool reads_records = filter.ids || !filter.tags.empty();
  const size_t most = reads_records ? kHitRecordsAtOnce : kHitsAtOnce;
  const int64_t since = SqlTime(filter.since);
  const auto begin = static_cast<int64_t>(SpanBegin(static_cast<uint64_t>(walk.until), walk.level));
  PostgresArray words{Type::kText};
  for (const uint64_t word : part->words) words.Add(WordLexeme(word));
  const std::span<const PublicKey> authors = filter.authors ? *filter.authors : std::span<const PublicKey>();
  session_->Queue(kAllowBitmaps);
  session_->Queue(kFindWords,
                  PostgresValues()
                      .Bytes(WordsQuery(part->words, authors, static_cast<uint64_t>(walk.until), walk.level))
                      .Int64(std::max(since, begin))
                      .Int64(walk.until)
                      .Bytes(walk.after)
                      .Array(KindsOf(filter))
                      .Int64(static_cast<int64_t>(most))
                      .Array(words)
                      .Int32(reads_records ? 1 : 0));
  session_->Queue(kNewestUntil, PostgresValues().Int64(begin - 1).Int64(since));
  const Result<std::vector<PostgresRows>> answers = Run();
  if (!answers.ok()) return answers.status();
  const PostgresRows& rows = answers.value()[1];
  const PostgresRows& before = answers.value()[2];
  budget_.Spend(kStatementWork);
  TakeHits(part, rows);
  if (rows.size() == most) {
    walk.until = rows.Int(most - 1, 1);
    walk.after = rows.Bytes(most - 1, 0);
    walk.level = std::max(walk.level - 1, 0);
  } else if (before.size() == 0) {
    part->walk.reset();
  } else {
    walk.until = before.Int(0, 0);
    walk.after.clear();
    if (rows.size() < most / 16) walk.level = std::min(walk.level + 1, walk.longest);
  }
  return {};
}

void PostgresSearchQuery::TakeHits(Part* part, const PostgresRows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    budget_.Visit(kRatedRowWork);
    const Serial serial{static_cast<uint32_t>(rows.Int(i, 2)), static_cast<uint64_t>(rows.Int(i, 3))};
    if (!moment().Has(serial) || IsWordless(serial)) continue;
    std::vector<uint8_t> densities(part->words.size());
    if (!FromHex(rows.Bytes(i, 4), densities.data(), densities.size())) continue;
    const std::string_view record = rows.Bytes(i, 5);
    if (!record.empty()) {
      if (!EventView::WellFormed(record)) continue;
      budget_.Spend(record.size() * kRecordByteWork);
      budget_.Spend(MatchingWork(TagsOf(EventView(record)), TagWorkOf(part->filter)));
      if (!part->filter.Matches(EventView(record))) continue;
    }
    PostgresHit hit{.place = {static_cast<uint64_t>(rows.Int(i, 1)), AsBytes(rows.Bytes(i, 0))}};
    for (size_t word = 0; word < densities.size(); ++word)
      hit.score += WeightOf(part->walk->counts[word]) * FactorOf(densities[word]);
    part->hits.push_back(hit);
  }
}

Status PostgresSearchQuery::HandOut(Part* part, const OnMatch& on_match) {
  const size_t count = std::min({kHandedOutAtOnce, part->hits.size() - part->next, static_cast<size_t>(part->left)});
  EventKeys keys;
  for (size_t i = 0; i < count; ++i) {
    const EventPlace& place = part->hits[part->next + i].place;
    keys.Add(place.id, place.created_at);
  }
  session_->Queue(kReadEvents, keys.Values());
  const Result<std::vector<PostgresRows>> answers = Run();
  if (!answers.ok()) return answers.status();
  std::unordered_map<std::string_view, std::string_view> records;
  for (size_t i = 0; i < answers.value()[0].size(); ++i)
    records.emplace(answers.value()[0].Bytes(i, 0), answers.value()[0].Bytes(i, 1));
  for (size_t i = 0; i < count; ++i) {
    const auto found = records.find(AsText(part->hits[part->next].place.id));
    ++part->next;
    if (found == records.end() || !EventView::WellFormed(found->second)) continue;  // it is gone since
    budget_.Visit(kRecordWork + found->second.size() * kRecordByteWork);
    Give(part, EventView(found->second), on_match);
  }
  return {};
}

}  // namespace weir
