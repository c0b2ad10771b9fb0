// Admin: decides which requests may use the routes for administrators. These are requests of clients that have the
// token in this relay's files or the admin's key, and requests from this machine if the operator allows it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "relay/nostr/event.h"
#include "relay/operator/sign_in_limit.h"
#include "relay/protocol/relay_settings.h"
#include "relay/server/http.h"

namespace weir {

// Returns the path of the file with the token, `<data_dir>/admin.token`. The token is a secret of 32 bytes in
// hexadecimal.
std::string AdminTokenPath(const std::string& data_dir);
// Makes a new token and writes it to the file, which only its owner can read. Returns the token, or an error if it
// cannot be written.
Result<std::string> MakeAdminToken(const std::string& data_dir);
// Returns the token in the file. The error says why it cannot be read, and what to do.
Result<std::string> FindAdminToken(const std::string& data_dir);
// Returns the same, but only if the relay at `url` runs on this data directory: the token must not be sent to any other
// relay.
Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir);
// Returns the token in the file; "" if there is none or it cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Deletes the file if it still has this token.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// Says whether requests from loopback are taken as requests of programs on this machine (WEIR_ADMIN_FROM_LOOPBACK). An
// operator should allow this only if no program on the machine forwards requests of others. A raw forwarder (ssh -R,
// Tor, stunnel, HAProxy in tcp mode) leaves no mark in a request.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;  // the setting that decides it, for messages
};
LoopbackTrust TrustInLoopback(AdminFromLoopback setting);
// Returns true for localhost, a name that ends with .localhost, or an address of loopback, with or without a port.
bool IsLoopbackName(std::string_view host);

// Returns true if a request comes from a program on this machine, or from a browser on it that shows a page of this
// relay. Such a request comes from a loopback address without a proxy, and its Host is a name of loopback. Pages use it
// to decide which links they show; an Admin decides what the request may do.
bool IsFromHere(const HttpRequest& request);

// These return names of cookies. SessionCookie is for a browser that has signed in (Admin::SessionFor). OperatorCookie
// says only that an operator uses the browser, so that public pages can link to pages for operators. Browsers send
// cookies to all ports of a host, so the names contain the port if the request named one (weir_live_3334).
std::string SessionCookie(const HttpRequest& request);
std::string OperatorCookie(const HttpRequest& request);
// Returns true if the request came by TLS, to this port or to a proxy in front of it that says so (X-Forwarded-Proto).
bool CameByTls(const HttpRequest& request);

// A request needs one of three proofs:
// * Token: `Authorization: Bearer <token>`, from any address. The relay's token is in a file, the token of `weir gate`
// is WEIR_ADMIN_TOKEN; refusals say which one is needed.
// * Loopback, if it is trusted: the request comes from a loopback address, its Host is a name of loopback, and it has
// no header that a proxy or a browser adds.
// * NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>`. The event must be signed by
// WEIR_RELAY_ADMIN_PUBKEY, name this method and this URL (scheme and host of WEIR_RELAY_URL, path and query of the
// request), and be at most 60 s old and 5 s ahead. Without WEIR_RELAY_URL the host is that of the request, if it is
// near (IsNearby in relay/protocol/identity.h). Each event is valid once. At most 4,096 used events are remembered, for
// 65 s; while 4,096 are remembered, further ones are refused. A restart forgets them, so an event that may have been
// used before this object was made (dated up to 5 s after that) is refused. A `payload` tag is ignored, because the
// body is a stream that has not been read yet. The time to verify a signature is charged to the client that sent it
// (relay/account/turn_meter.h), and an address with many wrong signatures has to wait (sign_in_limit.h).
//
// Threads: any thread may call any function.
class Admin {
 public:
  // For the relay, whose token is in a file. If `token` is empty, no token is accepted. The clock must outlive this
  // object.
  Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback);
  // For `weir gate`, whose token is WEIR_ADMIN_TOKEN. It accepts no NIP-98.
  Admin(std::string token_of_setting, LoopbackTrust loopback);

  // Returns nullopt if the request is allowed. Otherwise returns the answer to the request: 401, 403 or 429 with the
  // reason and what to do. Takes 40 µs if there is a signature to verify, else very little. Sets `*by` to the name of
  // the proof that was checked, for the log.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, std::string_view* by = nullptr) const;

  // Does the same for pages, which browsers ask for. It also allows a browser that sends the cookie of its session. If
  // loopback is trusted, it also allows a browser on this machine that asks from a page of this relay.
  std::optional<HttpResponse> RefusalOfPage(const HttpRequest& request, std::string_view* by = nullptr) const;
  // Returns the value of the session cookie if `token` is the right one, else nullopt. The session ends after
  // kSessionLasts, or when the token changes. The cookie does not reveal the token.
  static constexpr std::chrono::hours kSessionLasts{24 * 7};
  std::optional<std::string> SessionFor(std::string_view token) const;
  // Ends all sessions of all browsers, because a browser that signs out cannot know who has a copy of its cookie. Does
  // nothing if the request has no valid session.
  void EndSessions(const HttpRequest& request) const;

 private:
  std::string WhyNotTrusted(const HttpRequest& request) const;
  bool IsToken(std::string_view offered) const;
  bool IsSession(std::string_view session) const;
  std::string SessionUntil(uint64_t end) const;
  std::optional<HttpResponse> RefusalOfToken(std::string_view offered) const;
  std::optional<HttpResponse> RefusalOfProof(const HttpRequest& request, std::string_view base64) const;
  std::string RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now) const;
  std::string RefusalOfUrl(const HttpRequest& request, EventView event) const;
  std::string RefusalOfUse(const EventId& id, uint64_t now) const;
  std::string TokenHint() const;
  HttpResponse Answer(int status, const std::string& why) const;

  const std::string key_;  // public key of the admin in hexadecimal; empty: there is none
  const std::string url_;
  const LoopbackTrust loopback_;
  const std::string token_;  // empty: there is none
  const bool token_is_set_;  // true if the token is WEIR_ADMIN_TOKEN
  const WallClock& clock_;
  const uint64_t start_;                             // when this object was made, in seconds since 1970
  mutable std::atomic<uint64_t> ended_sessions_{0};  // how often EndSessions ended the sessions

  mutable SignInLimit wrong_signatures_;
  mutable std::mutex mutex_;
  mutable std::map<EventId, uint64_t> seen_;  // used events, with the time of their use in seconds since 1970
};

}  // namespace weir
