// StandingSettings: the operator's settings for the trust ladder (standing.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

// kOff: the relay measures no standing. kObserve: it measures standing and shows it, but treats all authors alike.
// kOn: the standing of authors decides whom the relay holds back first.
enum class LadderMode : uint8_t { kOff, kObserve, kOn };

struct StandingSettings {
  LadderMode mode = LadderMode::kObserve;
  std::string trust_from;      // the operator's own list: public keys (npub or hex), separated by commas or white space
  uint64_t authors = 250'000;  // the most authors that are remembered
};
void Declare(SettingTable& table, StandingSettings& settings);
// Returns an error for a key that is none, and for `authors` if it has no effect because the ladder is off; but
// `trust_from` may come from a variable that ORLY needs.
Status Check(const StandingSettings& settings);
// Returns the keys of `trust_from`, sorted and without repeated ones; the settings must have passed Check. If there are
// none, the operator's own list is WEIR_RELAY_ADMIN_PUBKEY, which the caller knows.
std::vector<PublicKey> TrustFrom(const StandingSettings& settings);

}  // namespace weir
