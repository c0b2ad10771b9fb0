// Plain HTTP on the relay's port: requests that do not ask for a WebSocket.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

struct HttpRequest {
  std::string method;
  std::string path;     // decoded, without query
  std::string query;    // as sent, after '?'
  std::string address;  // of the client, as Connection::address
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first one's value; empty where there is none.
  std::string_view Header(std::string_view lower_case_name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// Exact paths; HEAD is answered by GET's handler. A known path with another method gets 405 with Allow, an unknown one
// 404. Routes are added before the server starts; handlers run on I/O threads, several at once, and must not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  // For GET on any path with this word in Accept (NIP-11), before the routes.
  void AddForAccept(std::string media_type, HttpHandler handler);

  HttpResponse Answer(const HttpRequest& request) const;

 private:
  std::map<std::string, std::map<std::string, HttpHandler>, std::less<>> routes_;
  std::vector<std::pair<std::string, HttpHandler>> by_accept_;
};

}  // namespace weir
