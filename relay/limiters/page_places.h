// Listings in pages: "next":"3-118" of one page becomes ?after=3-118 of the next.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "throttle/by_name/page.h"

namespace weir {

// Reads the query of a listing; an empty one is for the first page. The error says what is wrong.
Result<PagePlace> ReadPagePlace(std::string_view query);
std::string PagePlaceText(const PagePlace& place);

}  // namespace weir
