// HTTP on the server's port, for all requests that do not ask for a WebSocket: the requests, the answers, and the
// router that finds the handler of a request.
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
  std::string method;    // "GET"
  std::string path;      // decoded, without query
  std::string raw_path;  // the path as sent, in which a %2F is not a slash
  std::string query;     // the part after '?', as sent
  std::string address;   // the client's address, as a trusted proxy names it, or else `peer`
  std::string peer;      // the address of the other end of the socket, which is the client or a proxy
  bool secure = false;   // true if the request came over TLS to this port
  std::string body;
  HttpFields headers;                   // names in lower case
  std::vector<std::string> parameters;  // the values of the {…} in the route's path, decoded
  bool over_http2 = false;

  // Returns the value of the first header with this name; empty if there is none.
  std::string_view Header(std::string_view lower_case_name) const;
  // Returns the value of the first cookie with this name; empty if there is none.
  std::string_view Cookie(std::string_view name) const;
};

// An answer. If it is an error (a status of 400 or more) in plain text, it is sent as JSON in the form of http_error.h,
// unless a handler sends it in pieces (HttpExchange::Begin).
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  HttpFields headers;
  // Fields that are sent after the body, only over HTTP/2 and only if there is a body. For an answer in pieces
  // (http_stream.h), the trailers are passed to HttpExchange::EndWith instead.
  HttpFields trailers;
};

// Answers a request at once, on an I/O thread. Must not block. If the handler throws, the answer is 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// The reason why a handler should stop its work on a request.
enum class HttpLeft : uint8_t {
  kClient,  // the client or its connection is gone
  kServer,  // the server shuts down; it still sends an answer that comes soon
};

// HttpReply: gives the answer to a request, now or later. All copies of an HttpReply are the same reply: call one of
// them once, on any thread. Later calls, and calls after the connection or the server has ended, do nothing. If all
// copies are destroyed without a call, the answer is 500. Over HTTP/1.1 the connection's next request waits for the
// answer.
class HttpReply {
 public:
  using LeftHandler = std::function<void(HttpLeft why)>;

  // Receiver: receives the answer. The server implements this interface; other code may too, as grpc_watch.cc does.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void Give(HttpResponse response) = 0;
    virtual bool Abandoned() const = 0;
    virtual void OnLeft(LeftHandler handler) = 0;
  };
  explicit HttpReply(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}

  // Gives the answer.
  void operator()(HttpResponse response) const { receiver_->Give(std::move(response)); }
  // Returns true if the client seems to be gone, if its connection has ended, or if the answer was given. The caller
  // can then skip work that it has not begun. It may still give an answer, because a client that has closed only its
  // sending half may still wait for one. A shutdown of the server does not by itself make the result true.
  bool abandoned() const { return receiver_->Abandoned(); }
  // Calls `handler` when the client has left or when the server shuts down, whichever comes first. Meant for answers
  // that may take long. Call OnLeft at most once. The handler is called at most once, and not after the answer was
  // given, unless another thread gives the answer at the same moment. It runs on the I/O thread, or within OnLeft if
  // the client has left already or the server shuts down already. It must be quick, and must not throw. It may give an
  // answer, even if the client is gone, and it may hold a copy of the reply.
  //
  // A client that closes its sending half of the connection counts as gone, because the server cannot distinguish it
  // from a client that has closed the whole connection. If such a client still reads, it gets an answer that is given
  // later. Over HTTP/1.1, if the client has sent more requests before this one was answered, the server notices only at
  // its next check of the connection, within about a second, that the client is gone. Over HTTP/2 a client has also
  // left when it has reset the request's stream.
  void OnLeft(LeftHandler handler) const { receiver_->OnLeft(std::move(handler)); }

 private:
  std::shared_ptr<Receiver> receiver_;
};
// Handles a request, and answers it through `reply`, now or later. Called on an I/O thread; must not block. `request`
// is valid only during the call. If the handler throws, the answer is 500.
using HttpDeferredHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// Makes the handler for a request whose body arrives, or whose answer is sent, in pieces (http_stream.h). `head` is the
// request without its body. Returns a handler, which must not be null, or an answer that refuses the request. After
// such an answer the connection is closed, or over HTTP/2 only the stream. If the factory throws, the answer is 500.
// Called on the connection's I/O thread; must not block. `head` and `exchange` are valid until the handler's OnEnd;
// after a refusal they must not be used.
class HttpExchange;
class HttpStreamHandler;
using HttpStreamFactory = std::function<std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>(
    const HttpRequest& head, HttpExchange& exchange)>;

// HttpRouter: finds the handler of a request. Routes are exact paths, or paths in which whole segments are parameters:
// "/v1/models/{model}/quota". Exact paths take precedence. A parameter is never empty. The path of a request, except
// for its parameters, must be in plain spelling, which means without unnecessary escapes (DecodePlainPath in
// config/text/percent.h). The handler of GET also answers HEAD. The router answers 404 for a path without a route, and
// 405 with Allow for a path that has only routes for other methods. OPTIONS without a route is answered 204 on every
// path, with headers that let pages of any site read (CORS).
//
// Routes are added before the server starts; a second route for the same method and path replaces the first. Handlers
// run on I/O threads, several at once, and must not block.
class HttpRouter {
 public:
  void Add(std::string method, std::string path, HttpHandler handler);
  void AddDeferred(std::string method, std::string path, HttpDeferredHandler handler);
  // Adds a handler for GET and HEAD of any path, if the header Accept names `media_type`, as for NIP-11 (a relay's
  // description of itself). This handler takes precedence over the routes of Add and AddDeferred. Pages of any site may
  // read its answers (CORS).
  void AddForAccept(std::string media_type, HttpHandler handler);

  // Adds a route for requests and answers of any size, in pieces (http_stream.h). `path` must not have parameters.
  // These routes take precedence over all others. The factory of GET also gets HEAD, whose answer ends with the head.
  void AddStream(std::string method, std::string path, HttpStreamFactory factory);

  // Adds a stream for POST of any path that has no stream of its own for POST, if the header Content-Type is
  // `media_type`, as for NIP-86 (the management of a relay). Pages of any site may send such a request to a path whose
  // first segment no route has (CORS); the factory must therefore accept only proofs that no browser adds by itself.
  void AddStreamForContent(std::string media_type, HttpStreamFactory factory);

  // Adds a handler for paths that are not known before the server starts. It gets GET, HEAD and POST of each path in
  // plain spelling for which `takes` returns true. `takes` is called on I/O threads. It is not called for a path that
  // has the same first segment as a route; the root, "/", is an exception. If `takes` returns true for the root, a
  // route for the root gets only requests that accept text/html, such as a browser's. A second call of AddForOtherPaths
  // replaces the first.
  void AddForOtherPaths(std::function<bool(std::string_view path)> takes, HttpDeferredHandler handler);
  // Returns a function that returns true for the paths that the handler of AddForOtherPaths never gets, because a route
  // has the same first segment. The function considers all routes that were added before it is called. It may be called
  // after the router is destroyed, but not while routes are added.
  std::function<bool(std::string_view path)> OwnPaths() const;

  // Makes the server call `wording` for the errors that it gives itself (400, 404, 405, 413, 500, …) on a path that
  // begins with `prefix`. `wording` returns the error in the form of another protocol. Not called for the 500 of a
  // reply that was destroyed without an answer, and over HTTP/1.1 not for a request that is late or streamed, or for
  // which its address has no memory. `plain` is the error in plain text. `request` has the part of the request's head
  // that was read; it may have only `path`, which is then the target as the client sent it. Called on I/O threads.
  using Wording = std::function<HttpResponse(HttpResponse plain, const HttpRequest& request)>;
  void AddWording(std::string prefix, Wording wording);
  // Returns the error `plain` in the form that AddWording has set for the path, or else in the form of http_error.h.
  HttpResponse Worded(const HttpRequest& request, HttpResponse plain) const;

  // The functions below are for the server. They may be called from any thread.

  // Finds the handler and sets the request's parameters. Calls an HttpHandler and returns its answer, or returns the
  // server's own answer (404, 405, OPTIONS), or returns the deferred handler, which the caller must call. The pointer
  // is valid as long as the router.
  std::variant<HttpResponse, const HttpDeferredHandler*> Route(HttpRequest& request) const;
  // Returns the factory that AddStream has added for the method and the path, or else the one that AddStreamForContent
  // has added for the value of Content-Type; null if there is none. `raw_path` is the path as it was sent.
  const HttpStreamFactory* StreamFor(std::string_view method, std::string_view raw_path,
                                     std::string_view content_type) const;
  // Returns the server's answer (404 or 405, in plain text) to a request without a route, before its body is read.
  // Returns nullopt if there is a route, if the path is malformed, and for GET, HEAD and OPTIONS. Does not consider the
  // routes of AddStream, so StreamFor must be called first.
  std::optional<HttpResponse> RefusalFromHead(std::string method, std::string_view raw_path) const;

 private:
  using Handler = std::variant<HttpHandler, HttpDeferredHandler>;
  using Methods = std::map<std::string, Handler, std::less<>>;
  struct Pattern {
    std::vector<std::string> segments;  // an empty segment, except the first, is a parameter
    Methods methods;
  };
  void AddHandler(std::string method, std::string path, Handler handler);
  const Handler* Find(std::string_view method, HttpRequest& request) const;
  HttpResponse Refusal(const HttpRequest& request) const;
  std::string AdviceOnSlash(std::string_view method, const std::vector<std::string_view>& segments) const;
  using Names = std::set<std::string, std::less<>>;
  static bool IsOwn(const Names& first_segments, std::string_view path);
  bool IsOther(const std::optional<std::string>& plain_path) const;

  std::map<std::string, Methods, std::less<>> routes_;
  std::map<std::string, Pattern, std::less<>> patterns_;  // by path
  std::vector<std::pair<std::string, HttpHandler>> by_accept_;
  std::map<std::string, std::map<std::string, HttpStreamFactory, std::less<>>, std::less<>> streams_;
  std::vector<std::pair<std::string, HttpStreamFactory>> streams_by_content_;
  std::vector<std::pair<std::string, Wording>> wordings_;
  std::shared_ptr<Names> first_segments_ = std::make_shared<Names>();  // the first segments of all routes
  std::function<bool(std::string_view path)> takes_other_;
  Handler for_others_;
};

}  // namespace weir
