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
  std::string path;      // decoded, without query
  std::string raw_path;  // as sent: where a %2F is not a slash
  std::string query;     // as sent, after '?'
  std::string address;   // of the client, as Connection::address
  std::string peer;      // of the socket: a proxy's where there is one
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::vector<std::string> parameters;                       // what stood for the {…} of the route's path, decoded

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

// For answers that have to be waited for. Called once, from any thread, now or later, also when connection and server
// are gone; until then the connection's next request waits. Copies are one reply; dropped without a call, the answer is
// 500.
class HttpReply {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void Give(HttpResponse response) = 0;
    virtual bool Abandoned() const = 0;
  };
  explicit HttpReply(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}

  void operator()(HttpResponse response) const { receiver_->Give(std::move(response)); }
  // Whether the client has hung up, or the server has: what was not begun need not be. A client may have closed its
  // half alone, and still wait: an answer is not forbidden.
  bool abandoned() const { return receiver_->Abandoned(); }

 private:
  std::shared_ptr<Receiver> receiver_;
};
using HttpDeferredHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// For requests whose body comes, and whose answer goes, in pieces (http_stream.h). Looks at the head of a request,
// whose body is empty here: a handler, or the answer that refuses it, after which the connection is closed. Called on
// the I/O thread; must not block.
class HttpExchange;
class HttpStreamHandler;
using HttpStreamFactory = std::function<std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>(
    const HttpRequest& head, HttpExchange& exchange)>;

// Exact paths, or such in which whole segments are {…}: "/v1/models/{model}/quota", which stand behind exact ones; a
// parameter is never empty. HEAD is answered by GET's handler. A known path with another method gets 405 with Allow, an
// unknown one 404. Routes are added before the server starts; handlers run on I/O threads, several at once, and must
// not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  void AddDeferred(std::string method, std::string path, HttpDeferredHandler handler);
  // For GET on any path with this word in Accept (NIP-11), before the routes.
  void AddForAccept(std::string media_type, HttpHandler handler);

  // Requests and answers of any size, in pieces (http_stream.h). Asked before all else; HEAD is GET's, and ends with
  // the answer's head.
  void AddStream(std::string method, std::string path, HttpStreamFactory factory);

  // How an error that no handler gives (400, 404, 405, 413, 500, …) is said where the path begins so: an API's in its
  // own form.
  using Wording = std::function<HttpResponse(HttpResponse plain)>;
  void AddWording(std::string prefix, Wording wording);
  HttpResponse Worded(std::string_view path, HttpResponse plain) const;

  // The answer, or who will give it; sets the request's parameters.
  std::variant<HttpResponse, const HttpDeferredHandler*> Route(HttpRequest& request) const;
  // Null where nothing that streams is there.
  const HttpStreamFactory* StreamFor(std::string_view method, std::string_view path) const;

 private:
  using Handler = std::variant<HttpHandler, HttpDeferredHandler>;
  using Methods = std::map<std::string, Handler, std::less<>>;
  struct Pattern {
    std::vector<std::string> segments;  // empty: a parameter
    Methods methods;
  };
  void AddHandler(std::string method, std::string path, Handler handler);
  const Handler* Find(std::string_view method, HttpRequest& request) const;
  HttpResponse Refusal(const HttpRequest& request) const;

  std::map<std::string, Methods, std::less<>> routes_;
  std::map<std::string, Pattern, std::less<>> patterns_;  // by their path
  std::vector<std::pair<std::string, HttpHandler>> by_accept_;
  std::map<std::string, std::map<std::string, HttpStreamFactory, std::less<>>, std::less<>> streams_;
  std::vector<std::pair<std::string, Wording>> wordings_;
};

}  // namespace weir
