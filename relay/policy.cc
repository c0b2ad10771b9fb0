#include "relay/policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <vector>

#include "relay/nostr/canonical.h"
#include "relay/nostr/expiration.h"
#include "relay/nostr/json_scanner.h"

namespace weir {
namespace {

constexpr uint16_t kRepost = 6;
constexpr uint16_t kGenericRepost = 16;
constexpr uint16_t kVanish = 62;
constexpr uint16_t kAuth = 22242;
constexpr std::array<uint16_t, 3> kPrivateKinds = {4, 1059, 21059};

uint64_t LeadingZeroBits(const EventId& id) {
  uint64_t bits = 0;
  for (const uint8_t byte : id) {
    bits += static_cast<uint64_t>(std::countl_zero(byte));
    if (byte != 0) break;
  }
  return bits;
}

// What the nonce tag says that the author aimed for (NIP-13); 0 where it says nothing.
uint64_t CommittedDifficulty(EventView event) {
  for (const std::vector<std::string>& tag : TagsNamed(event, "nonce")) {
    uint64_t target = 0;
    if (tag.size() > 2) std::from_chars(tag[2].data(), tag[2].data() + tag[2].size(), target);
    return target;
  }
  return 0;
}

std::string RefusalOfWork(EventView event, uint64_t least) {
  if (least == 0) return "";
  const uint64_t bits = LeadingZeroBits(event.id());
  if (bits < least) return "pow: difficulty " + std::to_string(bits) + " is less than " + std::to_string(least);
  const uint64_t committed = CommittedDifficulty(event);
  if (committed >= least) return "";
  return "pow: the nonce tag must commit to a difficulty of at least " + std::to_string(least) + ", not " +
         std::to_string(committed);
}

std::string RefusalOfTime(EventView event, const RelaySettings& settings, uint64_t now) {
  const uint64_t created_at = event.created_at();
  if (created_at > now && created_at - now > settings.created_at_future_s) {
    return "invalid: created_at is " + std::to_string(created_at - now) + " s in the future; " +
           std::to_string(settings.created_at_future_s) + " s are allowed";
  }
  const uint64_t past = settings.created_at_past_s;
  if (past > 0 && created_at < now && now - created_at > past) {
    return "invalid: created_at is " + std::to_string(now - created_at) + " s ago; " + std::to_string(past) +
           " s are allowed";
  }
  return IsExpired(event, now) ? "invalid: the event has expired" : "";
}

std::string Meaning(const JsonString& string) {
  std::string text;
  AppendUnescaped(string.raw, &text);
  return text;
}

// Goes to the value of a field of the object at the scanner.
bool FindField(JsonScanner* in, std::string_view name) {
  bool first = true;
  if (!in->Take('{')) return false;
  while (in->NextItem('}', &first) == JsonScanner::Step::kItem) {
    JsonString found;
    if (!in->ReadName(&found)) return false;
    if (Meaning(found) == name) return true;
    if (!in->SkipValue()) return false;
  }
  return false;
}

// Reads on past the value at the scanner, an event's tags if all is well. False where it is no JSON.
bool PassTags(JsonScanner* in, bool* is_protected) {
  if (in->Peek() != '[') return in->SkipValue();
  in->Take('[');
  bool first = true;
  JsonScanner::Step step = in->NextItem(']', &first);
  for (; step == JsonScanner::Step::kItem; step = in->NextItem(']', &first)) {
    const char* const tag = in->at();
    JsonString name;
    bool first_item = true;
    if (in->Take('[') && in->NextItem(']', &first_item) == JsonScanner::Step::kItem && in->ReadString(&name) &&
        Meaning(name) == "-") {
      *is_protected = true;
    }
    in->BackTo(tag);
    if (!in->SkipValue()) return false;
  }
  return step == JsonScanner::Step::kEnd;
}

// Reads the object through: of fields that come twice, readers take the one or the other. False where it is no JSON.
bool PassEvent(JsonScanner* in, bool* is_protected) {
  bool first = true;
  in->Take('{');
  JsonScanner::Step step = in->NextItem('}', &first);
  for (; step == JsonScanner::Step::kItem; step = in->NextItem('}', &first)) {
    JsonString name;
    if (!in->ReadName(&name)) return false;
    if (!(Meaning(name) == "tags" ? PassTags(in, is_protected) : in->SkipValue())) return false;
  }
  return step == JsonScanner::Step::kEnd && in->AtEnd();
}

// A repost has the whole event as its content. What is embedded need not be a good event to give away what it says, so
// what begins like one is refused where it cannot be read to its end.
std::string RefusalOfRepost(EventView repost) {
  JsonScanner outer(repost.json());
  JsonString content;
  if (!FindField(&outer, "content") || !outer.ReadString(&content)) return "";
  const std::string embedded = Meaning(content);
  JsonScanner inner(embedded);
  if (inner.Peek() != '{') return "";
  bool is_protected = false;
  const bool readable = PassEvent(&inner, &is_protected);
  if (is_protected) return "blocked: a repost must not embed a protected event";
  return readable ? "" : "invalid: the content of this repost begins like an event and is no JSON";
}

// A request to vanish (NIP-62) is stored by those relays only that it names, and they say so by taking it.
std::string RefusalOfVanishing(EventView request, const std::string& url) {
  const std::string host = HostOf(url);
  for (const std::vector<std::string>& tag : TagsNamed(request, "relay")) {
    if (tag.size() < 2) continue;
    if (tag[1] == "ALL_RELAYS" || (!host.empty() && HostOf(tag[1]) == host)) return "";
  }
  return host.empty() ? "error: this relay does not know its own address (WEIR_RELAY_URL)"
                      : "invalid: names another relay";
}

}  // namespace

std::string RefusalOfEvent(EventView event, const RelaySettings& settings, const Identity& sender, uint64_t now) {
  const uint16_t kind = event.kind();
  if (kind == kAuth) return "invalid: kind 22242 is for AUTH, not for EVENT";
  if (std::string refusal = RefusalOfTime(event, settings, now); !refusal.empty()) return refusal;
  if (event.is_protected() && !sender.Has(event.pubkey())) {
    return sender.empty() ? "auth-required: this event may only be published by its author"
                          : "restricted: this event may only be published by its author";
  }
  if (kind == kRepost || kind == kGenericRepost) {
    if (std::string refusal = RefusalOfRepost(event); !refusal.empty()) return refusal;
  }
  if (kind == kVanish) {
    if (std::string refusal = RefusalOfVanishing(event, settings.url); !refusal.empty()) return refusal;
  }
  return RefusalOfWork(event, settings.min_pow_difficulty);
}

bool IsPrivate(uint16_t kind) {
  return std::find(kPrivateKinds.begin(), kPrivateKinds.end(), kind) != kPrivateKinds.end();
}

bool IsPartyTo(EventView event, const Identity& identity) {
  if (identity.empty()) return false;
  if (identity.Has(event.pubkey())) return true;
  for (const TagView tag : event.tags())
    if (tag.letter == 'p' && identity.HasHex(tag.value)) return true;
  return false;
}

bool AsksOnlyForPrivate(std::span<const Filter> filters) {
  return std::all_of(filters.begin(), filters.end(), [](const Filter& filter) {
    return filter.kinds && !filter.kinds->empty() && std::all_of(filter.kinds->begin(), filter.kinds->end(), IsPrivate);
  });
}

std::string RateLimited(const Admission& admission) {
  const auto seconds = static_cast<int64_t>(std::ceil(ToSeconds(admission.retry_after())));
  return "rate-limited: " + std::string(admission.reason()) + "; try again in " +
         std::to_string(std::max<int64_t>(1, seconds)) + " s";
}

std::string_view PrefixOf(std::string_view text) { return text.substr(0, text.find(':')); }

}  // namespace weir
