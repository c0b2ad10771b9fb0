// Recognises requests that a page of another web site makes through the browser of a user who has opened that page.
#pragma once

#include <string_view>

#include "relay/net/http.h"

namespace weir {

// Returns true if the request is a POST, PUT or DELETE, which may change something, and comes from a page of another
// site. A browser sends a page's POST in a simple form (one without a CORS preflight) to any host, and only hides the
// answer from the page. But the browser adds the header Sec-Fetch-Site, or an Origin that differs from the Host of the
// request. If Sec-Fetch-Site is same-origin or cross-site, it takes precedence, because a proxy may have changed the
// Host. Programs other than browsers usually send neither header; the result is then false.
bool IsChangeByAnotherSite(const HttpRequest& request);
// Does the same for a request of any method; for routes where a GET changes something. It cannot recognise every GET of
// another site: with a simple GET a browser sends no Origin, and it sends Sec-Fetch-Site only over https or to the
// machine on which it runs.
bool IsByAnotherSite(const HttpRequest& request);

// Returns the response to a request that a page of another site made: 403 with the text kOfAnotherSite.
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this through a user's browser";
HttpResponse RefusalOfAnotherSite();

// Returns true if the host and port in a URL or an Origin equal the Host of the request. Returns false for the Origin
// "null".
bool IsOfHostAsked(const HttpRequest& request, std::string_view url);

}  // namespace weir
