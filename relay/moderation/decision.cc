#include "relay/moderation/decision.h"

#include <algorithm>
#include <utility>

#include "config/text/hex.h"
#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/nostr/npub.h"
#include "relay/rules/address_set.h"

namespace weir {
namespace {

constexpr size_t kKeyDigits = 2 * sizeof(PublicKey);

Status NotA(std::string_view text, std::string_view what) {
  return Status::Error("\"" + PrintableKey(text) + "\" is not " + std::string(what));
}

Result<std::string> HexFor(std::string_view text, std::string_view what) {
  std::string hex(text);
  for (char& c : hex) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  Bytes32 bytes{};
  if (!FromHex(hex, bytes.data(), bytes.size())) return NotA(text, what);
  return hex;
}

Result<std::string> RoleIdFor(std::string_view text) {
  const auto fits = [](char c) { return c > ' ' && c <= '~'; };
  if (text.empty() || text.size() > ModerationDecision::kMostRoleIdBytes || !std::ranges::all_of(text, fits))
    return NotA(text, "the id of a role: at most 64 characters of ASCII, without spaces");
  return std::string(text);
}

Result<std::string> MemberFor(std::string_view text) {
  const size_t space = std::min(text.find(' '), text.size());
  const Result<std::string> key = HexFor(text.substr(0, space), "a public key of 64 hex digits");
  if (!key.ok()) return key.status();
  const Result<std::string> role = RoleIdFor(text.substr(std::min(space + 1, text.size())));
  if (!role.ok()) return role.status();
  return key.value() + " " + role.value();
}

Status CheckText(std::string_view name, const std::string& text, size_t most) {
  if (text.size() > most)
    return Status::Error("the " + std::string(name) + " has " + std::to_string(text.size()) +
                         " bytes, which is more than " + std::to_string(most));
  if (!IsUtf8(text)) return Status::Error("the " + std::string(name) + " is not UTF-8");
  return {};
}

bool IsObject(const std::string& text) {
  JsonScanner scanner(text);
  return scanner.Peek() == '{' && scanner.SkipValue() && scanner.AtEnd();
}

Status FailureOf(const JsonScanner& scanner) {
  return Status::Error(scanner.error().empty() ? "there is text behind the object" : scanner.error());
}

bool ReadText(JsonScanner& scanner, std::string* text) {
  JsonString string;
  if (!scanner.ReadString(&string)) return false;
  AppendUnescaped(string.raw, text);
  return true;
}

}  // namespace

std::string_view NameOf(DecisionList list) { return kDecisionListNames[static_cast<size_t>(list)]; }

std::optional<DecisionList> DecisionListOf(std::string_view name) {
  const auto* const found = std::ranges::find(kDecisionListNames, name);
  if (found == std::end(kDecisionListNames)) return std::nullopt;
  return static_cast<DecisionList>(found - std::begin(kDecisionListNames));
}

std::optional<DecisionList> OppositeOf(DecisionList list) {
  switch (list) {
    case DecisionList::kBannedAuthors:
      return DecisionList::kAllowedAuthors;
    case DecisionList::kAllowedAuthors:
      return DecisionList::kBannedAuthors;
    case DecisionList::kBannedEvents:
      return DecisionList::kAllowedEvents;
    case DecisionList::kAllowedEvents:
      return DecisionList::kBannedEvents;
    case DecisionList::kAllowedKinds:
      return DecisionList::kDisallowedKinds;
    case DecisionList::kDisallowedKinds:
      return DecisionList::kAllowedKinds;
    case DecisionList::kBlockedAddresses:
    case DecisionList::kRoles:
    case DecisionList::kMembers:
    case DecisionList::kRelayTexts:
      break;
  }
  return std::nullopt;
}

size_t MostDecisionsOf(DecisionList list) {
  switch (list) {
    case DecisionList::kBlockedAddresses:
      return 20'000;
    case DecisionList::kAllowedKinds:
    case DecisionList::kDisallowedKinds:
    case DecisionList::kRoles:
      return 1'000;
    case DecisionList::kRelayTexts:
      return 3;
    case DecisionList::kBannedAuthors:
    case DecisionList::kAllowedAuthors:
    case DecisionList::kBannedEvents:
    case DecisionList::kAllowedEvents:
    case DecisionList::kMembers:
      break;
  }
  return 200'000;
}

Result<std::string> SubjectFor(DecisionList list, std::string_view subject) {
  switch (list) {
    case DecisionList::kBannedAuthors:
    case DecisionList::kAllowedAuthors:
      return HexFor(subject, "a public key of 64 hex digits");
    case DecisionList::kBannedEvents:
    case DecisionList::kAllowedEvents:
      return HexFor(subject, "an event's id of 64 hex digits");
    case DecisionList::kAllowedKinds:
    case DecisionList::kDisallowedKinds: {
      const Result<uint64_t> kind = ParseUnsigned(subject, {.min = 0, .max = 65535});
      if (!kind.ok()) return Status::Error("the kind \"" + Printable(subject) + "\" is " + kind.status().message());
      return std::to_string(kind.value());
    }
    case DecisionList::kBlockedAddresses: {
      Result<std::string> network = NetworkName(subject);
      if (!network.ok()) return Status::Error("\"" + Printable(subject) + "\" " + network.status().message());
      return network;
    }
    case DecisionList::kRoles:
      return RoleIdFor(subject);
    case DecisionList::kMembers:
      return MemberFor(subject);
    case DecisionList::kRelayTexts:
      break;
  }
  if (subject == "name" || subject == "description" || subject == "icon") return std::string(subject);
  return NotA(subject, "a text of the relay: name, description or icon");
}

Status Normalize(ModerationDecision* decision) {
  Result<std::string> subject = SubjectFor(decision->list, decision->subject);
  if (!subject.ok()) return subject.status();
  decision->subject = std::move(subject).value();
  Status fits = CheckText("reason", decision->reason, ModerationDecision::kMostReasonBytes);
  if (fits.ok()) fits = CheckText("detail", decision->detail, ModerationDecision::kMostDetailBytes);
  if (fits.ok()) fits = CheckText("name of the administrator", decision->by, ModerationDecision::kMostByBytes);
  if (!fits.ok()) return fits;
  if (decision->list == DecisionList::kRoles && !decision->detail.empty() && !IsObject(decision->detail))
    return Status::Error("the detail of a role is not a JSON object");
  return {};
}

std::optional<PublicKey> AuthorOf(const ModerationDecision& decision) {
  if (decision.list != DecisionList::kBannedAuthors && decision.list != DecisionList::kAllowedAuthors &&
      decision.list != DecisionList::kMembers)
    return std::nullopt;
  PublicKey key{};
  if (!FromHex(std::string_view(decision.subject).substr(0, kKeyDigits), key.data(), key.size())) return std::nullopt;
  return key;
}

void AppendDecision(const ModerationDecision& decision, JsonWriter& json) {
  json.Open('{');
  json.Member("list").String(NameOf(decision.list));
  json.Member("subject").String(decision.subject);
  if (!decision.reason.empty()) json.Member("reason").String(decision.reason);
  if (!decision.detail.empty()) json.Member("detail").String(decision.detail);
  if (!decision.by.empty()) json.Member("by").String(decision.by);
  json.Member("at").Number(decision.at_seconds);
  json.Close('}');
}

Result<ModerationDecision> ReadDecision(std::string_view json) {
  JsonScanner scanner(json);
  ModerationDecision decision;
  std::string list;
  if (!scanner.Expect('{')) return FailureOf(scanner);
  bool first = true;
  JsonScanner::Step step;
  while ((step = scanner.NextItem('}', &first)) == JsonScanner::Step::kItem) {
    JsonString name;
    if (!scanner.ReadName(&name)) return FailureOf(scanner);
    std::string* const text = name.raw == "list"      ? &list
                              : name.raw == "subject" ? &decision.subject
                              : name.raw == "reason"  ? &decision.reason
                              : name.raw == "detail"  ? &decision.detail
                              : name.raw == "by"      ? &decision.by
                                                      : nullptr;
    if (text == nullptr && name.raw != "at") return Status::Error("unknown field \"" + Printable(name.raw) + "\"");
    if (text == nullptr && !scanner.ReadWhole(&decision.at_seconds))
      return Status::Error("\"at\" must be a whole number of seconds, not " + scanner.Found());
    if (text != nullptr && (!text->empty() || !ReadText(scanner, text)))
      return Status::Error("\"" + std::string(name.raw) + "\" must be one string");
  }
  if (step == JsonScanner::Step::kError || !scanner.AtEnd()) return FailureOf(scanner);
  const std::optional<DecisionList> known = DecisionListOf(list);
  if (!known) return Status::Error("there is no list \"" + Printable(list) + "\"");
  decision.list = *known;
  if (Status normal = Normalize(&decision); !normal.ok()) return normal;
  return decision;
}

}  // namespace weir
