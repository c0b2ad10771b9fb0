// Admin: decides which requests may use the routes for administrators: the requests of clients that show the relay's
// token or sign with the admin's key and, if the operator allows it, the requests of programs on this machine.
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
#include "relay/admin/sign_in_limit.h"
#include "relay/net/http.h"
#include "relay/nostr/event.h"
#include "relay/protocol/relay_settings.h"

namespace weir {

// Returns the path of the file with the token, `<data_dir>/admin.token`. The token is a secret of 32 bytes in
// hexadecimal.
std::string AdminTokenPath(const std::string& data_dir);
// Makes a new token and writes it to the file, which only the file's owner can read. Returns the token, or an error if
// the file cannot be written.
Result<std::string> MakeAdminToken(const std::string& data_dir);
// Returns the token in the file. The error says why there is no token to read and, if it is known, what to do.
Result<std::string> FindAdminToken(const std::string& data_dir);
// Does the same, but returns an error if the relay at `url` does not use this data directory, because the token must
// not be sent to any other relay.
Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir);
// Returns the token in the file; "" if there is no token or the file cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Deletes the file if the token in it is still `token`.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// Says whether requests from a loopback address count as requests of an administrator's programs
// (WEIR_ADMIN_FROM_LOOPBACK). An operator should allow this only if no program on the machine forwards requests from
// elsewhere, because the requests of a raw forwarder (ssh -R, Tor, stunnel, HAProxy in tcp mode) look the same.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;  // the setting that decides `trusted`, for messages
};
LoopbackTrust TrustInLoopback(AdminFromLoopback setting);
// Returns true for localhost, a name that ends with .localhost, or a loopback address, with or without a port.
bool IsLoopbackName(std::string_view host);

// Returns true if a request seems to come from a program on this machine, or from a browser on this machine that shows
// a page of this relay: it comes from a loopback address, has no header of a proxy or of another site's page, and
// IsLoopbackName is true for its Host. The relay's pages use this function to decide which links they show. This
// function gives no rights; only an Admin does.
bool IsFromHere(const HttpRequest& request);

// SessionCookie and OperatorCookie return the names of two cookies. The first cookie contains the session of a browser
// that has signed in (Admin::SessionFor). The second cookie says only that an operator uses the browser, so that public
// pages can link to pages for operators. Browsers send a cookie to all ports of a host, so the names contain the port
// of the Host header, if it has one (weir_live_3334).
std::string SessionCookie(const HttpRequest& request);
std::string OperatorCookie(const HttpRequest& request);
// Returns true if the request came by TLS, either to this server or to a proxy in front of it (X-Forwarded-Proto:
// https).
bool CameByTls(const HttpRequest& request);

// Decides by three kinds of proof. A request needs one of them:
// * Token: `Authorization: Bearer <token>`, from any address. The token of a relay is in a file, that of `weir gate` is
// WEIR_ADMIN_TOKEN; a refusal says which one is needed.
// * Loopback, if LoopbackTrust::trusted is true: the request comes from a loopback address, IsLoopbackName is true for
// its Host, and it has no header that a proxy or a page in a browser adds.
// * NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>`. The event must be signed by
// WEIR_RELAY_ADMIN_PUBKEY, name this method and this URL (scheme and host of WEIR_RELAY_URL, path and query of the
// request), and its created_at must be at most 60 s before and at most 5 s after the relay's clock. If WEIR_RELAY_URL
// is not set, the host must be that of the request, which must be near (IsNearby in relay/protocol/identity.h). Each
// event is valid once: the Admin remembers up to 4,096 used events for 65 s each; while it remembers 4,096, it refuses
// all further events. It does not know which events were used before it was made, so it refuses events whose created_at
// is at most 5 s after that time. It ignores a `payload` tag, because the body has not been read yet. The time to
// verify a signature is charged to the client (relay/account/turn_meter.h), and a client that sent many wrong
// signatures has to wait (sign_in_limit.h).
//
// Threads: any thread may call any function.
class Admin {
 public:
  // Makes an Admin for the relay, whose token is in a file. If `token` is empty, it accepts no token. The clock must
  // outlive this object.
  Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback);
  // Makes an Admin for `weir gate`, whose token is WEIR_ADMIN_TOKEN. It accepts no NIP-98 events.
  Admin(std::string token_of_setting, LoopbackTrust loopback);

  // Returns nullopt if the request is allowed. Otherwise returns the response to send: 401, 403 or 429, with the reason
  // and what to do. Takes about 40 µs if there is a signature to verify, else very little. Sets `*by` to a description
  // of the proof that was checked ("the token"), for the log.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, std::string_view* by = nullptr) const;

  // Does the same for pages, which browsers request. Also allows a request with the cookie of a valid session and, if
  // loopback is trusted, a request for which IsFromHere is true.
  std::optional<HttpResponse> RefusalOfPage(const HttpRequest& request, std::string_view* by = nullptr) const;
  // Returns the value of a cookie for a new session if `token` is the right one, else nullopt. The session ends after
  // kSessionLasts, when the token changes, or by EndSessions. The cookie does not reveal the token.
  static constexpr std::chrono::hours kSessionLasts{24 * 7};
  std::optional<std::string> SessionFor(std::string_view token) const;
  // Ends all sessions of all browsers, because another browser may have a copy of this one's cookie. Does nothing if
  // the request has no valid session.
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

  const std::string key_;  // public key of the admin in hexadecimal; empty: no key is accepted
  const std::string url_;
  const LoopbackTrust loopback_;
  const std::string token_;  // empty: no token is accepted
  const bool token_is_set_;  // true if the token is WEIR_ADMIN_TOKEN
  const WallClock& clock_;
  const uint64_t start_;                             // when this object was made, in seconds since 1970
  mutable std::atomic<uint64_t> ended_sessions_{0};  // number of times that EndSessions ended the sessions

  mutable SignInLimit wrong_signatures_;
  mutable std::mutex mutex_;
  mutable std::map<EventId, uint64_t> seen_;  // used events, with the time of their use in seconds since 1970
};

}  // namespace weir
