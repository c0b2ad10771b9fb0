#include "relay/gate/cross_site.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace weir {
namespace {

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

bool IsChangeByAnotherSite(const HttpRequest& request) {
  if (request.method != "POST" && request.method != "PUT" && request.method != "DELETE") return false;
  if (EqualInAnyCase(request.Header("sec-fetch-site"), "cross-site")) return true;
  std::string_view origin = request.Header("origin");
  if (origin.empty()) return false;
  // "null" has no scheme, and is nobody's.
  const size_t scheme = origin.find("://");
  return scheme == origin.npos || !EqualInAnyCase(origin.substr(scheme + 3), request.Header("host"));
}

}  // namespace weir
