#include "relay/management/moderation_methods.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/text/json_string.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

using Type = ManagementParameter::Type;
using Outcome = Result<ManagementResult>;

constexpr ManagementParameter kKey{.name = "public key"};
constexpr ManagementParameter kEvent{.name = "event's id"};
constexpr ManagementParameter kKind{.name = "kind", .type = Type::kNumber};
constexpr ManagementParameter kAddress{.name = "IP address or network"};
constexpr ManagementParameter kRole{.name = "role's id"};
constexpr ManagementParameter kReason{.name = "reason", .optional = true};
constexpr ManagementParameter kAfter{.name = "after", .optional = true};

constexpr size_t kListedAtOnce = 1000;   // decisions that are copied while the lists are locked
constexpr size_t kMostNameBytes = 256;   // the longest name of the relay
constexpr size_t kMostTextBytes = 4096;  // the longest description, and address of an icon

// Returns the key in hexadecimal if the text is an npub. Moderation checks the text.
std::string SubjectOf(const ManagementParameter& parameter, const std::string& text) {
  const Result<PublicKey> key = parameter.name == kKey.name ? ParsePublicKey(text) : Status::Error("no key");
  return key.ok() ? ToHex(key.value()) : text;
}

Outcome OutcomeOf(const Status& status) {
  if (!status.ok()) return status;
  return ManagementResult();
}

Outcome OutcomeOf(const Result<bool>& revoked, const std::string& subject, DecisionList list) {
  if (!revoked.ok()) return revoked.status();
  if (!revoked.value()) return Status::Error(Printable(subject) + " is not in the list " + std::string(NameOf(list)));
  return ManagementResult();
}

// Writes an entry of a list as JSON.
using EntryWriter = std::function<std::string(const ModerationDecision& decision)>;

std::string Member(std::string_view name, std::string_view text) { return QuotedJson(name) + ":" + QuotedJson(text); }

// Writes {"<name>":<subject>,"reason":…}.
EntryWriter SubjectAs(std::string_view name) {
  return [name](const ModerationDecision& decision) {
    const std::string reason = decision.reason.empty() ? "" : "," + Member("reason", decision.reason);
    return "{" + Member(name, decision.subject) + reason + "}";
  };
}

std::string KindIn(const ModerationDecision& decision) { return decision.subject; }

std::string RoleIn(const ModerationDecision& decision) {
  return "{" + Member("id", decision.subject) + ",\"detail\":" + (decision.detail.empty() ? "{}" : decision.detail) +
         "}";
}

std::string MemberIn(const ModerationDecision& decision) {
  const size_t space = decision.subject.find(' ');
  return "{" + Member("pubkey", decision.subject.substr(0, space)) + "," +
         Member("role", decision.subject.substr(space + 1)) + "}";
}

ManagementResult ListIn(const Moderation& moderation, DecisionList list, std::string after, const EntryWriter& write) {
  ManagementResult result{.json = "["};
  for (size_t listed = 0;;) {
    const std::vector<ModerationDecision> some = moderation.List(list, after, kListedAtOnce);
    for (const ModerationDecision& decision : some) {
      if (listed == kMostListed || result.json.size() > kMostListBytes) {
        result.after = after;
        break;
      }
      if (listed++ > 0) result.json += ',';
      result.json += write(decision);
      after = decision.subject;
    }
    if (some.size() < kListedAtOnce || !result.after.empty()) break;
  }
  result.json += ']';
  return result;
}

std::string RemovalsIn(const Moderation& moderation) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('[');
  for (const Moderation::Removal& removal : moderation.Removals()) {
    json.Open('{');
    json.Member(removal.list == DecisionList::kBannedEvents ? "id" : "pubkey").String(removal.subject);
    json.Member("removed").Number(removal.removed);
    json.Member("done").Bool(removal.done);
    json.Close('}');
  }
  json.Close(']');
  return std::move(json).Value();
}

// The parameters of createrole and editrole behind the role's id. NIP-43: color is a hue from 0 to 360.
Result<std::string> DetailOfRole(const std::vector<std::string>& values) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  if (!values[1].empty()) json.Member("label").String(values[1]);
  if (!values[2].empty()) json.Member("description").String(values[2]);
  for (const size_t i : {3, 4}) {
    if (values[i].empty()) continue;
    const double most = i == 3 ? 360 : 1'000'000'000;
    const Result<uint64_t> number = ParseUnsigned(values[i], {.min = 0, .max = most});
    if (!number.ok())
      return Status::Error(std::string(i == 3 ? "the color, a hue, is " : "the order is ") + number.status().message());
    json.Member(i == 3 ? "color" : "order").Number(number.value());
  }
  json.Close('}');
  return std::move(json).Value();
}

// Adds methods that have one function of Moderation in common.
class Adder {
 public:
  Adder(ManagementMethods& methods, Moderation& moderation) : methods_(methods), moderation_(moderation) {}

  void Decide(std::string_view name, AdminRight right, DecisionList list, const ManagementParameter& subject) {
    methods_.Add({.name = name,
                  .right = right,
                  .parameters = {subject, kReason},
                  .run = [&moderation = moderation_, list, subject](const ManagementCall& call) {
                    return OutcomeOf(moderation.Decide({.list = list,
                                                        .subject = SubjectOf(subject, call.values[0]),
                                                        .reason = call.values[1],
                                                        .detail = "",
                                                        .by = call.by}));
                  }});
  }

  void Revoke(std::string_view name, AdminRight right, DecisionList list, const ManagementParameter& subject) {
    methods_.Add({.name = name,
                  .right = right,
                  .parameters = {subject, kReason},
                  .run = [&moderation = moderation_, list, subject](const ManagementCall& call) {
                    const std::string text = SubjectOf(subject, call.values[0]);
                    return OutcomeOf(moderation.Revoke(list, text, call.by), text, list);
                  }});
  }

  void List(std::string_view name, DecisionList list, EntryWriter write) {
    methods_.Add(
        {.name = name,
         .right = AdminRight::kRead,
         .parameters = {kAfter},
         .run = [&moderation = moderation_, list, write = std::move(write)](const ManagementCall& call) -> Outcome {
           return ListIn(moderation, list, call.values[0], write);
         }});
  }

  void Text(std::string_view name, std::string_view text, size_t most_bytes) {
    methods_.Add({.name = name,
                  .right = AdminRight::kSettings,
                  .parameters = {{.name = text}},
                  .run = [&moderation = moderation_, text, most_bytes](const ManagementCall& call) -> Outcome {
                    const std::string& value = call.values[0];
                    if (value.empty()) {
                      const Result<bool> revoked = moderation.Revoke(DecisionList::kRelayTexts, text, call.by);
                      return OutcomeOf(revoked.status());
                    }
                    if (value.size() > most_bytes)
                      return Status::Error("the " + std::string(text) + " has " + std::to_string(value.size()) +
                                           " bytes, and may have " + std::to_string(most_bytes));
                    if (text == "icon" && !value.starts_with("https://") && !value.starts_with("http://"))
                      return Status::Error("the icon must be an address that begins with https://");
                    return OutcomeOf(moderation.Decide({.list = DecisionList::kRelayTexts,
                                                        .subject = std::string(text),
                                                        .reason = "",
                                                        .detail = value,
                                                        .by = call.by}));
                  }});
  }

  // Adds createrole, if `is_new`, or editrole.
  void Role(std::string_view name, bool is_new) {
    methods_.Add({.name = name,
                  .right = AdminRight::kSettings,
                  .parameters = {kRole,
                                 {.name = "label", .optional = true},
                                 {.name = "description", .optional = true},
                                 {.name = "color", .type = Type::kNumber, .optional = true},
                                 {.name = "order", .type = Type::kNumber, .optional = true}},
                  .run = [&moderation = moderation_, is_new](const ManagementCall& call) -> Outcome {
                    if (moderation.Find(DecisionList::kRoles, call.values[0]).has_value() == is_new) {
                      return Status::Error("there is " + std::string(is_new ? "already a" : "no") + " role " +
                                           Printable(call.values[0]) +
                                           (is_new ? "; editrole changes it" : "; createrole makes it"));
                    }
                    Result<std::string> detail = DetailOfRole(call.values);
                    if (!detail.ok()) return detail.status();
                    return OutcomeOf(moderation.Decide({.list = DecisionList::kRoles,
                                                        .subject = call.values[0],
                                                        .reason = "",
                                                        .detail = std::move(detail).value(),
                                                        .by = call.by}));
                  }});
  }

  ManagementMethods& methods() { return methods_; }
  Moderation& moderation() { return moderation_; }

 private:
  ManagementMethods& methods_;
  Moderation& moderation_;
};

// An administrator who takes back `disallowkind` does not mean that only this kind may be written from now on.
Outcome AllowKind(Moderation& moderation, const ManagementCall& call) {
  const std::string& kind = call.values[0];
  if (moderation.size(DecisionList::kAllowedKinds) == 0 && moderation.Find(DecisionList::kDisallowedKinds, kind))
    return OutcomeOf(moderation.Revoke(DecisionList::kDisallowedKinds, kind, call.by).status());
  return OutcomeOf(moderation.Decide(
      {.list = DecisionList::kAllowedKinds, .subject = kind, .reason = call.values[1], .detail = "", .by = call.by}));
}

void AddRoles(Adder add) {
  Moderation& moderation = add.moderation();
  add.Role("createrole", true);
  add.Role("editrole", false);
  add.Revoke("deleterole", AdminRight::kSettings, DecisionList::kRoles, kRole);
  add.methods().Add(
      {.name = "assignrole",
       .right = AdminRight::kSettings,
       .parameters = {kKey, kRole},
       .run = [&moderation](const ManagementCall& call) -> Outcome {
         if (!moderation.Find(DecisionList::kRoles, call.values[1])) {
           return Status::Error("there is no role " + Printable(call.values[1]) + "; createrole makes it");
         }
         return OutcomeOf(moderation.Decide({.list = DecisionList::kMembers,
                                             .subject = SubjectOf(kKey, call.values[0]) + " " + call.values[1],
                                             .reason = "",
                                             .detail = "",
                                             .by = call.by}));
       }});
  add.methods().Add({.name = "unassignrole",
                     .right = AdminRight::kSettings,
                     .parameters = {kKey, kRole},
                     .run = [&moderation](const ManagementCall& call) {
                       const std::string member = SubjectOf(kKey, call.values[0]) + " " + call.values[1];
                       return OutcomeOf(moderation.Revoke(DecisionList::kMembers, member, call.by), member,
                                        DecisionList::kMembers);
                     }});
  add.List("listroles", DecisionList::kRoles, RoleIn);
  add.List("listmembers", DecisionList::kMembers, MemberIn);
}

void AddDocuments(Adder add) {
  Moderation& moderation = add.moderation();
  add.methods().Add(
      {.name = "listremovals", .right = AdminRight::kRead, .run = [&moderation](const ManagementCall&) -> Outcome {
         return ManagementResult{.json = RemovalsIn(moderation)};
       }});
  add.methods().Add(
      {.name = "exportmoderation", .right = AdminRight::kRead, .run = [&moderation](const ManagementCall&) -> Outcome {
         return ManagementResult{.json = moderation.Export()};
       }});
  add.methods().Add({.name = "importmoderation",
                     .right = AdminRight::kAll,
                     .parameters = {{.name = "document of exportmoderation", .type = Type::kJson}},
                     .run = [&moderation](const ManagementCall& call) -> Outcome {
                       const Result<size_t> count = moderation.Import(call.values[0], call.by);
                       if (!count.ok()) return count.status();
                       return ManagementResult{.json = std::to_string(count.value())};
                     },
                     .takes_document = true});
}

}  // namespace

void AddModerationMethods(ManagementMethods& methods, Moderation& moderation) {
  Adder add(methods, moderation);
  constexpr AdminRight kModerate = AdminRight::kModerate;
  constexpr AdminRight kSettings = AdminRight::kSettings;
  add.Decide("banpubkey", kModerate, DecisionList::kBannedAuthors, kKey);
  add.Revoke("unbanpubkey", kModerate, DecisionList::kBannedAuthors, kKey);
  add.List("listbannedpubkeys", DecisionList::kBannedAuthors, SubjectAs("pubkey"));
  add.Decide("allowpubkey", kModerate, DecisionList::kAllowedAuthors, kKey);
  add.Revoke("unallowpubkey", kModerate, DecisionList::kAllowedAuthors, kKey);
  add.List("listallowedpubkeys", DecisionList::kAllowedAuthors, SubjectAs("pubkey"));
  add.Decide("banevent", kModerate, DecisionList::kBannedEvents, kEvent);
  add.Decide("allowevent", kModerate, DecisionList::kAllowedEvents, kEvent);
  add.Revoke("unbanevent", kModerate, DecisionList::kBannedEvents, kEvent);
  add.Revoke("unallowevent", kModerate, DecisionList::kAllowedEvents, kEvent);
  add.List("listbannedevents", DecisionList::kBannedEvents, SubjectAs("id"));
  add.Decide("blockip", kModerate, DecisionList::kBlockedAddresses, kAddress);
  add.Revoke("unblockip", kModerate, DecisionList::kBlockedAddresses, kAddress);
  add.List("listblockedips", DecisionList::kBlockedAddresses, SubjectAs("ip"));
  methods.Add({.name = "allowkind",
               .right = kSettings,
               .parameters = {kKind, kReason},
               .run = [&moderation](const ManagementCall& call) { return AllowKind(moderation, call); }});
  add.Decide("disallowkind", kSettings, DecisionList::kDisallowedKinds, kKind);
  add.List("listallowedkinds", DecisionList::kAllowedKinds, KindIn);
  add.List("listdisallowedkinds", DecisionList::kDisallowedKinds, KindIn);
  add.Text("changerelayname", "name", kMostNameBytes);
  add.Text("changerelaydescription", "description", kMostTextBytes);
  add.Text("changerelayicon", "icon", kMostTextBytes);
  AddRoles(add);
  AddDocuments(add);
}

}  // namespace weir
