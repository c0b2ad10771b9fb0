#include "config/text/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "config/text/parse.h"
#include "config/text/percent.h"

namespace weir {
namespace {

Result<std::string> Decode(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  std::optional<std::string> decoded = DecodePercent(spaced, true);
  if (decoded) return *std::move(decoded);
  return Status::Error("the query is not well-formed: % without two hexadecimal digits in " + Printable(text));
}

}  // namespace

std::optional<UrlParts> SplitUrl(std::string_view url, std::string_view ends) {
  const size_t scheme = url.find("://");
  if (scheme == url.npos) return std::nullopt;
  UrlParts parts{.scheme = url.substr(0, scheme)};
  url.remove_prefix(scheme + 3);
  parts.servers = url.substr(0, url.find_first_of(ends));
  parts.path = url.substr(parts.servers.size());
  if (const size_t at = parts.servers.rfind('@'); at != url.npos) {
    parts.user = parts.servers.substr(0, at);
    parts.servers.remove_prefix(at + 1);
  }
  return parts;
}

std::optional<UrlServer> SplitServer(std::string_view text) {
  UrlServer server;
  if (text.starts_with('[')) {
    const size_t bracket = text.find(']');
    if (bracket == text.npos) return std::nullopt;
    server.host = text.substr(1, bracket - 1);
    if (server.host.find_first_not_of("0123456789abcdefABCDEF:.%") != text.npos) return std::nullopt;
    text.remove_prefix(bracket + 1);
    if (!text.empty() && !text.starts_with(':')) return std::nullopt;
  } else {
    server.host = text.substr(0, text.find(':'));
    text.remove_prefix(server.host.size());
  }
  if (text.rfind(':') != 0 && !text.empty()) return std::nullopt;
  if (!text.empty()) server.port = text.substr(1);
  return server;
}

std::optional<QueryParameter> TakeParameter(std::string_view* query) {
  query->remove_prefix(std::min(query->find_first_not_of('&'), query->size()));
  if (query->empty()) return std::nullopt;
  const std::string_view one = query->substr(0, query->find('&'));
  query->remove_prefix(one.size());
  const size_t equals = one.find('=');
  if (equals == one.npos) return QueryParameter{.name = one, .value = std::nullopt};
  return QueryParameter{.name = one.substr(0, equals), .value = one.substr(equals + 1)};
}

Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (const auto parameter = TakeParameter(&query)) {
    Result<std::string> name = Decode(parameter->name);
    if (!name.ok()) return name.status();
    Result<std::string> value = Decode(parameter->value.value_or(""));
    if (!value.ok()) return value.status();
    parameters.emplace_back(std::move(name).value(), std::move(value).value());
  }
  return parameters;
}

std::string UrlHost(std::string_view host) {
  const std::string text(host);
  return host.find(':') == host.npos ? text : "[" + text + "]";
}

std::string ServerUrl::Origin() const {
  const std::string usual = tls ? "443" : "80";
  return (tls ? "https://" : "http://") + UrlHost(host) + (port == usual ? "" : ":" + port);
}

bool ServerUrl::is_loopback() const {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

Result<ServerUrl> ParseServerUrl(std::string_view url) {
  const Status bad = Status::Error("not like http://127.0.0.1:3335 or https://host/path");
  const auto is_strange = [](char c) { return c <= ' ' || c == 0x7f || c == '?' || c == '#' || c == '@' || c == '\\'; };
  const std::optional<UrlParts> parts = SplitUrl(url);
  if (!parts || (parts->scheme != "http" && parts->scheme != "https") || std::ranges::any_of(url, is_strange))
    return bad;
  const std::optional<UrlServer> at = SplitServer(parts->servers);
  if (!at || at->host.empty()) return bad;
  ServerUrl server{.tls = parts->scheme == "https", .host = std::string(at->host), .path = std::string(parts->path)};
  server.port = at->port.value_or(server.tls ? "443" : "80");
  if (!ParseUnsigned(server.port, {.min = 1, .max = 65535}).ok()) return bad;
  while (server.path.ends_with('/')) server.path.pop_back();
  return server;
}

}  // namespace weir
