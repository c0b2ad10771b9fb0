#include "relay/store/postgres/postgres_scan.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "relay/account/work.h"
#include "relay/store/postgres/postgres_columns.h"

namespace weir {
namespace {

using Type = PostgresArray::Type;

// The key by which rows are found.
enum class Shape : uint8_t { kIds, kTime, kKinds, kAuthors, kAuthorKinds, kTags, kTagKinds };
constexpr size_t kShapes = 7;

struct ShapeText {
  const char* name;
  const char* table;
  const char* key_types;  // types of the arrays of keys
  const char* keys;       // columns
};
constexpr std::array<ShapeText, kShapes> kShapeTexts{{{"ids", "weir_events", "", ""},
                                                      {"time", "weir_events", "", ""},
                                                      {"kinds", "weir_events", "int[]", "kind"},
                                                      {"authors", "weir_events", "bytea[]", "pubkey"},
                                                      {"author_kinds", "weir_events", "bytea[],int[]", "pubkey,kind"},
                                                      {"tags", "weir_tags", "bigint[]", "tag"},
                                                      {"tag_kinds", "weir_tags", "bigint[],int[]", "tag,kind"}}};

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

// The statements of a shape. They read the first rows of each lane or the next ones, without records or with them or
// with their heads, or count rows.
struct Statements {
  enum Which : uint8_t { kFirst, kFirstRecords, kFirstHeads, kNext, kNextRecords, kNextHeads, kCount, kStatements };
  struct Text {
    std::string name;
    std::string sql;
  };
  std::array<Text, kStatements> texts;
  std::array<PostgresStatement, kStatements> statements{};
};

std::string Parameter(size_t number, std::string_view type) {
  return "$" + std::to_string(number) + "::" + std::string(type);
}

Statements MakeStatements(Shape shape) {
  const ShapeText& text = kShapeTexts[static_cast<size_t>(shape)];
  const std::vector<std::string> keys = Split(text.keys);
  const std::vector<std::string> types = Split(text.key_types);
  std::string arrays = Parameter(1, "int[]");
  std::string columns = "lane";
  std::string matches;
  size_t next = 2;
  for (size_t i = 0; i < keys.size(); ++i) {
    arrays += ", " + Parameter(next++, types[i]);
    columns += ", " + keys[i];
    matches += keys[i] + " = k." + keys[i] + " AND ";
  }
  arrays += ", " + Parameter(next, "bigint[]") + ", " + Parameter(next + 1, "bytea[]");
  columns += ", until, after";
  const std::string since = Parameter(next + 2, "bigint");
  const std::string limit = Parameter(next + 3, "bigint");
  const std::string lanes = " FROM unnest(" + arrays + ") AS k (" + columns + ") CROSS JOIN LATERAL (";
  const std::string from =
      std::string(" FROM ") + text.table + " WHERE " + matches + "created_at >= " + since + " AND ";
  const std::string in_order = " ORDER BY created_at DESC, id ASC LIMIT " + limit;
  // The next rows are the rest of the second at which the lane has stopped, then the rows of earlier seconds. No index
  // serves both as one condition: the server would walk through a second with many events again and again.
  const auto walk = [&](const std::string& what, bool is_next) {
    const std::string rest = "SELECT 0 AS part, " + what + from + "created_at = k.until AND id > k.after" + in_order;
    const std::string before = "SELECT 1, " + what + from + "created_at < k.until" + in_order;
    const std::string first = "SELECT 1 AS part, " + what + from + "created_at <= k.until" + in_order;
    return lanes + (is_next ? "(" + rest + ") UNION ALL (" + before + ")" : first) + ") AS w";
  };
  const bool of_tags = std::string_view(text.table) == "weir_tags";
  // Larger records are read separately, when the query needs them.
  const std::string small_record = "CASE WHEN octet_length(record) <= 8192 THEN record ELSE '' END";
  const auto rows = [&](bool is_next) {
    return "SELECT k.lane, w.part, w.created_at, w.id" + walk("created_at, id", is_next);
  };
  const std::string head = "substring(record FROM 1 FOR " + std::to_string(RecordLayout::kTags) + ")";
  const auto records = [&](bool is_next, const std::string& record) {
    const std::string found = "SELECT k.lane, w.part, w.created_at, w.id, ";
    if (!of_tags)
      return found + "w.origin, w.serial, " + record + walk("created_at, id, origin, serial, record", is_next);
    return found + "e.origin, e.serial, " + record + walk("created_at, id", is_next) +
           " CROSS JOIN LATERAL (SELECT * FROM weir_events e WHERE e.id = w.id AND e.created_at = w.created_at"
           " AND e.created_at >= " +
           since + " LIMIT 1) AS e";
  };
  const std::string name = text.name;
  Statements made;
  made.texts = {
      {{"first_of_" + name, rows(false)},
       {"first_records_of_" + name, records(false, small_record)},
       {"first_heads_of_" + name, records(false, head)},
       {"next_of_" + name, rows(true)},
       {"next_records_of_" + name, records(true, small_record)},
       {"next_heads_of_" + name, records(true, head)},
       {"count_of_" + name, "SELECT count(*) FROM (SELECT 1" + lanes + "SELECT 1" + from +
                                "created_at <= k.until LIMIT " + limit + ") AS w LIMIT " + limit + ") AS c"}}};
  if (shape == Shape::kIds) {
    // LIMIT keeps the planner of the server from choosing the index of times.
    const std::string from_ids =
        " FROM unnest($1::int[], $2::bytea[]) AS k (lane, id)"
        " CROSS JOIN LATERAL (SELECT * FROM weir_events e WHERE e.id = k.id LIMIT 1) AS w"
        " WHERE created_at <= $3::bigint AND created_at >= $4::bigint"
        " AND (created_at < $3::bigint OR w.id > $5::bytea)";
    made.texts[Statements::kFirst].sql = "SELECT k.lane, 1, created_at, w.id" + from_ids;
    made.texts[Statements::kFirstRecords].sql =
        "SELECT k.lane, 1, created_at, w.id, origin, serial, " + small_record + from_ids;
  }
  return made;
}

const PostgresStatement& StatementOf(Shape shape, Statements::Which which) {
  static std::array<Statements, kShapes> all;
  static std::once_flag once;
  std::call_once(once, [] {
    for (size_t i = 0; i < kShapes; ++i) {
      all[i] = MakeStatements(static_cast<Shape>(i));
      for (size_t n = 0; n < Statements::kStatements; ++n)
        all[i].statements[n] = {all[i].texts[n].name.c_str(), all[i].texts[n].sql.c_str()};
    }
  });
  return all[static_cast<size_t>(shape)].statements[which];
}

Shape ShapeOf(const Filter& filter, const PlanChoice& choice) {
  switch (choice.index) {
    case PlanChoice::Index::kIds:
      return Shape::kIds;
    case PlanChoice::Index::kAuthors:
      return filter.kinds ? Shape::kAuthorKinds : Shape::kAuthors;
    case PlanChoice::Index::kTag:
      return filter.kinds ? Shape::kTagKinds : Shape::kTags;
    case PlanChoice::Index::kKinds:
      return Shape::kKinds;
    case PlanChoice::Index::kTime:
      break;
  }
  return Shape::kTime;
}

constexpr uint64_t kMostRows = 4096;  // in a refill
constexpr uint64_t kMostRowsOfLane = 512;
constexpr uint64_t kMostRecordBytes = 1 << 20;  // in a refill, judging by the size of earlier records
constexpr uint64_t kFirstRecords = 64;          // in a refill, before any size is known
constexpr int64_t kMostCounted = 256;

}  // namespace

PostgresScan::PostgresScan(const Filter& filter, const std::optional<PlanChoice>& choice, const IdsOnly* ids_only)
    : filter_(filter),
      heads_only_(ids_only != nullptr && filter.tags.empty() && !filter.ids ? ids_only : nullptr),
      choices_(choice ? std::vector{*choice} : PossiblePlans(filter)) {
  if (choices_.size() == 1) choice_ = choices_.front();
}

// If there are many lanes, counts only some of them, evenly spread, because a count costs a seek for each lane.
Work PostgresScan::QueueChoice(PostgresSession& session) {
  Work work = 0;
  for (const PlanChoice& choice : choices_) {
    choice_ = choice;
    MakeLanes();
    const size_t counted = std::min(lanes_.size(), kLanesCounted);
    asked_.clear();
    for (size_t i = 0; i < counted; ++i) asked_.push_back(static_cast<uint32_t>(i * lanes_.size() / counted));
    counted_shares_.push_back(static_cast<double>(counted) / static_cast<double>(lanes_.size()));
    session.Queue(StatementOf(ShapeOf(filter_, choice), Statements::kCount),
                  KeysOf(asked_).Int64(SqlTime(filter_.since)).Int64(kMostCounted));
    work += counted * kSeekWork;
  }
  lanes_ = {};
  asked_.clear();
  choice_.reset();
  return work;
}

void PostgresScan::TakeChoice(const std::vector<PostgresRows>& counts, size_t first) {
  const auto rows = [&](size_t i) { return static_cast<double>(counts[first + i].Int(0, 0)) / counted_shares_[i]; };
  size_t least = 0;
  for (size_t i = 1; i < choices_.size(); ++i)
    if (rows(i) < rows(least)) least = i;
  choice_ = choices_[least];
  choices_ = {*choice_};
}

void PostgresScan::MakeLanes() {
  lanes_.clear();
  const auto add = [this](Lane lane) {
    if (!filter_.kinds || choice_->index == PlanChoice::Index::kTime) return lanes_.push_back(std::move(lane));
    for (const uint16_t kind : *filter_.kinds) {
      lane.kind = kind;
      lanes_.push_back(lane);
    }
  };
  switch (choice_->index) {
    case PlanChoice::Index::kIds:
      lanes_.resize((filter_.ids->size() + kIdsOfLane - 1) / kIdsOfLane);
      break;
    case PlanChoice::Index::kAuthors:
      for (const PublicKey& author : *filter_.authors) add({.author = &author});
      break;
    case PlanChoice::Index::kTag:
      for (const std::string& value : filter_.tags[choice_->tag].values)
        add({.tag = TagNumber(filter_.tags[choice_->tag].letter, value)});
      break;
    case PlanChoice::Index::kKinds:
    case PlanChoice::Index::kTime:
      add({});
      break;
  }
}

void PostgresScan::Start(const std::optional<EventPlace>& after) {
  after_ = after;
  if (choice_) MakeLanes();
  lanes_ready_ = 0;
  heads_.clear();
}

uint64_t PostgresScan::held_bytes() const {
  uint64_t bytes = sizeof(*this) + lanes_.capacity() * sizeof(Lane) + heads_.capacity() * sizeof(heads_[0]);
  for (const Lane& lane : lanes_) {
    bytes += lane.rows.capacity() * sizeof(FoundEvent);
    for (const FoundEvent& row : lane.rows) bytes += row.record.capacity();
  }
  return bytes;
}

// Returns the numbers of the lanes, their keys, and the place at which each lane continues.
PostgresValues PostgresScan::KeysOf(const std::vector<uint32_t>& lanes) const {
  const Shape shape = ShapeOf(filter_, *choice_);
  PostgresArray numbers{Type::kInt32};
  PostgresArray authors{Type::kBytes};
  PostgresArray tags{Type::kInt64};
  PostgresArray kinds{Type::kInt32};
  PostgresArray until{Type::kInt64};
  PostgresArray after{Type::kBytes};
  for (const uint32_t i : lanes) {
    const Lane& lane = lanes_[i];
    numbers.Add(int64_t{i});
    if (lane.author != nullptr) authors.Add(AsText(*lane.author));
    tags.Add(lane.tag);
    kinds.Add(int64_t{lane.kind});
    const std::optional<EventPlace> from = lane.has_begun ? lane.from : after_;
    const bool behind = from && from->created_at <= filter_.until;
    until.Add(SqlTime(behind ? from->created_at : filter_.until));
    after.Add(behind ? AsText(from->id) : std::string_view());
  }
  PostgresValues values;
  values.Array(numbers);
  if (shape == Shape::kAuthors || shape == Shape::kAuthorKinds) values.Array(authors);
  if (shape == Shape::kTags || shape == Shape::kTagKinds) values.Array(tags);
  if (shape == Shape::kKinds || shape == Shape::kAuthorKinds || shape == Shape::kTagKinds) values.Array(kinds);
  return values.Array(until).Array(after);
}

const FoundEvent* PostgresScan::head() const { return heads_.empty() ? nullptr : &lanes_[heads_.front()].front(); }

FoundEvent PostgresScan::Pop() {
  const auto later = [this](uint32_t a, uint32_t b) { return lanes_[b].front().place < lanes_[a].front().place; };
  std::ranges::pop_heap(heads_, later);
  const uint32_t number = heads_.back();
  heads_.pop_back();
  Lane& lane = lanes_[number];
  FoundEvent row = std::move(lane.rows[lane.next++]);
  if (!lane.empty()) {
    PushHead(number);
  } else if (!lane.at_end) {
    --lanes_ready_;
  }
  return row;
}

void PostgresScan::PushHead(uint32_t lane) {
  heads_.push_back(lane);
  std::ranges::push_heap(heads_,
                         [this](uint32_t a, uint32_t b) { return lanes_[b].front().place < lanes_[a].front().place; });
}

Work PostgresScan::QueueRefill(PostgresSession& session, uint64_t wanted, Work most) {
  const Shape shape = ShapeOf(filter_, *choice_);
  const Work row_work = reads_records() ? kVisitWork + kRecordWork + record_bytes_ * kRecordByteWork : kVisitWork;
  asked_.clear();
  if (choice_->index == PlanChoice::Index::kIds) {
    QueueIds(session, StatementOf(shape, reads_records() ? Statements::kFirstRecords : Statements::kFirst), most);
    return asked_.size() * kIdsOfLane * kVisitWork;
  }
  const uint64_t lanes_at_most = std::max<uint64_t>(1, most / (kSeekWork + row_work));
  uint64_t rows = std::clamp<uint64_t>(2 * wanted / lanes_.size(), 2, kMostRowsOfLane);
  if (lanes_.size() == 1) rows = std::min(wanted, kMostRowsOfLane);
  bool is_next = after_.has_value();
  for (uint32_t i = 0; i < lanes_.size() && asked_.size() < lanes_at_most; ++i) {
    const Lane& lane = lanes_[i];
    if (!lane.empty() || lane.at_end) continue;
    asked_.push_back(i);
    is_next = is_next || lane.has_begun;
    rows = std::max(rows, 2 * uint64_t{lane.at_once});
  }
  const uint64_t lanes = asked_.size();
  rows = std::min({rows, kMostRowsOfLane, std::max<uint64_t>(1, kMostRows / lanes),
                   std::max<uint64_t>(1, (most - std::min(most, lanes * kSeekWork)) / (lanes * row_work))});
  if (reads_records()) {
    rows = std::min(rows, std::max<uint64_t>(1, kMostRecordBytes / (lanes * record_bytes_)));
    if (!knows_size_) rows = std::min(rows, kFirstRecords);
  }
  asked_rows_ = static_cast<uint32_t>(rows);
  Statements::Which which = is_next ? Statements::kNext : Statements::kFirst;
  if (reads_records()) which = is_next ? Statements::kNextRecords : Statements::kFirstRecords;
  if (heads_only_ != nullptr) which = is_next ? Statements::kNextHeads : Statements::kFirstHeads;
  session.Queue(StatementOf(shape, which),
                KeysOf(asked_).Int64(SqlTime(filter_.since)).Int64(static_cast<int64_t>(rows)));
  return lanes * kSeekWork;
}

void PostgresScan::QueueIds(PostgresSession& session, const PostgresStatement& statement, Work most) {
  PostgresArray numbers{Type::kInt32};
  PostgresArray ids{Type::kBytes};
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].at_end || (!asked_.empty() && (asked_.size() + 1) * kIdsOfLane * kVisitWork > most)) continue;
    asked_.push_back(i);
    const size_t end = std::min(filter_.ids->size(), (size_t{i} + 1) * kIdsOfLane);
    for (size_t n = i * kIdsOfLane; n < end; ++n) {
      numbers.Add(int64_t{i});
      ids.Add(AsText((*filter_.ids)[n]));
    }
  }
  asked_rows_ = UINT32_MAX;
  const bool behind = after_ && after_->created_at <= filter_.until;
  session.Queue(statement, PostgresValues()
                               .Array(numbers)
                               .Array(ids)
                               .Int64(SqlTime(behind ? after_->created_at : filter_.until))
                               .Int64(SqlTime(filter_.since))
                               .Bytes(behind ? AsText(after_->id) : std::string_view()));
}

// Makes the head of a record one of an event without tags and JSON, which decides whether the event matches and may be
// seen; or clears it, if only the whole record does.
void PostgresScan::CompleteHead(FoundEvent* found) const {
  std::string& record = found->record;
  if (record.size() != RecordLayout::kTags) return record.clear();
  std::fill(record.begin() + RecordLayout::kTagBytes, record.end(), '\0');
  const auto by = static_cast<uint32_t>(ReadNumber(record.data() + RecordLayout::kPubkey, sizeof(uint32_t)));
  found->is_head = !heads_only_->sight || heads_only_->sight(EventView(record).kind(), by) != Sight::kUnknown;
  if (!found->is_head) record.clear();
}

// The answer has two parts for each lane: the rest of the second at which the lane has stopped, and the rows of earlier
// seconds. Each part is in order and has at most asked_rows_ rows.
Work PostgresScan::TakeRows(const PostgresRows& rows) {
  const bool with_records = reads_records();
  uint64_t bytes = 0;
  for (const uint32_t number : asked_) {
    lanes_[number].of_second = 0;
    lanes_[number].next = 0;
    lanes_[number].rows.clear();
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Lane& lane = lanes_[static_cast<size_t>(rows.Int(i, 0))];
    if (rows.Int(i, 1) == 0) ++lane.of_second;
    FoundEvent found{.place = {static_cast<uint64_t>(rows.Int(i, 2)), AsBytes(rows.Bytes(i, 3))}};
    if (with_records) {
      found.serial = {static_cast<uint32_t>(rows.Int(i, 4)), static_cast<uint64_t>(rows.Int(i, 5))};
      found.record = rows.Bytes(i, 6);
      if (heads_only_ != nullptr) CompleteHead(&found);
      bytes += found.record.size();
    }
    lane.rows.push_back(std::move(found));
  }
  for (const uint32_t number : asked_) {
    Lane& lane = lanes_[number];
    std::ranges::sort(lane.rows, [](const FoundEvent& a, const FoundEvent& b) { return a.place < b.place; });
    // If the rest of the second has asked_rows_ rows, there may be more of it, which comes before the earlier seconds.
    const bool second_goes_on = lane.of_second == asked_rows_;
    if (second_goes_on) lane.rows.resize(asked_rows_);
    lane.at_end = !second_goes_on && lane.rows.size() - lane.of_second < asked_rows_;
    lane.at_once = asked_rows_;
    ++lanes_ready_;
    if (lane.rows.empty()) continue;
    lane.from = lane.rows.back().place;
    lane.has_begun = true;
    PushHead(number);
  }
  if (with_records && rows.size() > 0) {
    record_bytes_ = std::max<uint64_t>(1, bytes / rows.size());
    knows_size_ = true;
  }
  return rows.size() * (kVisitWork + (with_records ? kRecordWork : 0)) + bytes * kRecordByteWork;
}

}  // namespace weir
