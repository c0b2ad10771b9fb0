#include "tests/relay/nostr/nostr_checks.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "config/text/json_scanner.h"
#include "config/text/utf8.h"
#include "relay/nostr/canonical.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/gift_wrap.h"
#include "relay/nostr/messages.h"
#include "relay/nostr/vanish.h"
#include "tests/fixtures/must.h"

namespace weir {
namespace {

std::vector<std::pair<std::string, std::string>> LetterTags(const ReferenceEvent& event) {
  std::vector<std::pair<std::string, std::string>> tags;
  for (const auto& tag : event.tags) {
    if (tag.size() > 1 && tag[0].size() == 1 && std::isalpha(static_cast<unsigned char>(tag[0][0])) != 0) {
      tags.emplace_back(tag[0], tag[1]);
    }
  }
  return tags;
}

uint64_t Expiration(const ReferenceEvent& event) {
  for (const auto& tag : event.tags) {
    if (tag.size() < 2 || tag[0] != "expiration") continue;
    if (IsWholeNumber(tag[1])) return std::max(1ULL, std::strtoull(tag[1].c_str(), nullptr, 10));
  }
  return 0;
}

// Compares everything that the record says.
void CheckSame(EventView event, const ReferenceEvent& expected) {
  Must(EventView::WellFormed(event.record()));
  Must(ToHex(event.id()) == expected.id);
  Must(ToHex(event.pubkey()) == expected.pubkey);
  Must(ToHex(event.signature().data(), 64) == expected.sig);
  Must(event.created_at() == expected.created_at);
  Must(event.kind() == expected.kind);
  Must(event.expiration() == Expiration(expected));
  Must(std::string(event.json()) == expected.minimal_json);
  Must(event.is_protected() ==
       std::any_of(expected.tags.begin(), expected.tags.end(), [](const auto& tag) { return tag[0] == "-"; }));
  std::vector<std::pair<std::string, std::string>> tags;
  for (const TagView tag : event.tags()) tags.emplace_back(std::string{tag.letter}, tag.value);
  Must(tags == LetterTags(expected));
  for (const std::string name : {"e", "nonce", "é", ""}) {
    std::vector<std::vector<std::string>> named = expected.tags;
    std::erase_if(named, [&](const auto& tag) { return tag[0] != name; });
    Must(TagsNamed(event, name) == named);
  }
}

Bytes32 Bytes(const std::string& hex) {
  Bytes32 bytes{};
  Must(FromHex(hex, bytes.data(), bytes.size()));
  return bytes;
}

// Returns nothing if a filter of the message is none.
std::optional<std::vector<Filter>> ReadFilters(const std::vector<JsonTree>& items) {
  std::vector<Filter> filters;
  for (size_t i = 2; i < items.size(); ++i) {
    const std::optional<ReferenceFilter> filter = ReadReferenceFilter(items[i]);
    if (!filter) return std::nullopt;
    filters.push_back(Fast(*filter));
  }
  return filters;
}

template <typename Request>
void CheckRequest(const ClientMessage& message, const std::vector<JsonTree>& items, bool has_subscription) {
  const auto* request = std::get_if<Request>(&message);
  const auto filters = ReadFilters(items);
  const bool good = has_subscription && filters && !filters->empty() && filters->size() <= MessageLimits{}.max_filters;
  Must((request != nullptr) == good);
  if (good) Must(request->subscription == items[1].text && request->filters == *filters);
}

// Returns true for a string whose bytes, as they were written, are pairs of hexadecimal digits in lower case.
bool IsHex(const JsonTree& tree) {
  if (tree.type != JsonTree::kString || tree.raw.size() % 2 != 0) return false;
  return tree.raw.find_first_not_of("0123456789abcdef", 1) == tree.raw.size() - 1;
}

void CheckNegOpen(const ClientMessage& message, const std::vector<JsonTree>& items, bool has_subscription) {
  const auto* const open = std::get_if<NegOpen>(&message);
  const bool is_whole = has_subscription && items.size() == 4 && IsHex(items[3]);
  std::vector<JsonTree> request;
  if (is_whole) request = {items[0], items[1]};
  if (is_whole && items[2].type == JsonTree::kArray) {
    request.insert(request.end(), items[2].items.begin(), items[2].items.end());
  } else if (is_whole) {
    request.push_back(items[2]);
  }
  const auto filters = is_whole ? ReadFilters(request) : std::nullopt;
  Must((open != nullptr) == (filters && !filters->empty() && filters->size() <= MessageLimits{}.max_filters));
  if (open == nullptr) return;
  Must(open->subscription == items[1].text && open->filters == *filters && ToHex(open->message) == items[3].text);
}

template <typename Text>
void CheckEventText(const ClientMessage& message, const std::vector<JsonTree>& items) {
  const auto* text = std::get_if<Text>(&message);
  Must((text != nullptr) == (items.size() > 1 && items[1].type == JsonTree::kObject));
  if (text == nullptr || items.size() > 2) return;
  const auto event = ReadJsonTree(text->json);
  Must(event.has_value());
  Must(MinimalText(*event) == MinimalText(items[1]));
}

void CheckBad(const BadMessage& bad) {
  Must(!bad.reason.empty());
  Must(ReadJsonTree(NoticeMessage(bad.reason)).has_value());
  Must(ReadJsonTree(ClosedMessage(bad.subject, bad.reason)).has_value());
}

}  // namespace

Filter Fast(const ReferenceFilter& slow) {
  Filter fast;
  const auto unique = [](auto values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  const auto all_bytes = [&](const std::vector<std::string>& list) {
    std::vector<Bytes32> values;
    for (const std::string& hex : list) values.push_back(Bytes(hex));
    return unique(values);
  };
  if (slow.ids) fast.ids = all_bytes(*slow.ids);
  if (slow.authors) fast.authors = all_bytes(*slow.authors);
  if (slow.kinds) fast.kinds = unique(std::vector<uint16_t>(slow.kinds->begin(), slow.kinds->end()));
  for (const auto& [letter, values] : slow.tags) fast.tags.push_back({letter, unique(values)});
  std::sort(fast.tags.begin(), fast.tags.end(), [](const auto& a, const auto& b) { return a.letter < b.letter; });
  fast.since = slow.since.value_or(0);
  fast.until = slow.until.value_or(UINT64_MAX);
  fast.limit = slow.limit;
  return fast;
}

void CheckEvent(std::string_view json) {
  thread_local EventParser parser;
  std::string mended(json);
  std::optional<ReferenceEvent> reference = ReadReferenceEvent(json);
  if (reference && !reference->HasItsId()) {
    Must(!parser.Parse(json).ok());
    mended.replace(mended.find(reference->id), 64, reference->true_ids[json.size() % 2]);
    reference = ReadReferenceEvent(mended);
  }
  const Result<Event> parsed = parser.Parse(mended);
  Must(parsed.ok() == (reference && reference->HasItsId()), mended + "\n" + parsed.status().message());
  const std::string_view id = FindId(json);
  Must(id.empty() || id.size() == 64);
  if (!parsed.ok()) return;
  CheckSame(parsed.value().view(), *reference);
  CheckRecord(parsed.value().view().record());
  const Result<Event> again = parser.Parse(parsed.value().view().json());
  Must(again.ok() && *again.value().record() == *parsed.value().record(), "what is stored is taken again unchanged");
}

void CheckRecord(std::string_view record) {
  if (!EventView::WellFormed(record)) return;
  const EventView view(record);
  size_t size = 0;
  for (const TagView tag : view.tags()) size += tag.value.size();
  Must(size + view.json().size() < record.size());
  (void)view.signature();
  for (const std::vector<std::string>& tag : TagsNamed(view, "relay")) Must(tag.at(0) == "relay");
  (void)AsksToVanishFrom(view, std::vector<std::string>{"wss://weir.example"});
  (void)IsWrappedFor(view, ToHex(view.pubkey()));
}

void CheckFilter(std::string_view json, const std::vector<ReferenceEvent>& events) {
  const std::optional<JsonTree> tree = ReadJsonTree(json);
  const std::optional<ReferenceFilter> slow = tree ? ReadReferenceFilter(*tree) : std::nullopt;
  const Result<Filter> fast = ParseFilter(json);
  Must(fast.ok() == slow.has_value(), std::string(json) + "\n" + fast.status().message());
  if (!slow) return;
  const Filter& filter = fast.value();
  Must(filter == Fast(*slow));
  const Result<Filter> again = ParseFilter(ToJson(filter));
  Must(again.ok() && again.value() == filter, ToJson(filter));
  Must(filter.MemoryBytes() >= sizeof(Filter));
  thread_local EventParser parser;
  for (const ReferenceEvent& event : events) {
    const Event parsed = parser.Parse(event.minimal_json).value();
    Must(filter.Matches(parsed.view()) == slow->Matches(event));
    Must(!filter.MatchesNothing() || !slow->Matches(event));
  }
}

void CheckClientMessage(std::string_view text) {
  const ClientMessage message = ParseClientMessage(text);
  const auto* bad = std::get_if<BadMessage>(&message);
  if (bad != nullptr) CheckBad(*bad);
  const std::optional<JsonTree> tree = ReadJsonTree(text);
  // Events are left to their parser; only the start of a message that is not known is looked at.
  if (!tree) {
    Must(!std::holds_alternative<Req>(message) && !std::holds_alternative<CountReq>(message) &&
         !std::holds_alternative<CloseReq>(message) && !std::holds_alternative<NegOpen>(message) &&
         !std::holds_alternative<NegMsg>(message) && !std::holds_alternative<NegClose>(message));
    return;
  }
  const std::vector<JsonTree>& items = tree->items;
  const bool has_verb = tree->type == JsonTree::kArray && !items.empty() && items[0].type == JsonTree::kString;
  const std::string verb = has_verb ? items[0].text : "";
  const bool has_subscription = items.size() > 1 && items[1].type == JsonTree::kString && !items[1].text.empty() &&
                                items[1].text.size() <= MessageLimits{}.max_subscription_id_bytes;
  if (verb == "EVENT") return CheckEventText<EventText>(message, items);
  if (verb == "AUTH") return CheckEventText<AuthText>(message, items);
  if (verb == "REQ") return CheckRequest<Req>(message, items, has_subscription);
  if (verb == "COUNT") return CheckRequest<CountReq>(message, items, has_subscription);
  if (verb == "CLOSE") {
    return Must(std::holds_alternative<CloseReq>(message) == (has_subscription && items.size() == 2));
  }
  if (verb == "PING") return Must(std::holds_alternative<KeepAlive>(message));
  if (verb == "NEG-OPEN") return CheckNegOpen(message, items, has_subscription);
  if (verb == "NEG-MSG") {
    const auto* const taken = std::get_if<NegMsg>(&message);
    const bool good = has_subscription && items.size() == 3 && IsHex(items[2]);
    Must((taken != nullptr) == good);
    if (good) Must(taken->subscription == items[1].text && ToHex(taken->message) == items[2].text);
    return;
  }
  if (verb == "NEG-CLOSE") {
    return Must(std::holds_alternative<NegClose>(message) == (has_subscription && items.size() == 2));
  }
  Must(bad != nullptr);
}

void CheckCanonical(std::string_view json) {
  if (!IsUtf8(json)) return;
  // Reads as deep as the value of a field, which is how deep the scanner goes.
  const std::optional<JsonTree> list = ReadJsonTree("[" + std::string(json) + "]");
  const bool good = list && list->type == JsonTree::kArray && list->items.size() == 1;
  JsonScanner in(json);
  Must((in.SkipValue() && in.AtEnd()) == good, std::string(in.error()));
  if (!good) return;
  for (const ControlForm form : {ControlForm::kEscaped, ControlForm::kVerbatim}) {
    std::string canonical;
    AppendCanonical(json, form, &canonical);
    Must(canonical == CanonicalText(list->items[0], form == ControlForm::kEscaped), canonical);
  }
}

}  // namespace weir
