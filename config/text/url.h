// A URL in its parts. Nothing is decoded, and, but for a ServerUrl, nothing but the form is checked: which schemes,
// names and ports there may be is for whoever reads it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"

namespace weir {

struct UrlParts {
  std::string_view scheme;               // what is before "://"
  std::optional<std::string_view> user;  // what is before the last '@' of the authority
  std::string_view servers;              // HOST:PORT, or several with commas between them
  std::string_view path;                 // with its '/', query and fragment; empty where there is none
};
// Nothing where there is no "://". One of `ends` ends the servers.
std::optional<UrlParts> SplitUrl(std::string_view url, std::string_view ends = "/?#");

struct UrlServer {
  std::string_view host;                 // an IPv6 address without its brackets
  std::optional<std::string_view> port;  // what is behind the ':'
};
// Of HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Nothing where it is none of them.
std::optional<UrlServer> SplitServer(std::string_view text);

// A parameter of a query: NAME, or NAME=VALUE.
struct QueryParameter {
  std::string_view name;
  std::optional<std::string_view> value;  // empty behind a '='; nothing without one
};
// Takes the first off the query. Nothing where none is left. Skips the emptiness between two '&'.
std::optional<QueryParameter> TakeParameter(std::string_view* query);
// All of a query, or of a form that was posted, in their order, decoded: %20 and + are a space. The error says where it
// is not well-formed.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// The host as it stands before a port: an IPv6 address in brackets.
std::string UrlHost(std::string_view host);

// Where a server of HTTP is.
struct ServerUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path;  // of the base: empty, or /…, without a slash at the end

  // "https://host:port", without the scheme's usual port.
  std::string Origin() const;
  // Whether the host is in 127.0.0.0/8, ::1 or localhost.
  bool is_loopback() const;
};
// Reads http:// or https://host[:port][/path], without user, query or fragment. The error completes the sentence that
// begins with the text.
Result<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace weir
