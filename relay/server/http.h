// Plain HTTP on the relay's port: requests that do not ask for a WebSocket.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir {

struct HttpRequest {
  std::string method;
  std::string path;     // decoded, without query
  std::string query;    // as sent, after '?'
  std::string address;  // of the client, as Connection::address
  std::string peer;     // of the socket: a proxy's where there is one
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

// For requests whose body comes, and whose answer goes, in pieces (http_stream.h). Looks at the head of a request,
// whose body is empty here: a handler, or the answer that refuses it, after which the connection is closed. Called on
// the I/O thread; must not block.
class HttpExchange;
class HttpStreamHandler;
using HttpStreamFactory = std::function<std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>(
    const HttpRequest& head, HttpExchange& exchange)>;

// Exact paths; HEAD is answered by GET's handler. A known path with another method gets 405 with Allow, an unknown one
// 404. Routes are added before the server starts; handlers run on I/O threads, several at once, and must not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  // For GET on any path with this word in Accept (NIP-11), before the routes.
  void AddForAccept(std::string media_type, HttpHandler handler);

  // Requests and answers of any size, in pieces (http_stream.h). Asked before all else; HEAD is GET's, and ends with
  // the answer's head.
  void AddStream(std::string method, std::string path, HttpStreamFactory factory);

  HttpResponse Answer(const HttpRequest& request) const;
  // Null where nothing that streams is there.
  const HttpStreamFactory* StreamFor(std::string_view method, std::string_view path) const;

 private:
  std::map<std::string, std::map<std::string, HttpHandler>, std::less<>> routes_;
  std::vector<std::pair<std::string, HttpHandler>> by_accept_;
  std::map<std::string, std::map<std::string, HttpStreamFactory, std::less<>>, std::less<>> streams_;
};

}  // namespace weir
