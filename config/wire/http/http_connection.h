// Sends HTTP/1.1 requests to another server. A call blocks until the answer is complete, an error occurs, the timeout
// has passed or a stop is requested.
//
//   HttpAnswer answer = CallHttp(url, {.path = "/healthz", .timeout = std::chrono::seconds(1)});
//   if (!answer.ok()) … answer.problem …
//
// CallHttp opens a connection for each call. An HttpConnection keeps its connection for the next call as long as both
// sides allow it.
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

// The answer to a call, or the reason why there is none.
struct HttpAnswer {
  int status = 0;  // 0 if there is no answer
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Empty if there is an answer, whatever its status. Otherwise a part of a sentence, such as "cannot connect to
  // 127.0.0.1:3335: Connection refused"; the other members are then empty or 0, but nobody_listens may be true.
  std::string problem;
  bool nobody_listens = false;  // true if connecting failed at all addresses before the timeout

  bool ok() const { return problem.empty(); }
  // Returns the value of the first header with this name, written in upper or lower case; empty if there is none. The
  // value lives as long as the answer.
  std::string_view Header(std::string_view name) const;
};

struct HttpCall {
  std::string method = "GET";
  std::string path;  // percent-encoded; is appended to the path of the URL
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::chrono::milliseconds timeout{5000};  // for the whole call, unless on_piece is set
  std::stop_token stop;                     // a requested stop ends the call with a problem
  uint64_t max_answer_bytes = 64 << 20;     // a larger body is a problem; pieces have no limit
  std::string ca_file;                      // for https: file of certificates to trust; empty: those of the system
  // For https: false accepts any certificate. Callers set it to false only if a lock file or the settings say that the
  // address is this machine's own.
  bool verify = true;

  // If set, the call passes each piece of the body of an answer with status 200 to on_piece, in the calling thread, and
  // leaves HttpAnswer::body empty. There may be any number of pieces; the timeout then limits the wait for the headers,
  // and after them each wait for more bytes. If on_piece returns false, the call ends without a problem. on_piece is
  // not called for an answer with another status.
  std::function<bool(const HttpAnswer& head, std::string_view piece)> on_piece;
};

// Sends the request once, over a connection of its own, and returns the answer.
HttpAnswer CallHttp(const ServerUrl& url, const HttpCall& call);

// HttpConnection: sends one request after the other to one server, over a connection that it keeps.
//
// Threads: only one thread at a time may use a connection.
class HttpConnection {
 public:
  explicit HttpConnection(ServerUrl url);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Sends the request and returns the answer. Connects first if there is no connection, if the server or the last call
  // ended it, if bytes have arrived on it that belong to no answer, or if it was made for a call with another `ca_file`
  // or `verify`. Sends the request only once, because the server may have executed a request that it did not answer.
  HttpAnswer Ask(const HttpCall& call);

 private:
  const ServerUrl url_;
  std::unique_ptr<ClientStream> stream_;  // null if the last call left no connection for the next
};

}  // namespace weir
