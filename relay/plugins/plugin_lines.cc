#include "relay/plugins/plugin_lines.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "config/text/json_scanner.h"
#include "config/text/json_string.h"
#include "config/text/json_unescape.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kPluginActions> kActionWords = {"accept", "reject", "shadowReject"};
// The prefixes of NIP-01, and "unsupported", which it has for CLOSED.
constexpr std::array<std::string_view, 10> kPrefixesOfNip01 = {
    "auth-required", "blocked", "duplicate",    "error",      "invalid",
    "mute",          "pow",     "rate-limited", "restricted", "unsupported"};

// Appends the members that all questions have at their end.
void AppendSource(uint64_t received_at, const PluginSource& source, std::string* line) {
  line->append(",\"receivedAt\":").append(std::to_string(received_at));
  line->append(",\"sourceType\":\"").append(source.type).append("\",\"sourceInfo\":");
  AppendJsonString(source.info, line);
  line->append("}\n");
}

// Reads a string into `value`, without its escapes.
bool ReadText(JsonScanner& scanner, std::string* value) {
  JsonString string;
  if (!scanner.ReadString(&string)) return false;
  value->clear();
  AppendUnescaped(string.raw, value);
  return true;
}

// Reads the value of the member `name`. Sets `action_word` for the member "action". A message may be null, as a program
// writes one that it does not have.
bool ReadMember(JsonScanner& scanner, std::string_view name, PluginAnswer* answer, std::string* action_word) {
  if (name == "id") return ReadText(scanner, &answer->id);
  if (name == "action") return ReadText(scanner, action_word);
  if (name == "msg" && scanner.Peek() == '"') return ReadText(scanner, &answer->message);
  return scanner.SkipValue();
}

bool ReadAnswer(JsonScanner& scanner, PluginAnswer* answer, std::string* action_word) {
  if (!scanner.Expect('{')) return false;
  JsonScanner::Step step{};
  for (bool first = true; (step = scanner.NextItem('}', &first)) == JsonScanner::Step::kItem;) {
    JsonString name;
    if (!scanner.ReadName(&name) || !ReadMember(scanner, name.raw, answer, action_word)) return false;
  }
  return step == JsonScanner::Step::kEnd;
}

}  // namespace

PluginSource SourceOfClient(std::string_view address) {
  return {.type = address.find(':') == address.npos ? "IP4" : "IP6", .info = address};
}

PluginQuestion QuestionAbout(EventView event, uint64_t received_at, const PluginSource& source) {
  constexpr size_t kAround = 160;  // the bytes of a line without the event's JSON
  PluginQuestion question{.id = ToHex(event.id()), .line = {}};
  question.line.reserve(event.json().size() + kAround);
  question.line.append("{\"type\":\"new\",\"event\":").append(event.json());
  AppendSource(received_at, source, &question.line);
  return question;
}

PluginQuestion QuestionAbout(const AskedRequest& request, uint64_t received_at, const PluginSource& source) {
  static std::atomic<uint64_t> next{1};
  PluginQuestion question{.id = "req-" + std::to_string(next.fetch_add(1, std::memory_order_relaxed)), .line = {}};
  std::string& line = question.line;
  line.append("{\"type\":\"req\",\"id\":\"").append(question.id);
  line.append("\",\"verb\":\"").append(request.verb).append("\",\"subscription\":");
  AppendJsonString(request.subscription, &line);
  line.append(",\"filters\":[");
  for (const Filter& filter : request.filters) {
    if (line.back() != '[') line.push_back(',');
    line.append(ToJson(filter));
  }
  line.append("],\"authed\":[");
  for (const std::string& key : request.keys) {
    if (line.back() != '[') line.push_back(',');
    AppendJsonString(key, &line);
  }
  line.push_back(']');
  AppendSource(received_at, source, &line);
  return question;
}

Result<PluginAnswer> ParsePluginAnswer(std::string_view line) {
  if (!IsUtf8(line)) return Status::Error("the answer is not UTF-8");
  JsonScanner scanner(line);
  PluginAnswer answer;
  std::string action_word;
  if (!ReadAnswer(scanner, &answer, &action_word)) return Status::Error("the answer is not JSON: " + scanner.error());
  if (!scanner.AtEnd()) return Status::Error("more text follows the answer in its line");
  if (answer.id.empty()) return Status::Error("the answer has no \"id\"");
  const auto* const word = std::ranges::find(kActionWords, action_word);
  if (word == kActionWords.end()) return Status::Error("\"action\" is not one of accept, reject, shadowReject");
  answer.action = static_cast<PluginAction>(word - kActionWords.begin());
  return answer;
}

std::string RefusalByPlugin(std::string_view message) {
  if (message.empty()) return "blocked: the rules of this relay's operator refuse this";
  const std::string_view prefix = message.substr(0, message.find(':'));
  const bool has_prefix = prefix.size() < message.size() && std::ranges::count(kPrefixesOfNip01, prefix) > 0;
  return (has_prefix ? "" : "blocked: ") + std::string(message);
}

}  // namespace weir
