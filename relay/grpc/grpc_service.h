// GrpcService adds the methods of one gRPC service to the routes of a server.
//
//   GrpcService greeter(router, "test.Greeter");
//   greeter.AddUnary<Name, Greeting>("Greet", [](const GrpcCall& call, Name& name, GrpcReply<Greeting> reply) {
//     Greeting greeting;
//     …
//     reply(greeting);  // or reply(GrpcStatus{…})
//   });
//
// A method may answer with a stream instead: AddWatch, or AddStream for messages that come and go one by one.
//
// Requests that reach no method (another content type, a malformed message, an unknown method, a body that is too long)
// are answered as gRPC servers do. Handlers run like those of http.h, and a reply is an HttpReply: it is given once,
// now or later, from any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/grpc/grpc_message.h"
#include "relay/grpc/grpc_status.h"
#include "relay/grpc/grpc_stream.h"
#include "relay/grpc/grpc_watch.h"
#include "relay/server/http.h"

namespace weir {

template <typename Response>
class GrpcReply {
 public:
  explicit GrpcReply(HttpReply http) : http_(std::move(http)) {}

  void operator()(const Response& message) const { http_(GrpcAnswer(message)); }
  void operator()(const GrpcStatus& error) const { http_(GrpcError(error)); }
  // For handlers that only have to know whether the client still waits, or that answer with what GrpcError makes.
  const HttpReply& http() const { return http_; }

 private:
  HttpReply http_;
};

// Only makes routes: it need not outlive them.
class GrpcService {
 public:
  // The router must outlive it. `name` includes the package: "weir.v1.Quota".
  GrpcService(HttpRouter& router, std::string_view name) : router_(router), prefix_("/" + std::string(name) + "/") {
    router.AddDeferred("POST", prefix_ + "{method}", [](const HttpRequest& request, const HttpReply& reply) {
      GrpcCall call{request};
      if (const auto refusal = ReadGrpcCall(Clock::System().Now(), &call)) return reply(*refusal);
      reply(GrpcError({GrpcCode::kUnimplemented, "there is no method " + request.path.substr(1)}));
    });
    router.AddWording(prefix_, PlainErrorAsGrpc);
  }

  // The message is the handler's own, which may change it.
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

  void AddStream(std::string_view method, GrpcStreamFactory factory) {
    AddGrpcStream(router_, prefix_ + std::string(method), std::move(factory));
  }

  // Streams the answers of a unary method (grpc_watch.h). `clear_passing`, which may be null, removes the parts of an
  // answer that change by themselves as time goes.
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
