// Whether a page of another site, in somebody's browser, makes a request.
#pragma once

#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Whether such a page makes a request that changes or charges (POST, PUT, DELETE): its Origin is not the Host that was
// asked, or the browser says so (Sec-Fetch-Site), whose word comes first: a proxy may have changed the Host. A browser
// sends a simple POST wherever a page likes, and only keeps the answer from it. Programs send neither field.
bool IsChangeByAnotherSite(const HttpRequest& request);
// The same of any request, for what a GET changes too. A browser that says nothing about itself is not found out: it
// sends no Origin with a simple GET, and Sec-Fetch-Site to https and to this machine alone.
bool IsByAnotherSite(const HttpRequest& request);

// The answer to such a page.
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this in somebody's browser";
HttpResponse RefusalOfAnotherSite();

// Whether a URL, an Origin too, is of the Host that was asked for. "null" is of none.
bool IsOfHostAsked(const HttpRequest& request, std::string_view url);

}  // namespace weir
