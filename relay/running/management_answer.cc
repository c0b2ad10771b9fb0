#include "relay/running/management_answer.h"

#include <utility>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "config/text/utf8.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

struct Member {
  std::string_view name;
  std::string_view value;  // JSON
};

// Returns false if `json` is no object.
bool ReadMembers(std::string_view json, std::vector<Member>* members) {
  JsonScanner scanner(json);
  if (!IsUtf8(json) || !scanner.Expect('{')) return false;
  bool first = true;
  for (;;) {
    const JsonScanner::Step step = scanner.NextItem('}', &first);
    if (step == JsonScanner::Step::kEnd) return scanner.AtEnd();
    JsonString name;
    std::string_view value;
    if (step == JsonScanner::Step::kError || !scanner.ReadName(&name) || !scanner.ReadValue(&value)) return false;
    members->push_back({name.raw, value});
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
  std::vector<Member> members;
  ManagementAnswer answer;
  if (ReadMembers(body, &members)) {
    for (const Member& member : members) {
      if (member.name == "error") {
        const std::string error = TextOf(member.value);
        return Status::Error(AsText(error.substr(0, error.find('\n'))));
      }
      if (member.name == "result") answer.result = member.value;
      if (member.name == "after") answer.after = TextOf(member.value);
    }
  }
  if (answer.result.empty()) return Status::Error("the answer is not that of a relay that can be managed");
  return answer;
}

Result<std::vector<std::string>> ItemsOf(std::string_view list) {
  JsonScanner scanner(list);
  std::vector<std::string_view> items;
  if (!IsUtf8(list) || !scanner.ReadList(&items) || !scanner.AtEnd()) return Status::Error("the answer is no list");
  return std::vector<std::string>(items.begin(), items.end());
}

std::vector<std::string> PartsOfDocument(std::string_view document, size_t most_bytes) {
  std::vector<Member> members;
  std::vector<std::string> decisions;
  std::string head = "{";
  bool divides = document.size() > most_bytes && ReadMembers(TrimBlanks(document), &members);
  for (const Member& member : members) {
    if (member.name == "decisions") {
      Result<std::vector<std::string>> items = ItemsOf(member.value);
      divides = divides && items.ok();
      if (divides) decisions = std::move(items).value();
    } else {
      head.append("\"").append(member.name).append("\":").append(member.value).append(",");
    }
  }
  if (!divides || decisions.empty()) return {std::string(document)};
  head += "\"decisions\":[";
  std::vector<std::string> parts;
  for (const std::string& decision : decisions) {
    if (parts.empty() || parts.back().size() + decision.size() + 3 > most_bytes) parts.push_back(head);
    if (parts.back().size() > head.size()) parts.back() += ',';
    parts.back() += decision;
  }
  for (std::string& part : parts) part += "]}";
  return parts;
}

std::string LineOf(std::string_view item) {
  std::vector<Member> members;
  if (!ReadMembers(item, &members)) return AsText(TextOf(item));
  std::string line;
  for (const Member& member : members) {
    const std::string text = TextOf(member.value);
    const Result<PublicKey> key = member.name == "pubkey" ? ParsePublicKey(text) : Status::Error("no key");
    line += (line.empty() ? "" : "  ") + (key.ok() ? ToNpub(key.value()) : text);
  }
  return AsText(line);
}

}  // namespace weir
