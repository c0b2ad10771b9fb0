// Tells whether a page of another site, in a user's browser, makes a request.
#pragma once

#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Returns true if such a page makes a request that changes or charges (POST, PUT, DELETE): the browser says so
// (Sec-Fetch-Site), or its Origin is not the Host that was asked. Sec-Fetch-Site counts first, because a proxy may have
// changed the Host. A browser sends a simple POST wherever a page likes, and only keeps the answer from it. Programs
// send neither field.
bool IsChangeByAnotherSite(const HttpRequest& request);
// The same for any request, for routes where a GET changes something too. A simple GET may not be recognised: a browser
// sends no Origin with it, and Sec-Fetch-Site only to https and to this machine.
bool IsByAnotherSite(const HttpRequest& request);

// The answer to such a page.
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this in somebody's browser";
HttpResponse RefusalOfAnotherSite();

// Returns true if a URL or an Origin names the Host that was asked for. "null" names none.
bool IsOfHostAsked(const HttpRequest& request, std::string_view url);

}  // namespace weir
