// Who may use the routes that are for administrators: whoever can read this relay's files, is on this machine, or has
// the admin's key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "relay/relay_settings.h"
#include "relay/server/http.h"

namespace weir {

// A secret of 32 bytes in hex, in `<data_dir>/admin.token`, which its owner alone can read; anew with each call.
std::string AdminTokenPath(const std::string& data_dir);
Result<std::string> MakeAdminToken(const std::string& data_dir);
// Empty where there is none or it cannot be read.
std::string ReadAdminToken(const std::string& data_dir);
// Where it is still this one.
void RemoveAdminToken(const std::string& data_dir, std::string_view token);

// Whether requests from loopback are those of programs on this machine, as WEIR_ADMIN_FROM_LOOPBACK says. `auto`: not
// where a proxy is likely, which sends the requests of others from there: WEIR_RELAY_URL is a public name, or
// WEIR_TRUSTED_PROXIES is set.
struct LoopbackTrust {
  bool trusted = false;
  std::string why;
};
LoopbackTrust TrustInLoopback(const RelaySettings& settings, std::string_view trusted_proxies);
// localhost, or an address of loopback; with or without a port.
bool IsLoopbackName(std::string_view host);

// One of three is enough:
// Token: `Authorization: Bearer <token>`, from anywhere. The relay's is in a file, that of `weir gate` in
// WEIR_ADMIN_TOKEN; answers say which.
// Loopback, where it is trusted: the socket comes from it, the Host is a name of it, and no header is there that a
// proxy or a browser adds. That proxies exist that add none is why `auto` looks at the settings.
// NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>` by WEIR_RELAY_ADMIN_PUBKEY, with this method and
// this URL (scheme and host as WEIR_RELAY_URL says, path and query as asked), at most 60 s away from now, each once.
// What was used is forgotten at a restart: events dated before this object was made are refused. Without WEIR_RELAY_URL
// the Host that was asked for counts, where it is near. A `payload` tag is not looked at: the body is a stream, of
// which nothing is known yet.
//
// Threads: any.
class Admin {
 public:
  enum class TokenFrom : uint8_t { kFile, kSetting };

  // An empty token is nobody's. The clock must outlive it.
  Admin(const RelaySettings& settings, const WallClock& clock, std::string token, LoopbackTrust loopback,
        TokenFrom token_from = TokenFrom::kFile);
  ~Admin();

  // The answer to whoever may not: 401 or 403 with the reason and what to do. 40 µs where there is a key to prove, else
  // nothing much.
  std::optional<HttpResponse> Refusal(const HttpRequest& request) const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
