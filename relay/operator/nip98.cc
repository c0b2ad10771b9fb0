#include "relay/operator/nip98.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "relay/account/turn_meter.h"
#include "relay/net/client_address.h"
#include "relay/net/host_names.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint16_t kHttpAuthKind = 27235;
constexpr uint64_t kMostSecondsOld = 60;
// Allows for clocks that differ. A proof that is dated up to this long after a start could have been used before that
// start.
constexpr uint64_t kMostSecondsAhead = 5;
constexpr uint64_t kRememberSeconds = kMostSecondsOld + kMostSecondsAhead;
constexpr size_t kMostRemembered = 4096;
// NIP-98's event has some 400 bytes; a long query makes it longer.
constexpr EventLimits kLimits{.max_bytes = 16'384, .max_tags = 64, .max_tag_bytes = 8'192, .max_content_bytes = 1024};

// Returns "" if the text is not base64. Padding may be missing.
std::string FromBase64(std::string_view text) {
  if (text.size() > 2 * kLimits.max_bytes) return "";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string padded(text);
  padded.append((4 - text.size() % 4) % 4, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(padded.data()), static_cast<int>(padded.size()));
  if (size < 0) return "";
  bytes.resize(static_cast<size_t>(size) - std::min(static_cast<size_t>(size), padded.size() - text.size()));
  return bytes;
}

// The parts of an address. In a WebSocket's address, ws counts as http and wss as https.
struct Url {
  std::string scheme;
  std::string host;
  std::string target;  // path and query; "/" if the address has neither

  bool operator==(const Url&) const = default;
};
Url Split(std::string_view text) {
  Url url;
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return url;
  url.scheme = text.substr(0, scheme);
  for (char& c : url.scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (url.scheme == "ws") url.scheme = "http";
  if (url.scheme == "wss") url.scheme = "https";
  url.host = HostOf(text);
  if (const size_t path = text.find_first_of("/?#", scheme + 3); path != std::string_view::npos)
    url.target = text.substr(path);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

std::string TargetOf(const HttpRequest& request) {
  return request.path + (request.query.empty() ? "" : "?" + request.query);
}

// Returns the value of the event's first tag with this name; empty if there is none.
std::string ValueOfTag(EventView event, std::string_view name) {
  for (const std::vector<std::string>& tag : TagsNamed(event, name)) return tag.size() > 1 ? tag[1] : "";
  return "";
}

bool IsSha256InHex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

Nip98::Nip98(std::vector<AdminKey> keys, std::string url, const WallClock& clock)
    : keys_(std::move(keys)), url_(std::move(url)), clock_(clock), start_(clock.NowSeconds()) {}

std::variant<Administrator, AdminProof::Refused> Nip98::Recognise(const HttpRequest& request, std::string_view base64,
                                                                  ProofUse use) const {
  if (keys_.empty()) {
    return Refused{.status = 403,
                   .why = "there is no key: neither WEIR_RELAY_ADMIN_PUBKEY nor WEIR_RELAY_ADMINS is set"};
  }
  const Result<Event> parsed = EventParser(kLimits).Parse(FromBase64(base64));
  if (!parsed.ok())
    return Refused{.status = 401, .why = "Authorization has no event in base64: " + parsed.status().message()};
  const EventView event = parsed.value().view();
  const auto key = std::ranges::find(keys_, ToHex(event.pubkey()), &AdminKey::hex);
  if (key == keys_.end()) return Refused{.status = 403, .why = "this key is not an administrator's"};
  const uint64_t now = clock_.NowSeconds();
  if (const std::string why = RefusalOfEvent(request, event, now, use); !why.empty())
    return Refused{.status = 401, .why = "Authorization was refused: " + why};
  const uint64_t client = GroupOf(request.address);
  if (const auto wait = wrong_signatures_.Wait(client)) {
    return Refused{.status = 429,
                   .why = "too many wrong signatures came from your address; wait, or show the token",
                   .wait = wait};
  }
  TurnMeter::Charge(kSignatureWork);
  if (!VerifySignature(event)) {
    wrong_signatures_.NoteWrong(client);
    return Refused{.status = 401, .why = "Authorization was refused: wrong signature"};
  }
  if (const std::string why = RefusalOfUse(event.id(), now); !why.empty())
    return Refused{.status = 401, .why = "Authorization was refused: " + why};
  return Administrator{.name = key->npub,
                       .rights = key->rights,
                       .payload = use == ProofUse::kManagement ? ValueOfTag(event, "payload") : ""};
}

// Makes the cheapest checks first. The caller verifies the signature.
std::string Nip98::RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now, ProofUse use) const {
  if (event.kind() != kHttpAuthKind) return "its event must be of kind 27235, not " + std::to_string(event.kind());
  if (event.created_at() < now && now - event.created_at() > kMostSecondsOld)
    return "its created_at is " + std::to_string(now - event.created_at()) + " s ago; 60 are allowed";
  if (event.created_at() > now + kMostSecondsAhead)
    return "its created_at is " + std::to_string(event.created_at() - now) +
           " s ahead of this relay's clock; 5 are allowed";
  if (event.created_at() <= start_ + kMostSecondsAhead)
    return "its created_at must be more than 5 s after the start of this relay, which does not know what was used "
           "before; sign another one in some seconds";
  if (ValueOfTag(event, "method") != request.method) return "its method tag must be " + request.method;
  if (use == ProofUse::kManagement && !IsSha256InHex(ValueOfTag(event, "payload")))
    return "its payload tag must be the SHA-256 of the body, in 64 lower-case hexadecimal digits";
  return RefusalOfUrl(request, event, use);
}

std::string Nip98::RefusalOfUrl(const HttpRequest& request, EventView event, ProofUse use) const {
  Url expected = Split(url_);
  if (url_.empty()) {
    const std::string_view host = request.Header("host");
    if (!IsNearby(host)) return "the operator of this relay has not set its address (WEIR_RELAY_URL)";
    expected = {.scheme = "http", .host = HostOf(host), .target = "/"};
  }
  const Url named = Split(ValueOfTag(event, "u"));
  if (use == ProofUse::kManagement && named == expected) return "";
  expected.target = TargetOf(request);
  if (named == expected) return "";
  return "its u tag must be " + expected.scheme + "://" + expected.host + expected.target;
}

// Returns "" if the event was not used before, and notes that it is used now.
std::string Nip98::RefusalOfUse(const EventId& id, uint64_t now) const {
  const MutexLock lock(mutex_);
  std::erase_if(seen_, [now](const auto& entry) { return entry.second + kRememberSeconds < now; });
  if (seen_.contains(id)) return "it was used already";
  // Forgets no event to make room, because a forgotten event could be used again.
  if (seen_.size() >= kMostRemembered) return "too many proofs were used in the last minute; wait a minute";
  seen_.emplace(id, now);
  return "";
}

}  // namespace weir
