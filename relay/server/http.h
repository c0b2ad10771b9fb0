// Plain HTTP on the relay's port: requests that do not ask for a WebSocket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;      // decoded, without query
  std::string raw_path;  // the path as sent: a %2F is no slash here
  std::string query;     // the part after '?', as sent
  std::string address;   // the client's, like Connection::address
  std::string peer;      // the socket's: a proxy's if there is one
  bool secure = false;   // it came by TLS to this port
  std::string body;
  HttpFields headers;                   // names in lower case
  std::vector<std::string> parameters;  // the values of the {…} in the route's path, decoded
  bool over_http2 = false;

  // Returns the first one's value; empty if there is none.
  std::string_view Header(std::string_view lower_case_name) const;
  std::string_view Cookie(std::string_view name) const;
};

// An error in plain text is sent in the form of http_error.h.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  HttpFields headers;
  // Sent behind the body, over HTTP/2 alone, and only if there is a body. An answer in pieces has those of
  // HttpExchange::EndWith.
  HttpFields trailers;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// Why a request no longer waits for its answer.
enum class HttpLeft : uint8_t {
  kClient,  // the client or its connection is gone
  kServer,  // the server shuts down: an answer that is given at once still arrives
};

// Gives an answer that has to be waited for. It is called once, from any thread, now or later, even when connection and
// server are gone. Over HTTP/1.1 the connection's next request waits until then. Copies are one reply; if all are
// dropped without a call, the answer is 500.
class HttpReply {
 public:
  using LeftHandler = std::function<void(HttpLeft why)>;

  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void Give(HttpResponse response) = 0;
    virtual bool Abandoned() const = 0;
    virtual void OnLeft(LeftHandler handler) = 0;
  };
  explicit HttpReply(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}

  void operator()(HttpResponse response) const { receiver_->Give(std::move(response)); }
  // Returns true if the client or the server has hung up: work that was not begun can be left out. A client may have
  // closed its half alone and still wait, so an answer is not forbidden.
  bool abandoned() const { return receiver_->Abandoned(); }
  // For answers that may take long: `handler` is called when no client waits for the answer any more. OnLeft may be
  // called once. The handler is called at most once, and not once the answer is given, unless another thread gives it
  // in that very moment. It runs on the I/O thread, or before OnLeft returns if the client has left already. It must be
  // quick, and must not throw. It may answer, which costs nothing if no client is left, and it may hold the reply.
  //
  // Over HTTP/1.1 a client that closes its half of the connection counts as gone, because one that has closed the whole
  // of it looks the same. So it still gets what the handler answers then. If the client has sent more requests ahead,
  // its end is noticed at the I/O thread's next beat, within about a second. Over HTTP/2 a request has also left when
  // its stream was reset.
  void OnLeft(LeftHandler handler) const { receiver_->OnLeft(std::move(handler)); }

 private:
  std::shared_ptr<Receiver> receiver_;
};
using HttpDeferredHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// For requests whose body comes, and whose answer goes, in pieces (http_stream.h). Looks at the head of a request,
// whose body is empty here. Returns a handler, or an answer that refuses the request; then the connection is closed (of
// HTTP/2 the stream). Called on the I/O thread; must not block.
class HttpExchange;
class HttpStreamHandler;
using HttpStreamFactory = std::function<std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>(
    const HttpRequest& head, HttpExchange& exchange)>;

// Routes are exact paths, or paths in which whole segments are {…}: "/v1/models/{model}/quota". Exact paths come first.
// A parameter is never empty, and the rest of a path is found in one spelling alone (DecodePlainPath). HEAD is answered
// by GET's handler. A known path with another method gets 405 with Allow, an unknown one 404. Routes are added before
// the server starts; handlers run on I/O threads, several at once, and must not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  void AddDeferred(std::string method, std::string path, HttpDeferredHandler handler);
  // For GET on any path with this media type in Accept (NIP-11); looked up before the routes.
  void AddForAccept(std::string media_type, HttpHandler handler);

  // For requests and answers of any size, in pieces (http_stream.h). Looked up before all else. HEAD goes to GET's
  // factory, and ends with the answer's head.
  void AddStream(std::string method, std::string path, HttpStreamFactory factory);

  // For paths that become known while the server runs: GET and POST of paths for which `takes` returns true, in their
  // one spelling (DecodePlainPath). It is not asked about a path whose first segment is that of a route, so no route is
  // shadowed, nor a name beside one. If it takes the root, the root goes to `handler` as well, except for browsers
  // (text/html), to which a route may show a page. `takes` is called on I/O threads.
  void AddForOtherPaths(std::function<bool(std::string_view path)> takes, HttpDeferredHandler handler);
  // Returns a function that tells whether AddForOtherPaths never gets a path, by all routes that have been added when
  // the function is called. It may be called when the router is gone, but not while routes are added.
  std::function<bool(std::string_view path)> OwnPaths() const;

  // Words an error that no handler gives (400, 404, 405, 413, 500, …) if the path begins with `prefix`: in the form of
  // another protocol. The request is its head as far as it was read.
  using Wording = std::function<HttpResponse(HttpResponse plain, const HttpRequest& request)>;
  void AddWording(std::string prefix, Wording wording);
  // Returns the error in that form, or in that of http_error.h.
  HttpResponse Worded(const HttpRequest& request, HttpResponse plain) const;

  // Returns the answer, or the handler that will give it; sets the request's parameters.
  std::variant<HttpResponse, const HttpDeferredHandler*> Route(HttpRequest& request) const;
  // Returns null if nothing that streams is there. `raw_path` is the path as it was sent.
  const HttpStreamFactory* StreamFor(std::string_view method, std::string_view raw_path) const;
  // Returns the answer to a request for which there is no route, found from its header alone; nullopt for GET, HEAD and
  // OPTIONS.
  std::optional<HttpResponse> RefusalFromHead(std::string method, std::string_view raw_path) const;

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
  using Names = std::set<std::string, std::less<>>;
  static bool IsOwn(const Names& first_segments, std::string_view path);
  bool IsOther(const std::optional<std::string>& plain_path) const;

  std::map<std::string, Methods, std::less<>> routes_;
  std::map<std::string, Pattern, std::less<>> patterns_;  // by their path
  std::vector<std::pair<std::string, HttpHandler>> by_accept_;
  std::map<std::string, std::map<std::string, HttpStreamFactory, std::less<>>, std::less<>> streams_;
  std::vector<std::pair<std::string, Wording>> wordings_;
  std::shared_ptr<Names> first_segments_ = std::make_shared<Names>();  // the first segments of all routes
  std::function<bool(std::string_view path)> takes_other_;
  Handler for_others_;
};

}  // namespace weir
