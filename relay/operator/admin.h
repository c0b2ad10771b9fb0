// Decides which requests may use the routes for administrators: those of clients that can read this relay's files or
// have the admin's key, and those from this machine if the operator says so.
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

// The token is a secret of 32 bytes in hex, in `<data_dir>/admin.token`, which its owner alone can read. Each call of
// MakeAdminToken makes a new one.
std::string AdminTokenPath(const std::string& data_dir);
Result<std::string> MakeAdminToken(const std::string& data_dir);
// Returns the token. The error says why it cannot be read, and what to do.
Result<std::string> FindAdminToken(const std::string& data_dir);
// The same, but only if the relay at `url` runs on this data directory: the token must be shown to no other.
Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir);
// Returns "" if there is none or it cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Removes the token file if it still holds this token.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// Whether requests from loopback count as those of programs on this machine (WEIR_ADMIN_FROM_LOOPBACK). An operator
// should say so only if nothing there passes on requests of others. A raw forwarder (ssh -R, Tor, stunnel, HAProxy in
// tcp mode) leaves no mark in a request.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;
};
LoopbackTrust TrustInLoopback(AdminFromLoopback setting);
// Returns true for localhost or an address of loopback, with or without a port.
bool IsLoopbackName(std::string_view host);

// Returns true if a request comes from a program on this machine, or from a browser on it that shows a page of this
// very relay: the socket comes from loopback and the Host is a name of it. This decides about links and pages; an Admin
// decides what the request may do.
bool IsFromHere(const HttpRequest& request);

// Names of cookies: one for a browser's sign-in (Admin::SessionFor), and one that says only that this browser is an
// operator's, so that public pages can link to those for operators. Browsers send cookies to all ports of a host, so
// the names contain the port if the request named one (weir_live_3334).
std::string SessionCookie(const HttpRequest& request);
std::string OperatorCookie(const HttpRequest& request);
// Returns true if the request came by TLS to this port or, as X-Forwarded-Proto says, to a proxy before it.
bool CameByTls(const HttpRequest& request);

// A request needs one of three proofs:
// Token: `Authorization: Bearer <token>`, from anywhere. The relay's token is in a file, that of `weir gate` in
// WEIR_ADMIN_TOKEN; answers say which.
// Loopback, if it is trusted: the socket comes from it, the Host is a name of it, and the request has no header that a
// proxy or a browser adds.
// NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>`, signed by WEIR_RELAY_ADMIN_PUBKEY, with this
// method and this URL (scheme and host as WEIR_RELAY_URL says, path and query as asked), at most 60 s old and 5 s
// ahead; each event is good once. Used events are forgotten at a restart, so an event that could have been used before
// this object was made, one dated up to 5 s after that, is refused. Without WEIR_RELAY_URL the Host that was asked for
// counts, if it is near (IsNearby). A `payload` tag is ignored: the body is a stream, of which nothing is known yet.
// The turn of the client that shows a signature pays for its verification (account/turn_meter.h), and an address with
// many wrong ones has to wait.
//
// Threads: any.
class Admin {
 public:
  // For the relay, whose token is in a file. An empty token fits no request. The clock must outlive it.
  Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback);
  // For `weir gate`, whose token is WEIR_ADMIN_TOKEN; there is no admin's key.
  Admin(std::string token_of_setting, LoopbackTrust loopback);

  // Returns nullopt if the request may pass, else the answer to it: 401, 403 or 429 with the reason and what to do.
  // Takes 40 µs if there is a signature to verify, else very little. *by says by which proof the client is known, for
  // the log.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, std::string_view* by = nullptr) const;

  // The same for pages, which browsers ask for. Also passes a browser that shows the cookie of its session, or that is
  // on this machine, if that is trusted, and asks from a page of this relay.
  std::optional<HttpResponse> RefusalOfPage(const HttpRequest& request, std::string_view* by = nullptr) const;
  // Returns the value of such a cookie if `token` is the right one, else nullopt. The session ends with the token, or
  // when kSessionLasts is over. The cookie does not reveal the token.
  static constexpr std::chrono::hours kSessionLasts{24 * 7};
  std::optional<std::string> SessionFor(std::string_view token) const;
  // Ends all sessions, because a browser that signs out cannot know who has a copy of its cookie. Does nothing if the
  // request shows no session.
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

  const std::string key_;  // hex; empty: there is none
  const std::string url_;
  const LoopbackTrust loopback_;
  const std::string token_;  // empty: there is none
  const bool token_is_set_;  // by WEIR_ADMIN_TOKEN
  const WallClock& clock_;
  const uint64_t start_;
  mutable std::atomic<uint64_t> ended_sessions_{0};  // how often they were ended

  mutable SignInLimit wrong_signatures_;
  mutable std::mutex mutex_;
  mutable std::map<EventId, uint64_t> seen_;  // when each was used
};

}  // namespace weir
