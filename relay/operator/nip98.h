// Nip98: checks the proof that a request comes from an administrator of the relay. The proof is a signed event
// (NIP-98).
//
// The client sends `Authorization: Nostr <base64 of an event of kind 27235>`. The event must be signed by the key of an
// administrator, name the method and the URL of the request (scheme and host of the relay's URL, path and query of the
// request), and be dated at most 60 s before and 5 s after the relay's present time. If the relay has no URL, the
// scheme must be http, and the host must be that of the request and near (IsNearby in relay/net/host_names.h).
//
// For ProofUse::kManagement the event may name the URL of the relay instead, and must have a `payload` tag with the
// SHA-256 of the body in hexadecimal. For other uses the tag is ignored, because the body is a stream of any length.
//
// Each event is valid once. At most 4,096 used events are remembered, for 65 s; while 4,096 are remembered, further
// ones are refused. A restart forgets them, so an event that may have been used before this object was made (dated up
// to 5 s after that) is refused. The time to verify a signature is charged to the client that sent it
// (relay/account/turn_meter.h), and an address with many wrong signatures has to wait (relay/admin/sign_in_limit.h).
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/admin/admin.h"
#include "relay/admin/sign_in_limit.h"
#include "relay/nostr/event.h"
#include "relay/operator/admin_keys.h"

namespace weir {

class Nip98 final : public AdminProof {
 public:
  // `keys` are those of the administrators, `url` is the relay's URL; either may be empty. The clock must outlive this
  // object.
  Nip98(std::vector<AdminKey> keys, std::string url, const WallClock& clock = WallClock::System());

  std::string_view scheme() const override { return "Nostr"; }
  std::string_view hint() const override {
    return "a key of WEIR_RELAY_ADMIN_PUBKEY or WEIR_RELAY_ADMINS (NIP-98): Authorization: Nostr <event in base64>";
  }
  bool is_set() const override { return !keys_.empty(); }
  // Takes 40 µs if there is a signature to verify, else very little. The administrator's name is the npub.
  std::variant<Administrator, Refused> Recognise(const HttpRequest& request, std::string_view base64,
                                                 ProofUse use) const override;

 private:
  std::string RefusalOfEvent(const HttpRequest& request, EventView event, uint64_t now, ProofUse use) const;
  std::string RefusalOfUrl(const HttpRequest& request, EventView event, ProofUse use) const;
  std::string RefusalOfUse(const EventId& id, uint64_t now) const;

  const std::vector<AdminKey> keys_;
  const std::string url_;
  const WallClock& clock_;
  const uint64_t start_;  // when this object was made, in seconds since 1970

  mutable SignInLimit wrong_signatures_;
  mutable Mutex mutex_;
  // Used events, with the time of their use in seconds since 1970.
  mutable std::map<EventId, uint64_t> seen_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
