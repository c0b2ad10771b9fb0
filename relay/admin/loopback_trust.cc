#include "relay/admin/loopback_trust.h"

#include <algorithm>
#include <array>

#include "config/text/parse.h"
#include "relay/admin/other_site.h"
#include "relay/net/host_names.h"

namespace weir {
namespace {

// Headers that show that a request was made by a browser's page, or passed on by a proxy. A name that ends with a
// hyphen stands for all names that begin with it.
constexpr std::array<std::string_view, 15> kOfSomebodyElse = {
    "origin",         "referer",     "sec-fetch-", "forwarded",   "via",
    "x-forwarded-",   "x-original-", "x-real-ip",  "x-client-ip", "x-cluster-client-ip",
    "true-client-ip", "cf-",         "cdn-loop",   "x-envoy-",    "fastly-client-ip"};

bool IsOfSomebodyElse(std::string_view header) {
  return std::ranges::any_of(kOfSomebodyElse, [header](std::string_view name) {
    return name.ends_with('-') ? header.starts_with(name) : header == name;
  });
}

// Returns true for a header that a browser adds while it shows a page of this relay, or when its user entered the
// address.
bool IsOfOwnPage(const HttpRequest& request, std::string_view header, std::string_view value) {
  if (header == "sec-fetch-site") return value == "same-origin" || value == "none";
  if (header == "origin" || header == "referer") return IsOfHostAsked(request, value);
  return header.starts_with("sec-fetch-");
}

// Returns the reason why the request does not count as one from this machine; empty if it counts. With `or_own_page`, a
// request of a page of this relay counts, too.
std::string WhyNotFrom(const HttpRequest& request, bool or_own_page) {
  for (const std::string& address : {request.peer, request.address})
    if (!IsLoopback(address))
      return "it comes from " + (address.empty() ? "an unknown address" : address) + ", which is not this machine";
  for (const auto& [name, value] : request.headers)
    if (IsOfSomebodyElse(name) && !(or_own_page && IsOfOwnPage(request, name, value)))
      return "its header " + Printable(name) + " shows that it comes from a web page or through a proxy";
  const std::string_view host = request.Header("host");
  if (host.empty()) return "it has no Host header";
  if (!IsLoopbackName(host)) return "its Host is " + Printable(host) + ", which is not a name of loopback";
  return "";
}

}  // namespace

void Declare(SettingTable& table, AdminFromLoopback& trust) {
  table.Add<AdminFromLoopback>(
      "ADMIN_FROM_LOOPBACK", &trust,
      {{"false", AdminFromLoopback::kFalse}, {"true", AdminFromLoopback::kTrue}, {"auto", AdminFromLoopback::kAuto}},
      "whether requests from this machine may import, export and administer quotas without token or key. Use true only "
      "if no proxy, tunnel or forwarder on this machine passes on requests of others; auto, of earlier versions, means "
      "false");
}

LoopbackTrust TrustInLoopback(AdminFromLoopback setting) {
  switch (setting) {
    case AdminFromLoopback::kTrue:
      return {true, "WEIR_ADMIN_FROM_LOOPBACK=true"};
    case AdminFromLoopback::kAuto:
      return {false, "WEIR_ADMIN_FROM_LOOPBACK=auto means false: a forwarder cannot be told from a program here"};
    default:
      return {false, "WEIR_ADMIN_FROM_LOOPBACK=false"};
  }
}

bool IsFromHere(const HttpRequest& request) { return WhyNotFrom(request, true).empty(); }

std::string WhyNotFromHere(const HttpRequest& request) { return WhyNotFrom(request, false); }

}  // namespace weir
