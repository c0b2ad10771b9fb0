// The public keys of a relay's administrators, and what each may do: WEIR_RELAY_ADMIN_PUBKEY and WEIR_RELAY_ADMINS.
#pragma once

#include <string>
#include <vector>

#include "config/status.h"
#include "relay/admin/admin_rights.h"
#include "relay/protocol/relay_settings.h"

namespace weir {

struct AdminKey {
  std::string hex;
  std::string npub;
  AdminRights rights;
};

// Returns the keys of the settings: first those of WEIR_RELAY_ADMIN_PUBKEY, which have all rights, in their order. Both
// settings are lists with commas, of an npub or 64 hex digits each; WEIR_RELAY_ADMINS has a colon and the rights
// (AdminRights::Parse) behind each key. Returns an error that names the setting and the entry if one is wrong, or if a
// key has two entries.
Result<std::vector<AdminKey>> AdminKeysOf(const RelaySettings& settings);

}  // namespace weir
