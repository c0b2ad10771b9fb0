// Tells whether a page of another web site makes a request, through the browser of a user who is looking at that page.
#pragma once

#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Returns true if the request is a POST, PUT or DELETE, which may change something, and comes from a page of another
// site. A browser sends a simple POST to any host that a page names, and only hides the answer from the page. The
// browser marks the request by Sec-Fetch-Site, or by an Origin that is not the Host of the request. Sec-Fetch-Site
// takes precedence, because a proxy may have changed the Host. Programs other than browsers send neither field; the
// result is then false.
bool IsChangeByAnotherSite(const HttpRequest& request);
// Returns the same for a request of any method, for routes where a GET changes something, too. It does not recognise
// every such GET: a browser sends no Origin with a simple GET, and Sec-Fetch-Site only to https and to this machine.
bool IsByAnotherSite(const HttpRequest& request);

// Returns the answer to a request of such a page: 403.
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this through a user's browser";
HttpResponse RefusalOfAnotherSite();

// Returns true if the host and port in a URL or an Origin are the Host of the request. False for the Origin "null".
bool IsOfHostAsked(const HttpRequest& request, std::string_view url);

}  // namespace weir
