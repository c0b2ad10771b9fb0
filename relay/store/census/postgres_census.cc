#include "relay/store/census/postgres_census.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/store/census/arrivals.h"
#include "relay/store/census/kind_counts.h"
#include "relay/store/postgres/postgres_columns.h"

namespace weir {
namespace {

constexpr size_t kKindsInSample = 80;

constexpr PostgresStatement kSizes{
    "census_sizes",
    "SELECT sum(CASE WHEN is_events THEN pg_table_size(t.oid) ELSE 0 END)::bigint, sum(CASE WHEN is_events"
    " THEN pg_indexes_size(t.oid) ELSE pg_total_relation_size(t.oid) END)::bigint,"
    " pg_database_size(current_database()), (SELECT coalesce(sum(events), 0)::bigint FROM weir_origins)"
    " FROM (SELECT 'weir_events'::regclass::oid, true UNION ALL SELECT 'weir_tags'::regclass::oid, false UNION ALL"
    " SELECT inhrelid, inhparent = 'weir_events'::regclass FROM pg_inherits"
    " WHERE inhparent IN ('weir_events'::regclass, 'weir_tags'::regclass)) AS t (oid, is_events)"};
// $1: millionths of the table. Enough of a record comes for its tags (EntriesOf).
constexpr PostgresStatement kSample{"census_sample",
                                    "SELECT origin, serial, created_at, kind, octet_length(record)::bigint,"
                                    " substr(record, 1, 8192) FROM weir_events"
                                    " TABLESAMPLE SYSTEM (($1::bigint / 10000.0)::real) REPEATABLE (0)"
                                    " ORDER BY origin, serial"};
// $1: the first second of each month; $2: the moment of the rule.
constexpr PostgresStatement kKinds{"census_kinds",
                                   "SELECT kind, width_bucket(created_at, $1::bigint[]), count(*),"
                                   " count(*) FILTER (WHERE created_at < $2::bigint)"
                                   " FROM weir_events GROUP BY 1, 2 ORDER BY 1, 2"};
constexpr PostgresStatement kAuthors{
    "census_authors", "SELECT pubkey, count(*) FROM weir_events GROUP BY pubkey ORDER BY 2 DESC, 1 LIMIT $1::bigint"};
constexpr PostgresStatement kOfAuthor{"census_of_author",
                                      "SELECT octet_length(record)::bigint, substr(record, 1, 8192) FROM weir_events"
                                      " WHERE pubkey = $1::bytea ORDER BY created_at DESC, id LIMIT $2::bigint"};
constexpr PostgresStatement kTags{
    "census_tags", "SELECT tag, count(*) FROM weir_tags GROUP BY tag ORDER BY 2 DESC, 1 LIMIT $1::bigint"};
constexpr PostgresStatement kOfTag{"census_of_tag",
                                   "SELECT e.record FROM weir_tags t JOIN weir_events e ON e.id = t.id"
                                   " WHERE t.tag = $1::bigint ORDER BY t.created_at DESC, t.id LIMIT 1"};

// The first seconds of the months from 2020 to next month, and then of the future. The months lie between them.
struct MonthBorders {
  std::vector<Month> months{kBefore2020};  // one more than there are borders
  PostgresArray seconds{PostgresArray::Type::kInt64};

  explicit MonthBorders(uint64_t now_seconds) {
    const uint64_t tomorrow = now_seconds / kDaySeconds + 1;
    constexpr uint64_t kDays2020 = 18'262;  // 2020-01-01
    for (uint64_t day = kDays2020; day <= tomorrow + 1; ++day) {
      const Month month = MonthOf(day * kDaySeconds, now_seconds);
      if (month == months.back()) continue;
      months.push_back(month);
      seconds.Add(static_cast<int64_t>(day * kDaySeconds));
    }
  }
};

// Takes one census, on a connection of its own.
class PostgresCensusTaker {
 public:
  PostgresCensusTaker(const PostgresStore& store, const CensusOptions& options)
      : store_(store), options_(options), session_(store.NewSession()) {
    census_.at_seconds = options.now_seconds;
    census_.rule = options.rule;
  }

  Result<Census> Take() {
    if (Status connected = store_.Connect(*session_, options_.patience); !connected.ok()) return connected;
    for (const auto step :
         {&PostgresCensusTaker::MeasureDisk, &PostgresCensusTaker::ReadSample, &PostgresCensusTaker::CountKinds,
          &PostgresCensusTaker::CountAuthors, &PostgresCensusTaker::CountTags})
      if (Status done = (this->*step)(); !done.ok()) return done;
    return std::move(census_);
  }

 private:
  Result<PostgresRows> Ask(const PostgresStatement& statement, PostgresValues values = {}) {
    const Result<Admission> admission = options_.await ? options_.await() : Result<Admission>(Admission());
    if (!admission.ok()) return admission.status();
    session_->Queue(statement, std::move(values));
    Result<std::vector<PostgresRows>> answers = session_->Run(options_.patience);
    if (!answers.ok()) return answers.status();
    return std::move(answers.value()[0]);
  }

  Status MeasureDisk() {
    const Result<PostgresRows> rows = Ask(kSizes);
    if (!rows.ok()) return rows.status();
    const auto number = [&rows](int column) { return static_cast<uint64_t>(rows.value().Int(0, column)); };
    census_.disk.events = number(0);
    census_.disk.index = number(1);
    census_.disk.other = number(2) - std::min(number(2), number(0) + number(1));
    events_ = std::max<int64_t>(rows.value().Int(0, 3), 1);
    return {};
  }

  Status ReadSample() {
    const auto wanted = static_cast<int64_t>(options_.sample * kKindsInSample);
    const int64_t millionths = std::clamp<int64_t>(wanted * 1'000'000 / events_, 1, 1'000'000);
    const Result<PostgresRows> sampled = Ask(kSample, PostgresValues().Int64(millionths));
    if (!sampled.ok()) return sampled.status();
    const PostgresRows& rows = sampled.value();
    const auto size = static_cast<uint64_t>(rows.size());
    const double weight = size == 0 ? 0 : static_cast<double>(events_) / static_cast<double>(size);
    std::map<char, double> letters;
    for (size_t i = 0; i < rows.size(); ++i) {
      Sample one;
      one.Add(static_cast<double>(rows.Int(i, 4)), EntriesOf(rows.Bytes(i, 5), &letters));
      all_ += one;
      of_kind_[static_cast<uint16_t>(rows.Int(i, 3))] += one;
    }
    for (const auto& [letter, entries] : letters)
      census_.letters.push_back({letter, static_cast<uint64_t>(std::llround(entries * weight))});
    std::ranges::stable_sort(census_.letters, std::greater<>(), &Census::OfLetter::entries);
    AddDays(rows, weight);
    return {};
  }

  // The rows are sorted by origin and serial, so the rank of a row stands for its serial.
  void AddDays(const PostgresRows& rows, double weight) {
    for (size_t begin = 0; begin < rows.size();) {
      size_t end = begin;
      while (end < rows.size() && rows.Int(end, 0) == rows.Int(begin, 0)) ++end;
      Arrivals arrivals(end - begin, options_.now_seconds);
      for (size_t i = begin; i < end; ++i) arrivals.AddEvent(i - begin, static_cast<uint64_t>(rows.Int(i, 2)));
      arrivals.Measure(all_, all_.size());
      arrivals.AddTo(&census_.days);
      begin = end;
    }
    for (auto& [day, amount] : census_.days) amount = Scaled(amount, weight);
  }
  static Amount Scaled(const Amount& amount, double weight) {
    return {.events = static_cast<uint64_t>(std::llround(static_cast<double>(amount.events) * weight)),
            .record_bytes = amount.record_bytes * weight,
            .entries = amount.entries * weight};
  }

  Status CountKinds() {
    const MonthBorders borders(options_.now_seconds);
    const auto before = options_.rule ? SqlTime(options_.rule->before) : 0;
    const Result<PostgresRows> counted = Ask(kKinds, PostgresValues().Array(borders.seconds).Int64(before));
    if (!counted.ok()) return counted.status();
    const PostgresRows& rows = counted.value();
    std::optional<KindCounts> counts;
    const auto finish = [&] {
      if (!counts) return;
      const auto found = of_kind_.find(counts->kind());
      AddKind(*counts, found == of_kind_.end() ? all_ : found->second, &census_);
    };
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto kind = static_cast<uint16_t>(rows.Int(i, 0));
      if (!counts || counts->kind() != kind) {
        finish();
        counts.emplace(kind, options_);
      }
      const uint64_t matched = KindCounts::RuleOf(kind, options_) > 0 ? static_cast<uint64_t>(rows.Int(i, 3)) : 0;
      counts->Add(borders.months[static_cast<size_t>(rows.Int(i, 1))], static_cast<uint64_t>(rows.Int(i, 2)), matched);
    }
    finish();
    census_.sampled = all_.size();
    FinishKinds(&census_);
    return {};
  }

  Status CountAuthors() {
    const auto most = static_cast<int64_t>(options_.most_rows * kCandidatesForRow);
    const Result<PostgresRows> counted = Ask(kAuthors, PostgresValues().Int64(most));
    if (!counted.ok()) return counted.status();
    for (size_t i = 0; i < counted.value().size(); ++i) {
      const std::string_view key = counted.value().Bytes(i, 0);
      const Result<PostgresRows> rows =
          Ask(kOfAuthor, PostgresValues().Bytes(key).Int64(static_cast<int64_t>(kSampleOfAuthor)));
      if (!rows.ok()) return rows.status();
      Sample sample;
      for (size_t row = 0; row < rows.value().size(); ++row)
        sample.Add(static_cast<double>(rows.value().Int(row, 0)), EntriesOf(rows.value().Bytes(row, 1)));
      const auto events = static_cast<uint64_t>(counted.value().Int(i, 1));
      census_.authors.push_back({AsBytes(key), sample.Of(events, events)});
      census_.sampled += sample.size();
    }
    KeepLargestAuthors(options_.most_rows, &census_);
    return {};
  }

  Status CountTags() {
    const Result<PostgresRows> counted = Ask(kTags, PostgresValues().Int64(static_cast<int64_t>(options_.most_rows)));
    if (!counted.ok()) return counted.status();
    for (size_t i = 0; i < counted.value().size(); ++i) {
      const int64_t number = counted.value().Int(i, 0);
      const Result<PostgresRows> rows = Ask(kOfTag, PostgresValues().Int64(number));
      if (!rows.ok()) return rows.status();
      Census::OfTag tag{.letter = '?', .value = "", .entries = static_cast<uint64_t>(counted.value().Int(i, 1))};
      if (rows.value().size() > 0 && EventView::WellFormed(rows.value().Bytes(0, 0))) {
        for (const TagView each : EventView(rows.value().Bytes(0, 0)).tags())
          if (TagNumber(each.letter, each.value) == number) tag = {each.letter, std::string(each.value), tag.entries};
      }
      census_.tags.push_back(std::move(tag));
    }
    return {};
  }

  const PostgresStore& store_;
  const CensusOptions& options_;
  const std::unique_ptr<PostgresSession> session_;
  int64_t events_ = 1;
  Sample all_;
  std::map<uint16_t, Sample> of_kind_;
  Census census_;
};

}  // namespace

Result<Census> TakePostgresCensus(const PostgresStore& store, const CensusOptions& options) {
  return PostgresCensusTaker(store, options).Take();
}

}  // namespace weir
