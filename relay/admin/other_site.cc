#include "relay/admin/other_site.h"

#include <boost/beast/core/string.hpp>
#include <string_view>

#include "relay/net/http_error.h"

namespace weir {

bool IsOfHostAsked(const HttpRequest& request, std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == url.npos) return false;
  url.remove_prefix(scheme + 3);
  return boost::beast::iequals(url.substr(0, url.find('/')), request.Header("host"));
}

bool IsChangeByAnotherSite(const HttpRequest& request) {
  return (request.method == "POST" || request.method == "PUT" || request.method == "DELETE") &&
         IsByAnotherSite(request);
}

bool IsByAnotherSite(const HttpRequest& request) {
  const std::string_view site = request.Header("sec-fetch-site");
  if (boost::beast::iequals(site, "same-origin")) return false;
  if (boost::beast::iequals(site, "cross-site")) return true;
  const std::string_view origin = request.Header("origin");
  return !origin.empty() && !IsOfHostAsked(request, origin);
}

HttpResponse RefusalOfAnotherSite() { return ErrorResponse(403, "forbidden", kOfAnotherSite); }

}  // namespace weir
