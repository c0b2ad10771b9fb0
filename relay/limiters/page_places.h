// The places between the pages of a listing, as texts: a client sends the "next":"3-118" of one page as ?after=3-118 to
// get the next page.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "throttle/by_name/page.h"

namespace weir {

// Reads the query of a listing, whose only parameter is `after`. An empty query means the first page. The error says
// what is wrong with the query.
Result<PagePlace> ReadPagePlace(std::string_view query);
// Returns the text of a place: "3-118".
std::string PagePlaceText(const PagePlace& place);

}  // namespace weir
