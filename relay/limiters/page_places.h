// Converts the place where a page of a listing begins (PagePlace) to text and back. If a page contains "next":"3-118",
// a client gets the page after it by sending ?after=3-118.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"
#include "throttle/limits/by_name/page.h"

namespace weir {

// Reads the query of a listing's URL, whose only parameter is `after`. Returns the place that `after` states; for an
// empty query, the place of the first page. Returns an error if the query is wrong.
Result<PagePlace> ReadPagePlace(std::string_view query);
// Returns the text of a place, for example "3-118".
std::string PagePlaceText(const PagePlace& place);

}  // namespace weir
