#include "relay/operator/other_site.h"

#include <boost/beast/core/string.hpp>
#include <string_view>

namespace weir {

bool IsChangeByAnotherSite(const HttpRequest& request) {
  return (request.method == "POST" || request.method == "PUT" || request.method == "DELETE") &&
         IsByAnotherSite(request);
}

bool IsByAnotherSite(const HttpRequest& request) {
  const std::string_view site = request.Header("sec-fetch-site");
  if (boost::beast::iequals(site, "same-origin")) return false;
  if (boost::beast::iequals(site, "cross-site")) return true;
  const std::string_view origin = request.Header("origin");
  if (origin.empty()) return false;
  // "null" has no scheme, and is nobody's.
  const size_t scheme = origin.find("://");
  return scheme == origin.npos || !boost::beast::iequals(origin.substr(scheme + 3), request.Header("host"));
}

}  // namespace weir
