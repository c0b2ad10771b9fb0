// RelaySettings: the settings for the relay's identity, rules and limits. The settings of the network are in
// relay/net/server_settings.h, and those of the store are in relay/store/storage/storage.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "config/settings.h"
#include "relay/admin/loopback_trust.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/messages.h"

namespace weir {

struct RelaySettings {
  // The relay's identity, for NIP-11 and the page that a browser sees.
  std::string name = "weir";
  std::string description = "a Nostr relay that stays responsive under load";
  std::string contact;
  // The public keys of administrators with all rights, and those of other administrators with their rights
  // (relay/operator/admin_keys.h). Once they are loaded, the first list is in hexadecimal, without blanks.
  std::string admin_pubkey;
  std::string admins;
  AdminFromLoopback admin_from_loopback = AdminFromLoopback::kFalse;
  std::string icon;  // URL of a square picture
  std::string url;   // the public URL, wss://relay.example; requests to vanish and AUTH under a public name need it

  // Rules for the events that the relay accepts and serves.
  uint64_t max_event_bytes = 128 << 10;
  uint64_t max_event_tags = 2000;
  uint64_t max_content_bytes = 128 << 10;
  uint64_t created_at_past_s = 0;      // the largest age of an event, in seconds; 0: any age
  uint64_t created_at_future_s = 900;  // the most seconds by which an event's date may lie in the future
  uint64_t min_pow_difficulty = 0;     // leading zero bits that an id must have (NIP-13)
  bool auth_required = false;          // true if no event is accepted or served without AUTH (NIP-42)
  bool auth = true;                    // true if kinds 4, 1059 and 21059 are served only to their parties, after AUTH
  std::string search_kinds;            // kinds whose content is searched (NIP-50), with commas; empty: search is off
  bool eose_completeness = false;      // true if EOSE says whether all matching events were sent (NIP-67)

  // Limits of a connection.
  uint64_t max_events_in_flight = 64;       // events that the relay has not answered yet
  uint64_t max_subscriptions = 300;         // open REQs and COUNTs
  uint64_t max_filters = 200;               // filters of one REQ or COUNT
  uint64_t max_filter_values = 5000;        // values in all lists of one filter together
  uint64_t max_subscription_id_bytes = 64;  // length of a subscription's id
  uint64_t default_limit = 500;             // the most stored events for a filter without a limit
  uint64_t max_limit = 5000;                // the most stored events for a filter, whatever its limit
  uint64_t max_sync_events = 750'000;       // the most events of a NEG-OPEN (NIP-77); 0: NEG-OPEN is refused

  uint64_t worker_threads = 0;           // 0: one for each core, or for each connection to PostgreSQL if these are more
  uint64_t max_bytes_in_flight_mb = 32;  // MiB of events in flight, of all connections (byte_budget.h)
};
// Adds the settings to `table`, which writes their values to `settings`.
void Declare(SettingTable& table, RelaySettings& settings);

EventLimits EventLimitsOf(const RelaySettings& settings);
MessageLimits MessageLimitsOf(const RelaySettings& settings);

}  // namespace weir
