// Pages of other sites in somebody's browser, which may not spend quotas in his name: a browser sends a simple POST
// wherever a page likes, and only keeps the answer from it.
#pragma once

#include "relay/server/http.h"

namespace weir {

// Whether a request that changes or charges (POST, PUT, DELETE) was made by a page of another site: its Origin is not
// the Host that was asked, or the browser says so (Sec-Fetch-Site). Programs send neither.
bool IsChangeByAnotherSite(const HttpRequest& request);

}  // namespace weir
