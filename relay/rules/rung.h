// Rung: a step of the trust ladder (relay/standing/). Rules may ask on which rung the author of an event stands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

// From the lowest. An author that is not known is a stranger.
enum class Rung : uint8_t { kReported, kStranger, kNewcomer, kRegular, kTrusted };
inline constexpr size_t kRungs = 5;
inline constexpr std::array<std::string_view, kRungs> kRungNames = {"reported", "stranger", "newcomer", "regular",
                                                                    "trusted"};
inline std::string_view NameOf(Rung rung) { return kRungNames[static_cast<size_t>(rung)]; }

}  // namespace weir
