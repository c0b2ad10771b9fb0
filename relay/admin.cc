#include "relay/admin.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "relay/identity.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint16_t kHttpAuthKind = 27235;
constexpr uint64_t kMostSecondsApart = 60;
// An event that is dated ahead is good for twice as long as it may be apart.
constexpr uint64_t kRememberSeconds = 2 * kMostSecondsApart;
constexpr size_t kMostRemembered = 4096;
// NIP-98's event has some 400 bytes; a long query makes it longer.
constexpr EventLimits kLimits{.max_bytes = 16'384, .max_tags = 64, .max_tag_bytes = 8'192, .max_content_bytes = 1024};

// Each of them says that the request was made, or passed on, by something that whoever asks did not start here.
constexpr std::array<std::string_view, 7> kOfSomebodyElse = {"x-forwarded-for",  "x-real-ip", "forwarded",     "via",
                                                             "x-forwarded-host", "origin",    "sec-fetch-site"};

bool IsLoopback(const std::string& text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

bool IsOnThisMachine(const HttpRequest& request) {
  if (!IsLoopback(request.peer) || !IsLoopback(request.address)) return false;
  const auto of_somebody_else = [](const auto& header) {
    return std::ranges::count(kOfSomebodyElse, header.first) > 0;
  };
  return std::ranges::none_of(request.headers, of_somebody_else) && IsNearby(request.Header("host"));
}

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Empty where it is none. Padding may be missing.
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

// An address in its parts. A WebSocket's is that of the same place: ws is http.
struct Url {
  std::string scheme;
  std::string host;
  std::string target;  // path and query
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
  return url;
}

std::string TargetOf(const HttpRequest& request) {
  return request.path + (request.query.empty() ? "" : "?" + request.query);
}

bool HasTag(EventView event, std::string_view name, std::string_view value) {
  return std::ranges::any_of(TagsNamed(event, name),
                             [&](const std::vector<std::string>& tag) { return tag.size() > 1 && tag[1] == value; });
}

}  // namespace

struct Admin::Rep {
  Rep(const RelaySettings& s, const WallClock& c)
      : key(s.admin_pubkey), url(s.url), from_loopback(s.admin_from_loopback), clock(c) {}

  std::string RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now) const;
  std::string RefusalOfUrl(const HttpRequest& request, EventView event) const;
  bool IsNew(const EventId& id, uint64_t now);
  HttpResponse Answer(int status, const std::string& why) const;

  const std::string key;  // hex; empty: nobody's
  const std::string url;
  const bool from_loopback;
  const WallClock& clock;

  std::mutex mutex;
  std::map<EventId, uint64_t> seen;  // when
};

// Cheapest first; the signature is the caller's.
std::string Admin::Rep::RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now) const {
  if (event.kind() != kHttpAuthKind) return "its event must be of kind 27235, not " + std::to_string(event.kind());
  const uint64_t apart = std::max(event.created_at(), now) - std::min(event.created_at(), now);
  if (apart > kMostSecondsApart)
    return "its created_at is " + std::to_string(apart) + " s away from now; 60 are allowed";
  if (!HasTag(event, "method", request.method)) return "its method tag must be " + request.method;
  return RefusalOfUrl(request, event);
}

std::string Admin::Rep::RefusalOfUrl(const HttpRequest& request, EventView event) const {
  const std::string target = TargetOf(request);
  Url expected = Split(url);
  if (url.empty()) {
    const std::string_view host = request.Header("host");
    if (!IsNearby(host)) return "the operator of this relay has not set its address (WEIR_RELAY_URL)";
    expected = {.scheme = "http", .host = HostOf(host), .target = ""};
  }
  for (const std::vector<std::string>& tag : TagsNamed(event, "u")) {
    const Url named = Split(tag.size() > 1 ? tag[1] : "");
    if (named.scheme == expected.scheme && named.host == expected.host && named.target == target) return "";
  }
  return "its u tag must be " + expected.scheme + "://" + expected.host + target;
}

bool Admin::Rep::IsNew(const EventId& id, uint64_t now) {
  const std::lock_guard lock(mutex);
  std::erase_if(seen, [now](const auto& entry) { return entry.second + kRememberSeconds < now; });
  // Who has the key and does more than this has to wait: forgetting one would let it be used again.
  return seen.size() < kMostRemembered && seen.emplace(id, now).second;
}

HttpResponse Admin::Rep::Answer(int status, const std::string& why) const {
  std::string body = "for administrators only: " + why + "\n";
  body += from_loopback ? "Ask from the machine that the relay runs on, without a proxy, or prove"
                        : "This relay takes no one on trust for being on its machine; prove";
  body += " that you have the key of WEIR_RELAY_ADMIN_PUBKEY (NIP-98: Authorization: Nostr …).\n";
  if (key.empty()) body += "This relay's operator has set no such key.\n";
  HttpResponse response{.status = status, .body = std::move(body)};
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Nostr");
  return response;
}

Admin::Admin(const RelaySettings& settings, const WallClock& clock) : rep_(std::make_unique<Rep>(settings, clock)) {}
Admin::~Admin() = default;

std::optional<HttpResponse> Admin::Refusal(const HttpRequest& request) const {
  if (rep_->from_loopback && IsOnThisMachine(request)) return std::nullopt;
  const std::string_view authorization = request.Header("authorization");
  const size_t space = std::min(authorization.find(' '), authorization.size());
  if (!EqualInAnyCase(authorization.substr(0, space), "nostr"))
    return rep_->Answer(rep_->key.empty() ? 403 : 401, "who asks is unknown");
  if (rep_->key.empty()) return rep_->Answer(403, "nobody has a key for it");

  const std::string json = FromBase64(authorization.substr(std::min(space + 1, authorization.size())));
  const Result<Event> parsed = EventParser(kLimits).Parse(json);
  if (!parsed.ok()) return rep_->Answer(401, "Authorization has no event in base64: " + parsed.status().message());
  const EventView event = parsed.value().view();
  if (ToHex(event.pubkey()) != rep_->key) return rep_->Answer(403, "this key is not the admin's");
  const uint64_t now = rep_->clock.NowSeconds();
  if (const std::string why = rep_->RefusalOfEvent(request, event, now); !why.empty())
    return rep_->Answer(401, "Authorization was refused: " + why);
  if (!VerifySignature(event)) return rep_->Answer(401, "Authorization was refused: wrong signature");
  if (!rep_->IsNew(event.id(), now)) return rep_->Answer(401, "Authorization was refused: it was used already");
  return std::nullopt;
}

}  // namespace weir
