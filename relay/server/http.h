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
  std::string raw_path;  // as sent: where a %2F is not a slash
  std::string query;     // as sent, after '?'
  std::string address;   // of the client, as Connection::address
  std::string peer;      // of the socket: a proxy's where there is one
  bool secure = false;   // it came by TLS to this port
  std::string body;
  HttpFields headers;                   // names in lower case
  std::vector<std::string> parameters;  // what stood for the {…} of the route's path, decoded
  bool over_http2 = false;

  // The first one's value; empty where there is none.
  std::string_view Header(std::string_view lower_case_name) const;
  std::string_view Cookie(std::string_view name) const;
};

// An error in plain text goes out as one of http_error.h.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  HttpFields headers;
  // Behind the body, over HTTP/2 alone; not where there is none. Of an answer in pieces: HttpExchange::EndWith.
  HttpFields trailers;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// Why a request no longer waits for its answer.
enum class HttpLeft : uint8_t {
  kClient,  // its client is gone, or its connection
  kServer,  // is going: an answer that is given at once still arrives
};

// For answers that have to be waited for. Called once, from any thread, now or later, also when connection and server
// are gone; over HTTP/1.1 the connection's next request waits until then. Copies are one reply; dropped without a call,
// the answer is 500.
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
  // Whether the client has hung up, or the server has: what was not begun need not be. A client may have closed its
  // half alone, and still wait: an answer is not forbidden.
  bool abandoned() const { return receiver_->Abandoned(); }
  // For what may wait long. Asks, once, to be told when nobody waits for the answer any more. Called at most once, and
  // not once the answer is given, unless another thread gives it in that very moment; on the I/O thread, or before this
  // returns where it is so already. It must be quick, and must not throw; it may answer, which costs nothing where
  // nobody is left, and it may hold the reply.
  //
  // Over HTTP/1.1 a client that closes its half of the connection counts as gone: one that has closed the whole of it
  // looks the same. So it is told what the handler answers then. Where the client has sent more requests ahead, its end
  // is noticed at the I/O thread's next beat, within about a second. Over HTTP/2 a request has also left when its
  // stream was reset.
  void OnLeft(LeftHandler handler) const { receiver_->OnLeft(std::move(handler)); }

 private:
  std::shared_ptr<Receiver> receiver_;
};
using HttpDeferredHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// For requests whose body comes, and whose answer goes, in pieces (http_stream.h). Looks at the head of a request,
// whose body is empty here: a handler, or the answer that refuses it, after which the connection is closed, of HTTP/2
// the stream. Called on the I/O thread; must not block.
class HttpExchange;
class HttpStreamHandler;
using HttpStreamFactory = std::function<std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>(
    const HttpRequest& head, HttpExchange& exchange)>;

// Exact paths, or such in which whole segments are {…}: "/v1/models/{model}/quota", which stand behind exact ones; a
// parameter is never empty, and the rest is found in one spelling alone (DecodePlainPath). HEAD is answered by GET's
// handler. A known path with another method gets 405 with Allow, an unknown one 404. Routes are added before the server
// starts; handlers run on I/O threads, several at once, and must not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  void AddDeferred(std::string method, std::string path, HttpDeferredHandler handler);
  // For GET on any path with this word in Accept (NIP-11), before the routes.
  void AddForAccept(std::string media_type, HttpHandler handler);

  // Requests and answers of any size, in pieces (http_stream.h). Asked before all else; HEAD is GET's, and ends with
  // the answer's head.
  void AddStream(std::string method, std::string path, HttpStreamFactory factory);

  // For paths that become known while the server runs: GET and POST of those that `takes` says yes to, in their one
  // spelling (DecodePlainPath). It is not asked of a path whose first segment is that of a route, so no route is
  // shadowed, nor a name beside one. The root is theirs where they take it, save for browsers (text/html), to which a
  // route may show a page. Asked on I/O threads.
  void AddForOtherPaths(std::function<bool(std::string_view path)> takes, HttpDeferredHandler handler);
  // Says of a path whether AddForOtherPaths never gets it: by all routes that have been added when it is asked. It may
  // be asked when the router is gone, but not while routes are added.
  std::function<bool(std::string_view path)> OwnPaths() const;

  // How an error that no handler gives (400, 404, 405, 413, 500, …) is said where the path begins so: in the form of
  // another protocol. The request is its head as far as it was read.
  using Wording = std::function<HttpResponse(HttpResponse plain, const HttpRequest& request)>;
  void AddWording(std::string prefix, Wording wording);
  // In that form, or in that of http_error.h.
  HttpResponse Worded(const HttpRequest& request, HttpResponse plain) const;

  // The answer, or who will give it; sets the request's parameters.
  std::variant<HttpResponse, const HttpDeferredHandler*> Route(HttpRequest& request) const;
  // Null where nothing that streams is there. The path as it was sent.
  const HttpStreamFactory* StreamFor(std::string_view method, std::string_view raw_path) const;
  // What a request is answered from its header alone: there is no such route.
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
  std::shared_ptr<Names> first_segments_ = std::make_shared<Names>();  // of all routes
  std::function<bool(std::string_view path)> takes_other_;
  Handler for_others_;
};

}  // namespace weir
