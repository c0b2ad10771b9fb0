// Requests of HTTP/1.1 to another server, which block: never longer than the call's timeout, and not beyond its stop.
//
//   HttpAnswer answer = CallHttp(url, {.path = "/healthz", .timeout = std::chrono::seconds(1)});
//   if (!answer.ok()) … answer.problem …
//
// CallHttp makes a connection of its own; an HttpConnection keeps one from call to call as long as both sides keep it.
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

  // Empty where there is an answer, whatever its status; else a part of a sentence: "cannot connect to 127.0.0.1:3335:
  // Connection refused".
  std::string problem;
  bool nobody_listens = false;  // the problem: no connection could be made

  bool ok() const { return problem.empty(); }
  // The value of the first header of that name, in whatever letters it came; empty where there is none.
  std::string_view Header(std::string_view name) const;
};

struct HttpCall {
  std::string method = "GET";
  std::string path;  // what comes after the URL's own path, percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::chrono::milliseconds timeout{5000};  // for the whole call
  std::stop_token stop;                     // gives the call up
  uint64_t max_answer_bytes = 64 << 20;
  std::string ca_file;  // https: whose certificates are believed; empty: the system's
  // https: false only where the address is this machine's own, as its lock file or settings say.
  bool verify = true;

  // Where it is set it takes the body of an answer with status 200, which is not kept: each piece may come as late as
  // the timeout after the one before, and there may be any number. False ends the call, which is no problem.
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

  // Sends a request once: one that has no answer may have been served. Before, it makes a connection again that the
  // server had ended, or that a call left unfinished.
  HttpAnswer Ask(const HttpCall& call);

 private:
  const ServerUrl url_;
  std::unique_ptr<ClientStream> stream_;  // none between calls that do not keep it
};

}  // namespace weir
