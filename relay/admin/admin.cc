#include "relay/admin/admin.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "relay/account/turn_meter.h"
#include "relay/admin/other_site.h"
#include "relay/net/client_address.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/protocol/identity.h"

namespace weir {
namespace {

constexpr uint16_t kHttpAuthKind = 27235;
constexpr uint64_t kMostSecondsOld = 60;
// Allows for clocks that differ. An event dated up to this long after the relay's start may have been used before that
// start.
constexpr uint64_t kMostSecondsAhead = 5;
constexpr uint64_t kRememberSeconds = kMostSecondsOld + kMostSecondsAhead;
constexpr size_t kMostRemembered = 4096;
// An event of NIP-98 has about 400 bytes, more if the URL has a long query.
constexpr EventLimits kLimits{.max_bytes = 16'384, .max_tags = 64, .max_tag_bytes = 8'192, .max_content_bytes = 1024};

// Headers which show that a page in a browser made the request, or that a proxy forwarded it. A name that ends with a
// hyphen stands for all names that begin with it.
constexpr std::array<std::string_view, 15> kOfSomebodyElse = {
    "origin",         "referer",     "sec-fetch-", "forwarded",   "via",
    "x-forwarded-",   "x-original-", "x-real-ip",  "x-client-ip", "x-cluster-client-ip",
    "true-client-ip", "cf-",         "cdn-loop",   "x-envoy-",    "fastly-client-ip"};

bool IsOfSomebodyElse(std::string_view header) {
  return std::ranges::any_of(kOfSomebodyElse, [header](std::string_view name) {
    return name.ends_with('-') ? header.starts_with(name) : header == name;
  });
}

bool IsLoopback(const std::string& text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

}  // namespace

// A private address does not count, because it may be that of another machine, whose pages are not this relay's.
bool IsLoopbackName(std::string_view host) {
  std::string name = HostOf(host);
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return IsLoopback(name);
}

namespace {

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// Returns true for a header that a browser adds while it shows a page of this relay, or when its user entered the
// address.
bool IsOfOwnPage(const HttpRequest& request, std::string_view header, std::string_view value) {
  if (header == "sec-fetch-site") return value == "same-origin" || value == "none";
  if (header == "origin" || header == "referer") return IsOfHostAsked(request, value);
  return header.starts_with("sec-fetch-");
}

// Returns why a request may not come from a program on this machine; empty if it seems to come from one. If or_own_page
// is true, a page of this relay in a browser on this machine counts as such a program.
std::string WhyNotFromHere(const HttpRequest& request, bool or_own_page = false) {
  for (const std::string& address : {request.peer, request.address})
    if (!IsLoopback(address))
      return "it comes from " + (address.empty() ? "an unknown address" : address) + ", which is not this machine";
  for (const auto& [name, value] : request.headers)
    if (IsOfSomebodyElse(name) && !(or_own_page && IsOfOwnPage(request, name, value)))
      return "its header " + Printable(name) + " shows that it comes from a web page or through a proxy";
  const std::string_view host = request.Header("host");
  if (host.empty()) return "it has no Host header";
  if (!IsLoopbackName(host)) return "its Host is " + Printable(host) + ", which is not a name of loopback";
  return "";
}

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

// The parts of a URL, from Split. Split replaces the scheme ws by http, and wss by https.
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

std::string PortInName(const HttpRequest& request) {
  const std::string_view host = request.Header("host");
  const std::string_view port = host.substr(std::min(host.find_last_of(":]"), host.size()));
  return port.size() > 1 && port[0] == ':' && port.find_first_not_of("0123456789", 1) == port.npos
             ? "_" + std::string(port.substr(1))
             : "";
}

// Compares in a time that does not depend on how many characters are equal.
bool AreEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool HasTag(EventView event, std::string_view name, std::string_view value) {
  return std::ranges::any_of(TagsNamed(event, name),
                             [&](const std::vector<std::string>& tag) { return tag.size() > 1 && tag[1] == value; });
}

}  // namespace

std::string SessionCookie(const HttpRequest& request) { return "weir_live" + PortInName(request); }
std::string OperatorCookie(const HttpRequest& request) { return "weir_operator" + PortInName(request); }

bool CameByTls(const HttpRequest& request) { return request.secure || request.Header("x-forwarded-proto") == "https"; }

bool IsFromHere(const HttpRequest& request) { return WhyNotFromHere(request, true).empty(); }

LoopbackTrust TrustInLoopback(AdminFromLoopback setting) {
  switch (setting) {
    case AdminFromLoopback::kTrue:
      return {true, "WEIR_ADMIN_FROM_LOOPBACK=true"};
    case AdminFromLoopback::kAuto:
      return {false, "WEIR_ADMIN_FROM_LOOPBACK=auto means false: a forwarder cannot be told from a program here"};
    default:
      return {false, "WEIR_ADMIN_FROM_LOOPBACK=false"};
  }
}

Admin::Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback)
    : key_(settings.admin_pubkey),
      url_(settings.url),
      loopback_(std::move(loopback)),
      token_(std::move(token)),
      token_is_set_(false),
      clock_(clock),
      start_(clock.NowSeconds()) {}

Admin::Admin(std::string token_of_setting, LoopbackTrust loopback)
    : loopback_(std::move(loopback)),
      token_(std::move(token_of_setting)),
      token_is_set_(true),
      clock_(WallClock::System()),
      start_(clock_.NowSeconds()) {}

// Returns why the request needs a token or a key; "" if it needs none, because loopback is trusted.
std::string Admin::WhyNotTrusted(const HttpRequest& request) const {
  return loopback_.trusted ? WhyNotFromHere(request) : "it shows no token and no key";
}

bool Admin::IsToken(std::string_view offered) const { return !token_.empty() && AreEqual(offered, token_); }

std::optional<HttpResponse> Admin::RefusalOfToken(std::string_view offered) const {
  if (token_.empty())
    return Answer(403, token_is_set_ ? "there is no token: WEIR_ADMIN_TOKEN is not set"
                                     : "there is no token, because this relay could not write one");
  if (IsToken(offered)) return std::nullopt;
  return Answer(401, token_is_set_ ? "this is not the token of WEIR_ADMIN_TOKEN"
                                   : "wrong token; each start of the relay makes a new one");
}

std::optional<HttpResponse> Admin::RefusalOfProof(const HttpRequest& request, std::string_view base64) const {
  if (key_.empty()) return Answer(403, "there is no key: WEIR_RELAY_ADMIN_PUBKEY is not set");
  const Result<Event> parsed = EventParser(kLimits).Parse(FromBase64(base64));
  if (!parsed.ok()) return Answer(401, "Authorization has no event in base64: " + parsed.status().message());
  const EventView event = parsed.value().view();
  if (ToHex(event.pubkey()) != key_) return Answer(403, "this key is not the admin's");
  const uint64_t now = clock_.NowSeconds();
  if (const std::string why = RefusalOfEvent(request, event, now); !why.empty())
    return Answer(401, "Authorization was refused: " + why);
  const uint64_t client = GroupOf(request.address);
  if (const auto wait = wrong_signatures_.Wait(client)) {
    HttpResponse late = Answer(429, "too many wrong signatures came from your address; wait, or show the token");
    late.headers.emplace_back("Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count()));
    return late;
  }
  TurnMeter::Charge(kSignatureWork);
  if (!VerifySignature(event)) {
    wrong_signatures_.NoteWrong(client);
    return Answer(401, "Authorization was refused: wrong signature");
  }
  if (const std::string why = RefusalOfUse(event.id(), now); !why.empty())
    return Answer(401, "Authorization was refused: " + why);
  return std::nullopt;
}

// Returns why the event is not valid for this request; "" if it is. The caller verifies the signature, which costs
// most.
std::string Admin::RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now) const {
  if (event.kind() != kHttpAuthKind) return "its event must be of kind 27235, not " + std::to_string(event.kind());
  if (event.created_at() < now && now - event.created_at() > kMostSecondsOld)
    return "its created_at is " + std::to_string(now - event.created_at()) + " s ago; 60 are allowed";
  if (event.created_at() > now + kMostSecondsAhead)
    return "its created_at is " + std::to_string(event.created_at() - now) +
           " s ahead of this relay's clock; 5 are allowed";
  if (event.created_at() <= start_ + kMostSecondsAhead)
    return "its created_at must be more than 5 s after the start of this relay, which does not know what was used "
           "before; sign another one in some seconds";
  if (!HasTag(event, "method", request.method)) return "its method tag must be " + request.method;
  return RefusalOfUrl(request, event);
}

std::string Admin::RefusalOfUrl(const HttpRequest& request, EventView event) const {
  const std::string target = TargetOf(request);
  Url expected = Split(url_);
  if (url_.empty()) {
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

// Returns "" if the event was not used before, and remembers it as used. Otherwise returns the reason for a refusal.
std::string Admin::RefusalOfUse(const EventId& id, uint64_t now) const {
  const std::lock_guard lock(mutex_);
  std::erase_if(seen_, [now](const auto& entry) { return entry.second + kRememberSeconds < now; });
  if (seen_.contains(id)) return "it was used already";
  // Does not forget an older event to make room, because that event could then be used again.
  if (seen_.size() >= kMostRemembered) return "too many proofs were used in the last minute; wait a minute";
  seen_.emplace(id, now);
  return "";
}

std::string Admin::TokenHint() const {
  if (token_is_set_) return token_.empty() ? "… (WEIR_ADMIN_TOKEN is not set)" : "<the value of WEIR_ADMIN_TOKEN>";
  return std::string("<the content of admin.token in the relay's data directory>") +
         (token_.empty() ? " (there is none: it could not be written)" : "");
}

HttpResponse Admin::Answer(int status, const std::string& why) const {
  HttpResponse response{.status = status, .body = "for administrators only: " + why + "\n"};
  response.body +=
      "Any of these will do:\n"
      "- the token: Authorization: Bearer " +
      TokenHint() +
      "\n"
      "- from this machine, by a name of loopback (http://127.0.0.1:…), without a proxy" +
      (loopback_.trusted ? "" : " (not here: " + loopback_.why + ")") + "\n";
  if (!token_is_set_) {
    response.body +=
        std::string("- the key of WEIR_RELAY_ADMIN_PUBKEY (NIP-98): Authorization: Nostr <event in base64>") +
        std::string(key_.empty() ? " (it is not set here)" : "") + "\n";
  }
  if (status != 401) return response;
  if (!token_.empty()) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (!key_.empty()) response.headers.emplace_back("WWW-Authenticate", "Nostr");
  return response;
}

std::optional<HttpResponse> Admin::Refusal(const HttpRequest& request, std::string_view* by) const {
  std::string_view unused;
  std::string_view& known_by = by != nullptr ? *by : unused;
  const std::string why = WhyNotTrusted(request);
  known_by = "being on this machine";
  if (why.empty()) return std::nullopt;
  const std::string_view authorization = request.Header("authorization");
  const size_t space = std::min(authorization.find(' '), authorization.size());
  const std::string_view scheme = authorization.substr(0, space);
  const std::string_view proof = authorization.substr(std::min(space + 1, authorization.size()));
  known_by = "the token";
  if (EqualInAnyCase(scheme, "bearer")) return RefusalOfToken(proof);
  known_by = "the admin's key";
  if (EqualInAnyCase(scheme, "nostr")) return RefusalOfProof(request, proof);
  return Answer(key_.empty() && token_.empty() ? 403 : 401, why);
}

std::optional<HttpResponse> Admin::RefusalOfPage(const HttpRequest& request, std::string_view* by) const {
  if (IsSession(request.Cookie(SessionCookie(request)))) {
    if (by != nullptr) *by = "the session of a browser";
    return std::nullopt;
  }
  if (loopback_.trusted && IsFromHere(request)) {
    if (by != nullptr) *by = "being on this machine";
    return std::nullopt;
  }
  return Refusal(request, by);
}

std::optional<std::string> Admin::SessionFor(std::string_view token) const {
  if (!IsToken(token)) return std::nullopt;
  return SessionUntil(clock_.NowSeconds() + std::chrono::seconds(kSessionLasts).count());
}

void Admin::EndSessions(const HttpRequest& request) const {
  if (IsSession(request.Cookie(SessionCookie(request)))) ++ended_sessions_;
}

bool Admin::IsSession(std::string_view session) const {
  const Result<uint64_t> end = ParseUnsigned(session.substr(0, session.find('.')), {.min = 0, .max = 1e15});
  return !token_.empty() && end.ok() && clock_.NowSeconds() < end.value() &&
         AreEqual(session, SessionUntil(end.value()));
}

// Returns the value of a session's cookie: the time at which the session ends, and an HMAC of this time with the token
// as key.
std::string Admin::SessionUntil(uint64_t end) const {
  const std::string text = std::to_string(end);
  const std::string signed_text = "weir live session " + text + " " + std::to_string(ended_sessions_);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), token_.data(), static_cast<int>(token_.size()),
       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac.data(), &size);
  return text + "." + ToHex(mac.data(), size);
}

}  // namespace weir
