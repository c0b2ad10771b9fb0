// Admin: decides which requests may use the routes for administrators. These are the requests of clients that show the
// token or another proof and, if the operator allows it, the requests of programs on this machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/clock.h"
#include "config/status.h"
#include "relay/admin/admin_rights.h"
#include "relay/admin/loopback_trust.h"
#include "relay/net/http.h"

namespace weir {

// Returns the path of the file with the token, `<data_dir>/admin.token`. The token is a secret of 32 bytes in
// hexadecimal.
std::string AdminTokenPath(const std::string& data_dir);
// Makes a new token and writes it to the file, which only the file's owner can read. Returns the token, or an error if
// it cannot be made or written.
Result<std::string> MakeAdminToken(const std::string& data_dir);
// Returns the token in the file. The error says why there is no token to read and, if it is known, what to do.
Result<std::string> FindAdminToken(const std::string& data_dir);
// Does the same, but returns an error unless the relay that runs on this data directory (according to the lock file in
// it) is at `url`, because the token must not be sent to any other relay.
Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir);
// Returns the token in the file; "" if there is no token or the file cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Deletes the file if the token in it is still `token`.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// SessionCookie and OperatorCookie return the names of two cookies. The first cookie contains the session of a browser
// that has signed in (Admin::SessionFor). The second cookie says only that an operator uses the browser, so that public
// pages can link to pages for operators. Browsers send a cookie to all ports of a host, so the names contain the port
// of the Host header, if it has one (weir_live_3334).
std::string SessionCookie(const HttpRequest& request);
std::string OperatorCookie(const HttpRequest& request);
// Returns true if the request came by TLS to this server, or if its header says that it came by TLS to a proxy in front
// of the server (X-Forwarded-Proto: https). Believes the header from any client.
bool CameByTls(const HttpRequest& request);

// An administrator that makes a request.
struct Administrator {
  std::string_view name;  // for the log: "npub1…" or "the token"; valid as long as the Admin
  AdminRights rights = AdminRights::All();
  // If ProofUse::kManagement was asked for and the proof is an AdminProof: the SHA-256 of the request's body, in
  // hexadecimal, as the administrator has signed it. The caller must compare it with the body. Else empty.
  std::string payload;
};

// The use of a proof. kManagement: the request is a call of NIP-86, whose body decides what it does. Its proof must
// name the SHA-256 of the body, and may name the URL of the relay instead of the request's.
enum class ProofUse : uint8_t { kRoute, kManagement };

// A proof of another kind than the token, such as a signature (relay/operator/nip98.h). The client sends it as
// `Authorization: <scheme> <proof>`. Any thread may call any function.
class AdminProof {
 public:
  virtual ~AdminProof() = default;

  virtual std::string_view scheme() const = 0;  // "Nostr"
  virtual std::string_view hint() const = 0;    // for refusals: which proof it is, and how to send it
  virtual bool is_set() const = 0;              // false if no proof can be good, because no key is configured

  struct Refused {
    int status = 401;
    std::string why;
    std::optional<Duration> wait;  // how long the client has to wait before its next try
  };
  // Returns the administrator if the proof is good. The name is valid as long as this object.
  virtual std::variant<Administrator, Refused> Recognise(const HttpRequest& request, std::string_view proof,
                                                         ProofUse use) const = 0;
};

// The line of a refusal (Admin::Refusal) after the reason. The lines below it list the ways to be an administrator.
inline constexpr std::string_view kWaysToBeAdmin = "Any of these will do:";

// Knows three kinds of proof. A request needs one of them:
// * Token: `Authorization: Bearer <token>`, from any address. The token of a relay is in a file, that of `weir gate` is
// WEIR_ADMIN_TOKEN; a refusal says which one is needed.
// * Loopback, if LoopbackTrust::trusted is true: the request comes from a loopback address, IsLoopbackName is true for
// its Host, and it has no header that a proxy or a page in a browser adds.
// * The AdminProof, if there is one. Its administrator may have fewer rights than all.
//
// Threads: any thread may call any function.
class Admin {
 public:
  // Makes an Admin for the relay, whose token is in a file. If `token` is empty, it accepts no token. `proof` may be
  // null. The clock must outlive this object.
  Admin(std::string token, LoopbackTrust loopback, std::unique_ptr<AdminProof> proof,
        const WallClock& clock = WallClock::System());
  // Makes an Admin for `weir gate`, whose token is WEIR_ADMIN_TOKEN. It accepts no AdminProof.
  Admin(std::string token_of_setting, LoopbackTrust loopback);

  // Returns the administrator that makes the request, or the response that refuses it: 401, 403 or 429, with the reason
  // and what to do. Uses up the request's AdminProof, so call it once for each request. The token, a session and a
  // request from this machine have all rights.
  using Recognised = std::variant<Administrator, HttpResponse>;
  Recognised Recognise(const HttpRequest& request, ProofUse use = ProofUse::kRoute) const;
  // Does the same for pages, which browsers request. Also recognises the cookie of a valid session and, if loopback is
  // trusted, a request of a page of this relay in a browser on this machine (IsFromHere).
  Recognised RecognisePage(const HttpRequest& request, ProofUse use = ProofUse::kRoute) const;
  // Does the same, but recognises only an AdminProof.
  Recognised RecogniseProof(const HttpRequest& request, ProofUse use) const;

  // These two return nullopt if Recognise or RecognisePage returns an administrator who has the right that the route
  // needs, else the response that refuses the request. If `by` is not null, an administrator's name is written to it.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, AdminRight needed,
                                      std::string_view* by = nullptr) const;
  std::optional<HttpResponse> RefusalOfPage(const HttpRequest& request, AdminRight needed,
                                            std::string_view* by = nullptr) const;
  // Returns the response to an administrator who lacks the right: 403.
  static HttpResponse RefusalOfRight(const Administrator& administrator, AdminRight needed);

  // Returns the value of a cookie for a new session if `token` is the right one, else nullopt. The session ends after
  // kSessionLasts, when the token changes, or by EndSessions. The cookie does not reveal the token.
  static constexpr std::chrono::hours kSessionLasts{24 * 7};
  std::optional<std::string> SessionFor(std::string_view token) const;
  // Ends all sessions of all browsers, because another browser may have a copy of this one's cookie. Does nothing if
  // the request has no valid session.
  void EndSessions(const HttpRequest& request) const;

 private:
  bool IsToken(std::string_view offered) const;
  bool IsSession(std::string_view session) const;
  std::string SessionUntil(uint64_t end) const;
  Recognised RecogniseToken(std::string_view offered) const;
  Recognised RecogniseProof(const HttpRequest& request, std::string_view offered, ProofUse use) const;
  std::string TokenHint() const;
  HttpResponse Answer(int status, const std::string& why) const;

  const LoopbackTrust loopback_;
  const std::string token_;                  // empty: no token is accepted
  const bool token_is_set_;                  // true if the token is WEIR_ADMIN_TOKEN
  const std::unique_ptr<AdminProof> proof_;  // null if there is none
  const WallClock& clock_;
  mutable std::atomic<uint64_t> ended_sessions_{0};  // number of times that EndSessions ended the sessions
};

}  // namespace weir
