// Who may use the routes that are for administrators: whoever can read this relay's files or has the admin's key, and
// whoever is on this machine where the operator says so.
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

// A secret of 32 bytes in hex, in `<data_dir>/admin.token`, which its owner alone can read; anew with each call.
std::string AdminTokenPath(const std::string& data_dir);
Result<std::string> MakeAdminToken(const std::string& data_dir);
// The error says why it cannot be read, and what to do.
Result<std::string> FindAdminToken(const std::string& data_dir);
// The same, where the relay at `url` is the one that has this data directory: a token is shown to nobody else.
Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir);
// Empty where there is none or it cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Where it is still this one.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// Whether requests from loopback are those of programs on this machine, as WEIR_ADMIN_FROM_LOOPBACK says: only where
// the operator knows that nothing there passes on what others send. A raw forwarder (ssh -R, Tor, stunnel, HAProxy in
// tcp mode) leaves no mark in a request.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;
};
LoopbackTrust TrustInLoopback(AdminFromLoopback setting);
// localhost, or an address of loopback; with or without a port.
bool IsLoopbackName(std::string_view host);

// Whether a request is that of a program on this machine, or of a browser on it, of a page of this very relay: the
// socket comes from loopback and the Host is a name of it. For links and pages; what it may do, an Admin says.
bool IsFromHere(const HttpRequest& request);

// Cookies: that of a browser's sign-in (Admin::SessionFor), and one that says only that this browser is an operator's,
// so that pages for everybody can link to those for operators. Browsers send them to all ports of a host: where it was
// asked for with its port, that is in their names (weir_live_3334).
std::string SessionCookie(const HttpRequest& request);
std::string OperatorCookie(const HttpRequest& request);
// By TLS, to this port or, as it says, to a proxy before it.
bool CameByTls(const HttpRequest& request);

// One of three is enough:
// Token: `Authorization: Bearer <token>`, from anywhere. The relay's is in a file, that of `weir gate` in
// WEIR_ADMIN_TOKEN; answers say which.
// Loopback, where it is trusted: the socket comes from it, the Host is a name of it, and no header is there that a
// proxy or a browser adds.
// NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>` by WEIR_RELAY_ADMIN_PUBKEY, with this method and
// this URL (scheme and host as WEIR_RELAY_URL says, path and query as asked), at most 60 s old and 5 s ahead, each
// once. What was used is forgotten at a restart: so a proof that could have been used before this object was made, one
// dated up to 5 s after that, is refused. Without WEIR_RELAY_URL the Host that was asked for counts, where it is near.
// A `payload` tag is not looked at: the body is a stream, of which nothing is known yet. A signature is verified in the
// turn of who shows it, which pays for it (account/turn_meter.h), and an address with many wrong ones has to wait.
//
// Threads: any.
class Admin {
 public:
  // The relay's, whose token is in a file. An empty token is nobody's. The clock must outlive it.
  Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback);
  // That of `weir gate`, whose token is WEIR_ADMIN_TOKEN; no key is an admin's.
  Admin(std::string token_of_setting, LoopbackTrust loopback);

  // The answer to whoever may not: 401, 403 or 429 with the reason and what to do. 40 µs where there is a key to prove,
  // else nothing much. *by: by what whoever may is known, for the log.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, std::string_view* by = nullptr) const;

  // The same for pages, which a browser asks for: it shows the cookie of its session, or is on this machine, where that
  // is trusted, and the page that asks is this relay's own.
  std::optional<HttpResponse> RefusalOfPage(const HttpRequest& request, std::string_view* by = nullptr) const;
  // What such a cookie holds, for who shows the token; null where it is another one. It ends with the token, or when
  // kSessionLasts is over, and does not tell the token.
  static constexpr std::chrono::hours kSessionLasts{24 * 7};
  std::optional<std::string> SessionFor(std::string_view token) const;
  // All of them: a browser that signs out cannot know who has a copy of its cookie. Where the request shows no session,
  // nothing.
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

  const std::string key_;  // hex; empty: nobody's
  const std::string url_;
  const LoopbackTrust loopback_;
  const std::string token_;  // empty: nobody's
  const bool token_is_set_;  // by WEIR_ADMIN_TOKEN
  const WallClock& clock_;
  const uint64_t start_;
  mutable std::atomic<uint64_t> ended_sessions_{0};  // how often they were ended

  mutable SignInLimit wrong_signatures_;
  mutable std::mutex mutex_;
  mutable std::map<EventId, uint64_t> seen_;  // when
};

}  // namespace weir
