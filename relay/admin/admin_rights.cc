#include "relay/admin/admin_rights.h"

#include <algorithm>

#include "config/text/parse.h"

namespace weir {

AdminRights AdminRights::All() {
  AdminRights all;
  all.Add(AdminRight::kAll);
  return all;
}

void AdminRights::Add(AdminRight right) {
  constexpr uint8_t kEveryBit = (1U << kAdminRightNames.size()) - 1;
  bits_ |= right == AdminRight::kAll ? kEveryBit : Bit(right) | Bit(AdminRight::kRead);
}

Result<AdminRights> AdminRights::Parse(std::string_view words) {
  AdminRights rights;
  for (size_t end = 0; end != words.npos; words.remove_prefix(std::min(end + 1, words.size()))) {
    end = words.find('+');
    const auto* const name = std::ranges::find(kAdminRightNames, TrimBlanks(words.substr(0, end)));
    if (name == kAdminRightNames.end())
      return Status::Error("is not a right: write read, moderate, settings or all, or several with + between them");
    rights.Add(static_cast<AdminRight>(name - kAdminRightNames.begin()));
  }
  return rights;
}

}  // namespace weir
