// Who may use the routes that are for administrators: whoever is on this machine, or has the admin's key (NIP-98).
#pragma once

#include <memory>
#include <optional>

#include "config/clock.h"
#include "relay/relay_settings.h"
#include "relay/server/http.h"

namespace weir {

// On this machine: the socket comes from loopback and nothing says that somebody else is behind it (no header of a
// proxy, no Origin or Sec-Fetch-Site of a browser's page, a Host that is near), and WEIR_ADMIN_FROM_LOOPBACK is true.
// NIP-98: `Authorization: Nostr <base64 of an event of kind 27235>` by WEIR_RELAY_ADMIN_PUBKEY, with this method and
// this URL (scheme and host as WEIR_RELAY_URL says, path and query as asked), at most 60 s away from now, each once.
// Without WEIR_RELAY_URL the Host that was asked for counts, where it is near. A `payload` tag is not looked at: the
// body is a stream, of which nothing is known yet.
//
// Threads: any.
class Admin {
 public:
  // The clock must outlive it.
  Admin(const RelaySettings& settings, const WallClock& clock);
  ~Admin();

  // The answer to whoever may not: 401 or 403 with what to do. 40 µs where there is a key to prove, else nothing much.
  std::optional<HttpResponse> Refusal(const HttpRequest& request) const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
