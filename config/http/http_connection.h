// Requests of HTTP/1.1 to another server. They block, but never longer than the call's timeout nor beyond its stop.
//
//   HttpAnswer answer = CallHttp(url, {.path = "/healthz", .timeout = std::chrono::seconds(1)});
//   if (!answer.ok()) … answer.problem …
//
// CallHttp makes a connection for one call; an HttpConnection reuses one for as long as both sides keep it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/url.h"

namespace weir {

class ClientStream;

struct HttpAnswer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Empty if there is an answer, whatever its status; else a part of a sentence: "cannot connect to 127.0.0.1:3335:
  // Connection refused".
  std::string problem;
  bool nobody_listens = false;  // the problem is that no connection could be made

  bool ok() const { return problem.empty(); }
  // Returns the value of the first header of that name, ignoring case; empty if there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpCall {
  std::string method = "GET";
  std::string path;  // follows the URL's own path; percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::chrono::milliseconds timeout{5000};  // for the whole call
  std::stop_token stop;                     // gives the call up
  uint64_t max_answer_bytes = 64 << 20;
  std::string ca_file;  // https: certificates to trust; empty: the system's
  // https: false only if a lock file or the settings say that the address is this machine's own.
  bool verify = true;

  // If set, it gets the body of an answer with status 200 in pieces, and the body is not kept. The timeout then holds
  // from each piece to the next, and there may be any number. If it returns false the call ends, which is no problem.
  std::function<bool(const HttpAnswer& head, std::string_view piece)> on_piece;
};

HttpAnswer CallHttp(const ServerUrl& url, const HttpCall& call);

// Threads: one at a time.
class HttpConnection {
 public:
  explicit HttpConnection(ServerUrl url);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Sends a request only once, for a request without an answer may have been served. First connects again if the server
  // has ended the connection or a call left it unfinished.
  HttpAnswer Ask(const HttpCall& call);

 private:
  const ServerUrl url_;
  std::unique_ptr<ClientStream> stream_;  // null if the last call did not keep it
};

}  // namespace weir
