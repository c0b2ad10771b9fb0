// SearchedKinds: the kinds of events whose content is searched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

inline constexpr size_t kMostSearchedKinds = 64;

// Reads a list such as "1,30023". Returns it sorted, each kind once; an empty list switches search off. An error says
// what is wrong, without the name of the setting. Private and ephemeral kinds cannot be searched.
Result<std::vector<uint16_t>> ParseSearchedKinds(std::string_view text);
// Adds kinds to a list, which becomes sorted, each kind once.
void AddSorted(const std::vector<uint16_t>& more, std::vector<uint16_t>* kinds);
// Returns the list as text, with commas.
std::string ToText(const std::vector<uint16_t>& kinds);

}  // namespace weir
