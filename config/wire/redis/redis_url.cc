#include "config/wire/redis/redis_url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/text/url.h"

namespace weir {

namespace {

using Kind = RedisEndpoint::Kind;

constexpr uint16_t kRedisPort = 6379;
constexpr uint16_t kSentinelPort = 26379;
constexpr int kMostDatabase = 65535;

struct Scheme {
  std::string_view name;
  Kind kind;
  bool tls;
  std::string_view form;
};
constexpr std::array<Scheme, 6> kSchemes = {{
    {"redis", Kind::kStandalone, false, "redis://[USER:PASSWORD@]HOST:PORT[/DB]"},
    {"rediss", Kind::kStandalone, true, "rediss://[USER:PASSWORD@]HOST:PORT[/DB]"},
    {"redis-sentinel", Kind::kSentinel, false, "redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]/MASTER[/DB]"},
    {"rediss-sentinel", Kind::kSentinel, true,
     "rediss-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]/MASTER[/DB]"},
    {"redis-cluster", Kind::kCluster, false, "redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]"},
    {"rediss-cluster", Kind::kCluster, true, "rediss-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]"},
}};

std::string_view CutBefore(std::string_view* text, char end) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view part = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return part;
}

// Parses USER:PASSWORD or :PASSWORD.
Status ParseUser(std::string_view text, RedisEndpoint* endpoint) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return Status::Error("before the '@' there is no password: write USER:PASSWORD@, or :PASSWORD@ without a user");
  }
  std::optional<std::string> user = DecodePercent(text.substr(0, colon), true);
  std::optional<std::string> password = DecodePercent(text.substr(colon + 1), true);
  if (!user || !password) {
    return Status::Error("in the user or the password a '%' is not followed by two hexadecimal digits: write it %25");
  }
  endpoint->user = *std::move(user);
  endpoint->password = *std::move(password);
  return {};
}

// The error does not contain the wrong text, which may be the password if the '@' was forgotten.
Status ParseAddress(std::string_view text, RedisAddress* address) {
  static constexpr std::string_view kInHosts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
  const std::optional<UrlServer> server = SplitServer(text);
  const bool bad_name = !text.starts_with('[') && server && server->host.find_first_not_of(kInHosts) != text.npos;
  if (!server || bad_name) return Status::Error("it is not HOST:PORT (an IPv6 address stands in brackets)");
  if (server->host.empty()) return Status::Error("a host is missing");
  address->host = server->host;
  if (!server->port) return {};
  const Result<int64_t> port = ParseInteger(*server->port, {.min = 1, .max = 65535});
  if (!port.ok()) return Status::Error("the port is " + port.status().message());
  address->port = static_cast<uint16_t>(port.value());
  return {};
}

Status ParseAddresses(std::string_view text, RedisEndpoint* endpoint) {
  if (text.ends_with(',')) return Status::Error("a host is missing after the last ','");
  do {
    RedisAddress address{.port = endpoint->kind == Kind::kSentinel ? kSentinelPort : kRedisPort};
    if (Status status = ParseAddress(CutBefore(&text, ','), &address); !status.ok()) {
      return Status::Error("server " + std::to_string(endpoint->addresses.size() + 1) + ": " + status.message());
    }
    endpoint->addresses.push_back(std::move(address));
  } while (!text.empty());
  return {};
}

// Parses MASTER, DB, MASTER/DB or nothing, according to the kind.
Status ParsePath(std::string_view path, RedisEndpoint* endpoint) {
  if (path.find('@') != std::string_view::npos) {
    return Status::Error("after the '/' there is an '@': write a '/' in the user or the password %2F");
  }
  path.remove_prefix(std::min<size_t>(path.size(), 1));
  if (endpoint->kind == Kind::kSentinel) {
    std::optional<std::string> master = DecodePercent(CutBefore(&path, '/'), true);
    if (!master || master->empty()) return Status::Error("the name of the master is missing after the sentinels");
    endpoint->master = *std::move(master);
  }
  if (path.empty()) return {};
  if (endpoint->kind == Kind::kCluster) {
    return Status::Error("a cluster has no numbered databases: leave what is after the '/' out");
  }
  const Result<int64_t> database = ParseInteger(path, {.min = 0, .max = kMostDatabase});
  if (!database.ok()) return Status::Error("the database is " + database.status().message());
  endpoint->database = static_cast<int>(database.value());
  return {};
}

Status ParseParts(const UrlParts& url, RedisEndpoint* endpoint) {
  if (url.user) {
    if (Status status = ParseUser(*url.user, endpoint); !status.ok()) return status;
  } else if (url.path.find('@') != std::string_view::npos) {
    return ParsePath(url.path, endpoint);  // first, because ParseAddresses might show a part of the password as a port
  }
  if (Status status = ParseAddresses(url.servers, endpoint); !status.ok()) return status;
  return ParsePath(url.path, endpoint);
}

}  // namespace

Result<RedisEndpoint> ParseRedisUrl(std::string_view url) {
  const std::optional<UrlParts> parts = SplitUrl(url, "/");  // a password may contain a '?'
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    known.append(known.empty() ? "" : ", ").append(scheme.name).append("://");
    if (!parts || parts->scheme != scheme.name) continue;
    RedisEndpoint endpoint{.kind = scheme.kind, .tls = scheme.tls};
    const Status status = ParseParts(*parts, &endpoint);
    if (!status.ok()) {
      return Status::Error(std::string(scheme.name) + "://: " + status.message() + "; the form is " +
                           std::string(scheme.form));
    }
    return endpoint;
  }
  return Status::Error("not the URL of a Redis: it begins with none of " + known);
}

std::string Describe(const RedisAddress& address) { return UrlHost(address.host) + ":" + std::to_string(address.port); }

std::string Describe(const RedisEndpoint& endpoint) {
  std::string url;
  for (const Scheme& scheme : kSchemes) {
    if (scheme.kind == endpoint.kind && scheme.tls == endpoint.tls) url = scheme.name;
  }
  url += "://";
  for (size_t i = 0; i < endpoint.addresses.size(); ++i) {
    if (i > 0) url += ',';
    url += Describe(endpoint.addresses[i]);
  }
  if (endpoint.kind == Kind::kSentinel) url += "/" + EncodePercent(endpoint.master);
  if (endpoint.database != 0) url += "/" + std::to_string(endpoint.database);
  return url;
}

std::string WithoutPassword(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == url.npos ? 0 : scheme + 3;
  const size_t end = url.rfind('@');
  if (end == url.npos || end < begin) return std::string(url);
  return std::string(url.substr(0, begin)).append("***").append(url.substr(end));
}

}  // namespace weir
