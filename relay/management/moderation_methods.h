// The methods of NIP-86 that make and list the decisions of administrators (relay/moderation/moderation.h), and those
// that weir adds: `unbanevent`, `unallowevent`, `listdisallowedkinds`, `listroles`, `listmembers`, `listremovals`,
// `exportmoderation` and `importmoderation`.
//
// A list has at most kMostListed entries, and stops after the entry with which its JSON exceeds kMostListBytes. If
// there are more, the answer has a member `after`, and a call with this text as the parameter returns those behind it.
#pragma once

#include <cstddef>

#include "relay/management/management_methods.h"
#include "relay/moderation/moderation.h"

namespace weir {

inline constexpr size_t kMostListed = 10'000;
inline constexpr size_t kMostListBytes = size_t{4} << 20;

// Adds the methods. `moderation` must outlive `methods`.
void AddModerationMethods(ManagementMethods& methods, Moderation& moderation);

}  // namespace weir
