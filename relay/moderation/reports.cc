#include "relay/moderation/reports.h"

#include <algorithm>
#include <utility>

#include "config/text/hex.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/nostr/content.h"

namespace weir {
namespace {

constexpr size_t kTypeCharacters = 40;

std::string_view NameOf(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"none", "allowed", "banned"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string Beginning(const std::string& text, size_t characters) {
  const std::string_view begin = FirstCharacters(text, characters);
  return std::string(begin) + (begin.size() < text.size() ? "…" : "");
}

// Reads the first tag with this name whose value is an id or a key. Its third item, if there is one, is a report's type
// (NIP-56); sets `type` to it unless `type` has one already.
std::optional<Bytes32> TargetIn(EventView report, std::string_view name, std::string* type) {
  for (const std::vector<std::string>& tag : TagsNamed(report, name)) {
    Bytes32 target;
    if (tag.size() < 2 || !FromHex(tag[1], target.data(), target.size())) continue;
    if (tag.size() > 2 && type->empty()) *type = Beginning(tag[2], kTypeCharacters);
    return target;
  }
  return std::nullopt;
}

std::string ToText(const EventPlace& place) { return std::to_string(place.created_at) + "-" + ToHex(place.id); }

void Write(const ReportedEvent& event, JsonWriter* json) {
  json->Open('{');
  json->Member("id").String(ToHex(event.id));
  json->Member("verdict").String(NameOf(event.verdict));
  json->Member("stored").Bool(event.is_stored);
  if (event.is_stored) {
    json->Member("kind").Number(event.kind);
    json->Member("created_at").Number(event.created_at);
    json->Member("content").String(event.content);
  }
  json->Close('}');
}

void Write(const ReportRow& row, JsonWriter* json) {
  json->Open('{');
  json->Member("id").String(ToHex(row.place.id));
  json->Member("created_at").Number(row.place.created_at);
  json->Member("reporter").String(ToHex(row.reporter));
  json->Member("type").String(row.type);
  json->Member("text").String(row.text);
  json->Member("answered").Bool(row.is_answered());
  if (row.event) Write(*row.event, &json->Member("event"));
  if (row.author) {
    json->Member("author").Open('{');
    json->Member("pubkey").String(ToHex(*row.author));
    json->Member("verdict").String(NameOf(row.author_verdict));
    json->Member("claimed").Bool(row.author_is_claim);
    json->Close('}');
  }
  json->Close('}');
}

}  // namespace

Result<ReportQuestion> ReadReportQuestion(std::string_view which, std::string_view after) {
  ReportQuestion question;
  if (which != "" && which != "open" && which != "all")
    return Status::Error("the first parameter of listreports is " + Printable(which) + "; it must be open or all");
  question.only_open = which != "all";
  if (after.empty()) return question;
  const size_t dash = std::min(after.find('-'), after.size());
  const Result<uint64_t> created_at = ParseUnsigned(after.substr(0, dash), {.min = 0, .max = 1e15});
  EventPlace place;
  if (!created_at.ok() || !FromHex(after.substr(std::min(dash + 1, after.size())), place.id.data(), place.id.size()))
    return Status::Error("the parameter after is " + Printable(after) +
                         "; it must be what the page before gave as after");
  place.created_at = created_at.value();
  question.after = place;
  return question;
}

bool ReportRow::is_answered() const {
  if (author_verdict == Verdict::kBanned) return true;
  return (event ? event->verdict : author_verdict) != Verdict::kNone;
}

std::string ToJson(const ReportPage& page) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('[');
  for (const ReportRow& row : page.rows) Write(row, &json);
  json.Close(']');
  return std::move(json).Value();
}

std::string EventsNeedingModeration(const ReportPage& page) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  std::vector<EventId> seen;
  json.Open('[');
  for (const ReportRow& row : page.rows) {
    if (!row.event || row.is_answered() || std::ranges::find(seen, row.event->id) != seen.end()) continue;
    seen.push_back(row.event->id);
    json.Open('{');
    json.Member("id").String(ToHex(row.event->id));
    json.Member("reason").String(row.type + (row.type.empty() || row.text.empty() ? "" : ": ") + row.text);
    json.Close('}');
  }
  json.Close(']');
  return std::move(json).Value();
}

ReportReader::ReportReader(const EventStore& store, Verdicts verdicts, const ReportQuestion& question,
                           uint64_t now_seconds)
    : store_(store), verdicts_(std::move(verdicts)), question_(question), now_seconds_(now_seconds) {
  Filter filter;
  filter.kinds = {kReportKind};
  query_ = store_.Find(
      {filter},
      {.now_seconds = now_seconds_, .default_limit = kAllEvents, .max_limit = kAllEvents, .after = question_.after});
}

Result<Progress> ReportReader::Next(const Slice& slice) {
  Result<Progress> progress =
      query_->Next(slice, [this](EventView event) { reads_targets_ ? TakeTarget(event) : TakeReport(event); });
  if (!progress.ok()) return progress;
  const bool is_done = progress.value() == Progress::kDone;
  if (reads_targets_) return is_done ? Finish() : Progress::kMore;
  const bool is_over = page_.rows.size() >= question_.most || (last_ && query_->work() >= kMostReportWork);
  if (!is_done && !is_over) return Progress::kMore;
  if (is_over) page_.after = ToText(*last_);
  return BeginTargets() ? Progress::kMore : Finish();
}

// A report that claims a banned author counts as answered, although the event may have another author, whom only the
// event itself names: else the open reports of a banned author would fill page after page. A false claim hides no other
// report of the event.
void ReportReader::TakeReport(EventView report) {
  if (page_.rows.size() >= question_.most) return;
  last_ = EventPlace{report.created_at(), report.id()};
  ReportRow row{.place = *last_, .reporter = report.pubkey()};
  if (const std::optional<EventId> event = TargetIn(report, "e", &row.type))
    row.event = ReportedEvent{.id = *event, .verdict = verdicts_.of_event(*event)};
  row.author = TargetIn(report, "p", &row.type);
  row.author_is_claim = row.event && row.author;
  if (row.author) row.author_verdict = verdicts_.of_author(*row.author);
  if ((!row.event && !row.author) || (question_.only_open && row.is_answered())) return;
  row.text = Beginning(ContentOf(report), kReportCharacters);
  page_.rows.push_back(std::move(row));
}

// Returns false if the reports are about authors only.
bool ReportReader::BeginTargets() {
  std::vector<EventId> ids;
  for (const ReportRow& row : page_.rows)
    if (row.event) ids.push_back(row.event->id);
  if (ids.empty()) return false;
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Filter filter;
  filter.ids = std::move(ids);
  work_before_ = query_->work();
  query_ = store_.Find({filter}, {.now_seconds = now_seconds_});
  reads_targets_ = true;
  return true;
}

void ReportReader::TakeTarget(EventView event) {
  for (ReportRow& row : page_.rows) {
    if (!row.event || row.event->id != event.id()) continue;
    row.event->is_stored = true;
    row.event->kind = event.kind();
    row.event->created_at = event.created_at();
    row.event->content = Beginning(ContentOf(event), kReportCharacters);
    row.author = event.pubkey();
    row.author_is_claim = false;
    row.author_verdict = verdicts_.of_author(event.pubkey());
  }
}

// Now the authors of the events are known, so a ban of one of them may answer a report.
Progress ReportReader::Finish() {
  if (question_.only_open) std::erase_if(page_.rows, [](const ReportRow& row) { return row.is_answered(); });
  return Progress::kDone;
}

}  // namespace weir
