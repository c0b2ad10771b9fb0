#include "import/serve/import_answer.h"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "config/text/json_writer.h"
#include "config/text/parse.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

double Milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

// Reads a member. Returns an empty value if it is missing or of another type.
template <typename T>
T Member(const dom::element& object, std::string_view name) {
  T value{};
  return object[name].get(value) == simdjson::SUCCESS ? value : T{};
}

// Reads a time in milliseconds, at most some thirty years.
Duration MemberTime(const dom::element& object, std::string_view name) {
  return FromSeconds(std::clamp(Member<double>(object, name) / 1e3, 0.0, 1e9));
}

LineOutcome OutcomeOf(std::string_view key) {
  for (size_t i = 0; i < kLineOutcomes; ++i)
    if (KeyOf(static_cast<LineOutcome>(i)) == key) return static_cast<LineOutcome>(i);
  return LineOutcome::kInvalid;
}

ImportReject ReadReject(const dom::element& object) {
  return {.line = Member<uint64_t>(object, "line"),
          .outcome = OutcomeOf(Member<std::string_view>(object, "outcome")),
          .reason = std::string(Member<std::string_view>(object, "reason"))};
}

ImportProgress ReadProgress(const dom::element& object, bool done) {
  ImportProgress progress{.done = done, .lines = Member<uint64_t>(object, "lines"), .tally = {}, .conditions = {}};
  progress.tally.bytes = Member<uint64_t>(object, "bytes");
  for (size_t i = 0; i < kLineOutcomes; ++i)
    progress.tally.lines[i] = Member<uint64_t>(object, KeyOf(static_cast<LineOutcome>(i)));
  progress.conditions = {.level = Member<double>(object, "level"),
                         .limiting = std::string(Member<std::string_view>(object, "limiting")),
                         .delay = MemberTime(object, "delay_ms"),
                         .latency = MemberTime(object, "latency_ms"),
                         .throttled = Member<uint64_t>(object, "throttled"),
                         .throttled_time = MemberTime(object, "throttled_ms"),
                         .problem = std::string(Member<std::string_view>(object, "problem"))};
  return progress;
}

}  // namespace

std::string ToLine(const ImportReject& reject) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("reject").Open('{');
  json.Member("line").Number(reject.line);
  json.Member("outcome").String(KeyOf(reject.outcome));
  json.Member("reason").String(reject.reason);
  json.Close('}').Close('}');
  return std::move(json).Text();
}

std::string ToLine(const ImportProgress& progress) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member(progress.done ? "done" : "progress").Open('{');
  json.Member("lines").Number(progress.lines);
  json.Member("bytes").Number(progress.tally.bytes);
  for (size_t i = 0; i < kLineOutcomes; ++i)
    json.Member(KeyOf(static_cast<LineOutcome>(i))).Number(progress.tally.lines[i]);
  const ImportConditions& conditions = progress.conditions;
  json.Member("level").Number(conditions.level);
  json.Member("limiting").String(conditions.limiting);
  json.Member("delay_ms").Number(Milliseconds(conditions.delay));
  json.Member("latency_ms").Number(Milliseconds(conditions.latency));
  json.Member("throttled").Number(conditions.throttled);
  json.Member("throttled_ms").Number(Milliseconds(conditions.throttled_time));
  json.Member("problem").String(conditions.problem);
  json.Close('}').Close('}');
  return std::move(json).Text();
}

std::string ToLine(const ImportError& error) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("error").String(error.message);
  if (error.lasting) json.Member("lasting").Bool(true);
  json.Close('}');
  return std::move(json).Text();
}

Result<ImportAnswerLine> ParseAnswerLine(std::string_view line) {
  const Status none = Status::Error("not a line of an import's answer: " + Printable(line));
  dom::parser parser;
  dom::element root;
  if (parser.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS || !root.is_object()) return none;
  dom::element inner;
  if (root["reject"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadReject(inner));
  if (root["progress"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadProgress(inner, false));
  if (root["done"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadProgress(inner, true));
  std::string_view message;
  if (root["error"].get(message) != simdjson::SUCCESS) return none;
  return ImportAnswerLine(ImportError{.message = std::string(message), .lasting = Member<bool>(root, "lasting")});
}

}  // namespace weir
