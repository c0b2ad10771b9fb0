// AdminRights: the actions that an administrator may take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

enum class AdminRight : uint8_t {
  kRead,      // see /live, and read lists, reports and decisions
  kModerate,  // decide about authors, events and addresses
  kSettings,  // change the relay's texts, kinds and roles, and the settings that /live can change
  kAll,       // everything, including import, export and the limiters' routes for administrators
};
inline constexpr std::array<std::string_view, 4> kAdminRightNames = {"read", "moderate", "settings", "all"};
inline std::string_view NameOf(AdminRight right) { return kAdminRightNames[static_cast<size_t>(right)]; }

// A set of rights. Each right includes kRead, and kAll includes every right.
class AdminRights {
 public:
  AdminRights() = default;  // none
  static AdminRights All();
  // Returns the rights of `words`, which are names of kAdminRightNames with a + between them: "moderate+settings". The
  // error completes a sentence that begins with the words.
  static Result<AdminRights> Parse(std::string_view words);

  bool Has(AdminRight right) const { return (bits_ & Bit(right)) != 0; }
  void Add(AdminRight right);

 private:
  static constexpr uint8_t Bit(AdminRight right) { return static_cast<uint8_t>(1U << static_cast<unsigned>(right)); }

  uint8_t bits_ = 0;
};

}  // namespace weir
