// ManagementPost: one call of a management method over HTTP, from an administrator who was recognised by the request's
// head. Receives the body, lets a worker execute the call, and sends the answer as the client takes it.
//
// Threads: the server calls it on the connection's I/O thread; the body belongs to the worker once it has ended.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "relay/account/running_limit.h"
#include "relay/account/work_pool.h"
#include "relay/management/management_methods.h"
#include "relay/net/http_stream.h"

namespace weir {

struct ManagementPostParts {
  const ManagementMethods& methods;
  WorkPool& pool;
  // Bounds the bodies that are longer than ManagementMethods::kMostCallBytes and held at once.
  RunningLimit& documents;
  std::unique_ptr<RunningLimit::Slot> slot;  // held until the client has taken nearly all of the answer
  Administrator administrator;
  std::string address;  // the address of the client
  HttpFields headers;   // added to those of the answer
};

class ManagementPost final : public HttpStreamHandler, public std::enable_shared_from_this<ManagementPost> {
 public:
  ManagementPost(ManagementPostParts parts, HttpExchange& exchange);

  void OnBody(std::string_view piece) override;
  void OnBodyEnd() override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  HttpResponse Execute() const;
  void Refuse(int status, std::string why);
  void Answer(HttpResponse response);
  std::string NextPiece();
  void SendRest();

  const ManagementPostParts parts_;
  const HttpPoster post_;
  HttpExchange* exchange_;  // null once the exchange has ended or the whole answer was written
  std::unique_ptr<RunningLimit::Slot> document_;
  std::string body_;
  bool body_ended_ = false;
  std::string answer_;  // the body of the answer
  size_t sent_ = 0;     // bytes of `answer_` that were written
};

}  // namespace weir
