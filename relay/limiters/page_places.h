// Listings in pages: "next":"3-118" of one page is ?after=3-118 of the following.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "throttle/by_name/page.h"

namespace weir {

// The query of a listing; without one the first page. The error says what is wrong.
Result<PagePlace> ReadPagePlace(std::string_view query);
std::string PagePlaceText(const PagePlace& place);

}  // namespace weir
