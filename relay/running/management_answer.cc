#include "relay/running/management_answer.h"

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "config/text/readable.h"
#include "config/text/utf8.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

// A value of JSON, and its name if it is a member of an object.
struct Value {
  std::string_view name;
  std::string_view json;
};

// Reads the members of an object or the items of a list. Returns false if `json` is neither.
bool ReadValues(std::string_view json, char open, std::vector<Value>* values) {
  if (!IsUtf8(json)) return false;
  JsonScanner scanner(json);
  if (!scanner.Expect(open)) return false;
  const char close = open == '{' ? '}' : ']';
  bool first = true;
  for (;;) {
    const JsonScanner::Step step = scanner.NextItem(close, &first);
    if (step == JsonScanner::Step::kEnd) return scanner.AtEnd();
    JsonString name;
    if (step == JsonScanner::Step::kError || (open == '{' && !scanner.ReadName(&name))) return false;
    scanner.Peek();
    const char* const begin = scanner.at();
    if (!scanner.SkipValue()) return false;
    values->push_back({name.raw, {begin, static_cast<size_t>(scanner.at() - begin)}});
  }
}

// Returns the text of a string, and other values as they are.
std::string TextOf(std::string_view json) {
  if (!json.starts_with('"')) return std::string(json);
  std::string text;
  AppendUnescaped(json.substr(1, json.size() - 2), &text);
  return text;
}

}  // namespace

Result<ManagementAnswer> ReadManagementAnswer(std::string_view body) {
  std::vector<Value> members;
  ManagementAnswer answer;
  if (ReadValues(body, '{', &members)) {
    for (const Value& member : members) {
      if (member.name == "error") {
        const std::string error = TextOf(member.json);
        return Status::Error(AsText(error.substr(0, error.find('\n'))));
      }
      if (member.name == "result") answer.result = member.json;
      if (member.name == "after") answer.after = TextOf(member.json);
    }
  }
  if (answer.result.empty()) return Status::Error("the answer is not that of a relay that can be managed");
  return answer;
}

Result<std::vector<std::string>> ItemsOf(std::string_view list) {
  std::vector<Value> values;
  if (!ReadValues(list, '[', &values)) return Status::Error("the answer is no list");
  std::vector<std::string> items;
  for (const Value& value : values) items.emplace_back(value.json);
  return items;
}

std::string LineOf(std::string_view item) {
  std::vector<Value> members;
  if (!ReadValues(item, '{', &members)) return AsText(TextOf(item));
  std::string line;
  for (const Value& member : members) {
    const std::string text = TextOf(member.json);
    const Result<PublicKey> key = member.name == "pubkey" ? ParsePublicKey(text) : Status::Error("no key");
    line += (line.empty() ? "" : "  ") + (key.ok() ? ToNpub(key.value()) : text);
  }
  return AsText(line);
}

}  // namespace weir
