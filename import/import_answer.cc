#include "import/import_answer.h"

#include <simdjson.h>

#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include "config/parse.h"
#include "relay/nostr/messages.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

double Milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

void AppendMember(std::string_view name, std::string_view value, std::string* out) {
  AppendJsonString(name, out);
  out->append(":").append(value).append(",");
}

// ImportConditions names a signal by a text that lives for ever. There are few; beyond that a name is not worth the
// memory.
std::string_view Forever(std::string_view name) {
  constexpr size_t kMostNames = 64;
  static std::mutex mutex;
  static std::set<std::string, std::less<>>& names = *new std::set<std::string, std::less<>>();
  const std::lock_guard lock(mutex);
  if (const auto known = names.find(name); known != names.end()) return *known;
  return names.size() < kMostNames ? *names.emplace(name).first : std::string_view("another signal");
}

uint64_t Whole(const dom::element& object, std::string_view name) {
  uint64_t value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : 0;
}
double Real(const dom::element& object, std::string_view name) {
  double value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : 0;
}
std::string_view Text(const dom::element& object, std::string_view name) {
  std::string_view value;
  return object[name].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

LineOutcome OutcomeOf(std::string_view key) {
  for (size_t i = 0; i < kLineOutcomes; ++i)
    if (KeyOf(static_cast<LineOutcome>(i)) == key) return static_cast<LineOutcome>(i);
  return LineOutcome::kInvalid;
}

ImportReject ReadReject(const dom::element& object) {
  return {.line = Whole(object, "line"),
          .outcome = OutcomeOf(Text(object, "outcome")),
          .reason = std::string(Text(object, "reason"))};
}

ImportProgress ReadProgress(const dom::element& object, bool done) {
  ImportProgress progress;
  progress.done = done;
  progress.lines = Whole(object, "lines");
  progress.tally.bytes = Whole(object, "bytes");
  for (size_t i = 0; i < kLineOutcomes; ++i)
    progress.tally.lines[i] = Whole(object, KeyOf(static_cast<LineOutcome>(i)));
  ImportConditions& conditions = progress.conditions;
  conditions.level = Real(object, "level");
  if (const std::string_view name = Text(object, "limiting"); !name.empty()) conditions.limiting = Forever(name);
  conditions.delay = FromSeconds(Real(object, "delay_ms") / 1e3);
  conditions.latency = FromSeconds(Real(object, "latency_ms") / 1e3);
  conditions.throttled = Whole(object, "throttled");
  conditions.throttled_time = FromSeconds(Real(object, "throttled_ms") / 1e3);
  conditions.problem = std::string(Text(object, "problem"));
  return progress;
}

}  // namespace

void AppendReject(uint64_t line, LineOutcome outcome, std::string_view reason, std::string* out) {
  out->append("{\"reject\":{");
  AppendMember("line", std::to_string(line), out);
  out->append("\"outcome\":\"").append(KeyOf(outcome)).append("\",\"reason\":");
  AppendJsonString(reason, out);
  out->append("}}\n");
}

void AppendProgress(const ImportProgress& progress, std::string* out) {
  out->append(progress.done ? "{\"done\":{" : "{\"progress\":{");
  AppendMember("lines", std::to_string(progress.lines), out);
  AppendMember("bytes", std::to_string(progress.tally.bytes), out);
  for (size_t i = 0; i < kLineOutcomes; ++i)
    AppendMember(KeyOf(static_cast<LineOutcome>(i)), std::to_string(progress.tally.lines[i]), out);
  const ImportConditions& conditions = progress.conditions;
  AppendMember("level", FormatNumber(conditions.level), out);
  out->append("\"limiting\":");
  AppendJsonString(conditions.limiting, out);
  out->append(",");
  AppendMember("delay_ms", FormatNumber(Milliseconds(conditions.delay)), out);
  AppendMember("latency_ms", FormatNumber(Milliseconds(conditions.latency)), out);
  AppendMember("throttled", std::to_string(conditions.throttled), out);
  AppendMember("throttled_ms", FormatNumber(Milliseconds(conditions.throttled_time)), out);
  out->append("\"problem\":");
  AppendJsonString(conditions.problem, out);
  out->append("}}\n");
}

void AppendError(const ImportError& error, std::string* out) {
  out->append("{\"error\":");
  AppendJsonString(error.message, out);
  out->append(error.lasting ? ",\"lasting\":true}\n" : "}\n");
}

Result<ImportAnswerLine> ParseAnswerLine(std::string_view line) {
  dom::parser parser;
  dom::element root;
  if (parser.parse(line.data(), line.size()).get(root) != simdjson::SUCCESS || !root.is_object())
    return Status::Error("not a line of an import's answer: " + Printable(line));
  dom::element inner;
  if (root["reject"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadReject(inner));
  if (root["progress"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadProgress(inner, false));
  if (root["done"].get(inner) == simdjson::SUCCESS) return ImportAnswerLine(ReadProgress(inner, true));
  if (std::string_view message; root["error"].get(message) == simdjson::SUCCESS) {
    bool lasting = false;
    if (root["lasting"].get(lasting) != simdjson::SUCCESS) lasting = false;
    return ImportAnswerLine(ImportError{.message = std::string(message), .lasting = lasting});
  }
  return Status::Error("not a line of an import's answer: " + Printable(line));
}

}  // namespace weir
