#include "config/wire/mysql/mysql_url.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/text/url.h"

namespace weir {
namespace {

constexpr std::string_view kCaFile = "?ssl-ca=";
constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

}  // namespace

Result<MysqlAddress> ParseMysqlUrl(std::string_view url) {
  const Status wrong = Status::Error(
      "this is not the address of a MariaDB or MySQL; expected mysql://user:password@host:3306/database, with every "
      "character of user and password that is neither a letter nor a digit as %XX");
  const std::optional<UrlParts> parts = SplitUrl(url);
  if (!parts || parts->scheme != "mysql") return wrong;
  const std::optional<UrlServer> server = SplitServer(parts->servers);
  const bool is_name = !parts->servers.starts_with('[');
  if (!server || server->host.empty() || (is_name && server->host.find_first_not_of(kInNames) != url.npos))
    return wrong;
  MysqlAddress address{.host = std::string(server->host)};
  if (server->port) {
    const Result<uint64_t> port = ParseUnsigned(*server->port, {.min = 1, .max = 65535});
    if (!port.ok()) return wrong;
    address.port = static_cast<uint16_t>(port.value());
  }
  const std::string_view login = parts->user.value_or("");
  const size_t colon = std::min(login.find(':'), login.size());
  const std::string_view path = parts->path.substr(0, parts->path.find('?'));
  const std::string_view query = parts->path.substr(path.size());
  // An '@' here is one that a password has without an escape.
  if (parts->path.find_first_of("@#") != url.npos || (!query.empty() && !query.starts_with(kCaFile))) return wrong;
  std::optional<std::string> user = DecodePercent(login.substr(0, colon));
  std::optional<std::string> password = DecodePercent(login.substr(std::min(colon + 1, login.size())));
  std::optional<std::string> database = DecodePercent(path.substr(std::min<size_t>(1, path.size())));
  std::optional<std::string> file = DecodePercent(query.substr(std::min(kCaFile.size(), query.size())));
  if (!user || !password || !database || !file || file->empty() != query.empty()) return wrong;
  address.user = *std::move(user);
  address.password = *std::move(password);
  address.database = *std::move(database);
  address.ca_file = *std::move(file);
  return address;
}

}  // namespace weir
