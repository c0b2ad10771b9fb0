// GrpcService: adds the methods of one gRPC service to the routes of an HTTP server (relay/net/http.h).
//
//   GrpcService greeter(router, "test.Greeter");
//   greeter.AddUnary<Name, Greeting>("Greet", [](const GrpcCall& call, Name& name, GrpcReply<Greeting> reply) {
//     Greeting greeting;
//     …
//     reply(greeting);  // or reply(GrpcStatus{…})
//   });
//
// AddUnary adds a method that answers with one message. AddStream adds a method in which both sides send messages one
// by one (grpc_stream.h). AddWatch adds a method that sends its answer again when it has changed (grpc_watch.h).
//
// Requests that reach no handler (another content type, a malformed message, an unknown method, a body that is too
// long) get the errors that gRPC defines. A handler is called like an HttpDeferredHandler, on an I/O thread, and must
// not block. A reply is an HttpReply: the handler calls it once, at once or later, on any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/net/grpc/grpc_message.h"
#include "relay/net/grpc/grpc_status.h"
#include "relay/net/grpc/grpc_stream.h"
#include "relay/net/grpc/grpc_watch.h"
#include "relay/net/http.h"

namespace weir {

template <typename Response>
class GrpcReply {
 public:
  explicit GrpcReply(HttpReply http) : http_(std::move(http)) {}

  // These send the answer; after the first call they do nothing.
  void operator()(const Response& message) const { http_(GrpcAnswer(message)); }
  void operator()(const GrpcStatus& error) const { http_(GrpcError(error)); }
  // Returns the HTTP reply, which can tell whether the client has left. If the handler calls it, the argument must be a
  // result of GrpcAnswer or GrpcError.
  const HttpReply& http() const { return http_; }

 private:
  HttpReply http_;
};

// The object is only needed to add methods: the routes remain when it is destroyed.
class GrpcService {
 public:
  // The router must outlive this object. `name` includes the package: "weir.v1.Quota".
  GrpcService(HttpRouter& router, std::string_view name) : router_(router), prefix_("/" + std::string(name) + "/") {
    router.AddDeferred("POST", prefix_ + "{method}", [](const HttpRequest& request, const HttpReply& reply) {
      GrpcCall call{request};
      if (const auto refusal = ReadGrpcCall(Clock::System().Now(), &call)) return reply(*refusal);
      reply(GrpcError({GrpcCode::kUnimplemented, "there is no method " + request.path.substr(1)}));
    });
    router.AddWording(prefix_, PlainErrorAsGrpc);
  }

  // The handler of a unary method. It may change `message` or move from it. `call` and `message` are valid until it
  // returns.
  template <typename Request, typename Response>
  using Unary = std::function<void(const GrpcCall& call, Request& message, GrpcReply<Response> reply)>;
  template <typename Request, typename Response>
  void AddUnary(std::string_view method, Unary<Request, Response> handler) {
    router_.AddDeferred("POST", prefix_ + std::string(method),
                        [handler = std::move(handler)](const HttpRequest& request, HttpReply reply) {
                          GrpcCall call{request};
                          Request message;
                          if (const auto refusal = ReadUnaryCall(Clock::System().Now(), &call, &message))
                            return reply(*refusal);
                          handler(call, message, GrpcReply<Response>(std::move(reply)));
                        });
  }

  // Adds a method in which both sides send messages one by one (grpc_stream.h).
  void AddStream(std::string_view method, GrpcStreamFactory factory) {
    AddGrpcStream(router_, prefix_ + std::string(method), std::move(factory));
  }

  // Adds a method that sends the answer of the unary `handler` at once, and again each time that it has changed
  // (grpc_watch.h). `clear_passing`, unless it is null, removes from an answer the parts that change merely because
  // time passes, so that they do not count as a change.
  template <typename Request, typename Response>
  void AddWatch(std::string_view method, const GrpcWatchPace& pace, void (*clear_passing)(Response*),
                Unary<Request, Response> handler) {
    const auto ask = [handler = std::move(handler)](const GrpcCall& call, std::string_view framed, HttpReply reply) {
      Request message;
      const GrpcStatus read = ReadGrpcMessage(framed, &message);
      if (!read.ok()) return reply(GrpcError(read));
      handler(call, message, GrpcReply<Response>(std::move(reply)));
    };
    const auto state = [clear_passing](std::string_view framed) {
      Response answer;
      if (clear_passing == nullptr || !ReadGrpcMessage(framed, &answer).ok()) return std::string(framed);
      clear_passing(&answer);
      return answer.SerializeAsString();
    };
    AddGrpcWatch(router_, prefix_ + std::string(method), pace, {.ask = ask, .state = state});
  }

 private:
  HttpRouter& router_;
  const std::string prefix_;
};

}  // namespace weir
