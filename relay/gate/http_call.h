// CallHttp: one request to a server, and its whole answer, over a connection of its own; plain, or TLS with the
// server's certificate and name verified. Blocks, never longer than the timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/server/http.h"

namespace weir {

struct ServerUrl {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path;  // of the base: empty, or /…, without a slash at the end

  // "https://host:port"; the port where it is not the scheme's.
  std::string Origin() const;
  // 127.0.0.0/8, ::1 or localhost.
  bool is_loopback() const;
};
// http:// or https://host[:port][/path]; neither user, query nor fragment. The error completes the sentence that begins
// with the text.
Result<ServerUrl> ParseServerUrl(std::string_view url);

// All but letters, digits and -._~ as %xx, slashes too: for a segment of a path.
std::string PercentEncode(std::string_view text);

struct HttpCallOptions {
  std::chrono::milliseconds timeout{5000};  // for the whole of it
  uint64_t max_answer_bytes = 64 << 20;
  std::string ca_file;  // https: whose certificates are believed; empty: the system's
};

struct HttpCallResult {
  enum class Failed : uint8_t { kNothing, kResolve, kConnect, kTls, kTimeout, kAnswer };

  Failed failed = Failed::kNothing;
  std::string problem;    // a part of a sentence: "cannot connect to 127.0.0.1:3335: Connection refused"
  HttpResponse response;  // where nothing failed, whatever its status
};

// Of the request: method, raw_path (what comes after the base, percent-encoded), body, and headers.
HttpCallResult CallHttp(const ServerUrl& url, const HttpRequest& request, const HttpCallOptions& options);

}  // namespace weir
