#include "relay/protocol/policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "relay/nostr/content.h"
#include "relay/nostr/expiration.h"
#include "relay/nostr/vanish.h"
#include "relay/rules/proof_of_work.h"

namespace weir {
namespace {

constexpr uint16_t kRepost = 6;
constexpr uint16_t kGenericRepost = 16;
constexpr uint16_t kAuth = 22242;
constexpr std::array<uint16_t, 3> kPrivateKinds = {4, 1059, 21059};

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

// Reads past the value at the scanner's position, which should be an event's tags. Returns false if it is not JSON.
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

// Reads past an event, to its end: if a name occurs twice, some readers use the first field and some the second.
// Returns false if it is not JSON.
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

// Refuses a repost whose content is a protected event. Content that begins like an event but is not valid JSON is also
// refused, because it could still reveal a protected event.
std::string RefusalOfRepost(EventView repost) {
  const std::string embedded = ContentOf(repost);
  JsonScanner inner(embedded);
  if (inner.Peek() != '{') return "";
  bool is_protected = false;
  const bool readable = PassEvent(&inner, &is_protected);
  if (is_protected) return "blocked: a repost must not embed a protected event";
  return readable ? "" : "invalid: the content of this repost begins like an event and is no JSON";
}

// Refuses a request to vanish (NIP-62) that does not name this relay, because only relays that it names may store it.
std::string RefusalOfVanishing(EventView request, const std::string& url) {
  if (AsksToVanishFrom(request, std::span(&url, 1))) return "";
  return url.empty() ? "error: this relay does not know its own address (WEIR_RELAY_URL)"
                     : "invalid: the request names another relay";
}

bool NamesPrivate(const Filter& filter) { return filter.kinds && std::ranges::any_of(*filter.kinds, IsPrivate); }

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
  if (kind == kVanishKind) {
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

bool MayWantAuth(std::span<const Filter> filters) {
  return std::ranges::any_of(filters,
                             [](const Filter& filter) { return !filter.MatchesNothing() && NamesPrivate(filter); });
}

bool MayWithhold(std::span<const Filter> filters, const Identity& identity) {
  const auto is_party = [&](const Filter& filter) {
    const auto is_own = [&](const PublicKey& key) { return identity.Has(key); };
    const auto names_own = [&](const std::string& hex) { return identity.HasHex(hex); };
    return (filter.authors && std::ranges::all_of(*filter.authors, is_own)) ||
           std::ranges::any_of(filter.tags, [&](const TagCondition& tag) {
             return tag.letter == 'p' && std::ranges::all_of(tag.values, names_own);
           });
  };
  return std::ranges::any_of(filters, [&](const Filter& filter) {
    return !filter.MatchesNothing() && (!filter.kinds || NamesPrivate(filter)) && !is_party(filter);
  });
}

// Leaves out what a reason says after a colon, because that is advice for programs that embed the throttle.
std::string RateLimited(const Admission& admission) {
  const auto seconds = static_cast<int64_t>(std::ceil(ToSeconds(admission.retry_after())));
  return "rate-limited: " + std::string(PrefixOf(admission.reason())) + "; try again in " +
         std::to_string(std::max<int64_t>(1, seconds)) + " s";
}

std::string_view PrefixOf(std::string_view text) { return text.substr(0, text.find(':')); }

}  // namespace weir
