// Splits URLs into their parts. Only ParseQuery decodes percent escapes. Only ParseServerUrl checks more than the form;
// with the other functions the caller decides which schemes, names and ports it accepts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"

namespace weir {

// The parts of a URL; they point into its text.
struct UrlParts {
  std::string_view scheme;               // before "://"
  std::optional<std::string_view> user;  // before the last '@' in front of the servers; nullopt without an '@'
  std::string_view servers;              // HOST:PORT, or several with commas between them
  std::string_view path;                 // the rest: path, query and fragment; may be empty
};
// Returns the parts, or nullopt if there is no "://". The servers end before the first character that is one of `ends`.
std::optional<UrlParts> SplitUrl(std::string_view url, std::string_view ends = "/?#");

struct UrlServer {
  std::string_view host;                 // an IPv6 address without its brackets
  std::optional<std::string_view> port;  // behind the ':'; nullopt without a ':'
};
// Splits HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. Host and port may be empty. Returns nullopt for any other form.
std::optional<UrlServer> SplitServer(std::string_view text);

// A parameter of a query, NAME or NAME=VALUE, not decoded.
struct QueryParameter {
  std::string_view name;
  std::optional<std::string_view> value;  // behind the '=', may be empty; nullopt without a '='
};
// Removes the first parameter from `*query` and returns it; returns nullopt if none is left. Skips empty parameters, as
// between the two '&' of "a&&b".
std::optional<QueryParameter> TakeParameter(std::string_view* query);
// Returns the names and values of all parameters of a query or of a posted form, decoded and in their order. %20 and +
// become a space; a parameter without a '=' has an empty value. The error names the part that is not well-formed.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// Returns the host as a URL has it: an IPv6 address in brackets, anything else unchanged.
std::string UrlHost(std::string_view host);

// The address of an HTTP server.
struct ServerUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path;  // the base path: empty, or /… without a slash at the end

  // Returns "https://host:port", or "https://host" if the port is the usual one of the scheme.
  std::string Origin() const;
  // Returns true if the host is an address in 127.0.0.0/8, the address ::1 or the name localhost.
  bool is_loopback() const;
};
// Reads http:// or https://host[:port][/path]; a user, query or fragment is refused. The error completes a sentence
// that begins with the URL.
Result<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace weir
