// Splits a URL into its parts. Only ParseQuery decodes. Only ParseServerUrl checks more than the form: elsewhere the
// caller decides which schemes, names and ports it accepts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"

namespace weir {

struct UrlParts {
  std::string_view scheme;               // before "://"
  std::optional<std::string_view> user;  // before the last '@' of the authority
  std::string_view servers;              // HOST:PORT, or several with commas between them
  std::string_view path;                 // with its '/', query and fragment; empty if there is none
};
// Returns nullopt if there is no "://". The servers end at the first character of `ends`.
std::optional<UrlParts> SplitUrl(std::string_view url, std::string_view ends = "/?#");

struct UrlServer {
  std::string_view host;                 // an IPv6 address without its brackets
  std::optional<std::string_view> port;  // behind the ':'
};
// Splits HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Returns nullopt for any other form.
std::optional<UrlServer> SplitServer(std::string_view text);

// A parameter of a query: NAME, or NAME=VALUE.
struct QueryParameter {
  std::string_view name;
  std::optional<std::string_view> value;  // may be empty behind a '='; nullopt without one
};
// Takes the first parameter off the query; nullopt if none is left. Skips empty ones between two '&'.
std::optional<QueryParameter> TakeParameter(std::string_view* query);
// Returns all parameters of a query, or of a posted form, in their order and decoded: %20 and + are a space. The error
// says where the query is not well-formed.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// The host as it stands before a port: an IPv6 address in brackets.
std::string UrlHost(std::string_view host);

// The address of an HTTP server.
struct ServerUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path;  // the base path: empty, or /… without a slash at the end

  // "https://host:port", without the scheme's usual port.
  std::string Origin() const;
  // Returns true if the host is in 127.0.0.0/8, ::1 or localhost.
  bool is_loopback() const;
};
// Reads http:// or https://host[:port][/path], without user, query or fragment. The error completes a sentence that
// begins with the text.
Result<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace weir
