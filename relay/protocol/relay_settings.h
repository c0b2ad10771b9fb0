// Settings of the relay itself; the network's settings are in server/, the store's in store/.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/messages.h"

namespace weir {

// Whether programs on this machine count as the admin (admin.h). kAuto was the default of earlier versions and means
// kFalse.
enum class AdminFromLoopback { kFalse, kTrue, kAuto };
void Declare(SettingTable& table, AdminFromLoopback& trust);

struct RelaySettings {
  // The relay's identity, for NIP-11 and the page that a browser sees.
  std::string name = "weir";
  std::string description = "a Nostr relay that stays responsive under load";
  std::string contact;
  std::string admin_pubkey;  // hex
  AdminFromLoopback admin_from_loopback = AdminFromLoopback::kFalse;
  std::string icon;
  std::string url;  // wss://relay.example, as clients know it; AUTH by a public name and requests to vanish need it

  // Rules for what the relay accepts and serves.
  uint64_t max_event_bytes = 128 << 10;
  uint64_t max_event_tags = 2000;
  uint64_t max_content_bytes = 128 << 10;
  uint64_t created_at_past_s = 0;      // older events are refused; 0: any age
  uint64_t created_at_future_s = 900;  // events dated further ahead are refused
  uint64_t min_pow_difficulty = 0;     // leading zero bits (NIP-13)
  bool auth_required = false;          // no event is accepted or served without AUTH (NIP-42)
  bool auth = true;                    // kinds 4, 1059, 21059 are served only to their parties, after AUTH
  bool eose_completeness = false;      // EOSE says whether all was sent (NIP-67)

  // Limits of a connection.
  uint64_t max_events_in_flight = 64;  // between frame and OK
  uint64_t max_subscriptions = 300;
  uint64_t max_filters = 200;
  uint64_t max_filter_values = 5000;
  uint64_t max_subscription_id_bytes = 64;
  uint64_t default_limit = 500;
  uint64_t max_limit = 5000;

  uint64_t worker_threads = 0;           // 0: one for each core
  uint64_t max_bytes_in_flight_mb = 32;  // events between frame and OK, over all connections
};
void Declare(SettingTable& table, RelaySettings& settings);

EventLimits EventLimitsOf(const RelaySettings& settings);
MessageLimits MessageLimitsOf(const RelaySettings& settings);

}  // namespace weir
