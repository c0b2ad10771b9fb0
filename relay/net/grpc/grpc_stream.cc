#include "relay/net/grpc/grpc_stream.h"

#include <optional>
#include <utility>
#include <variant>

#include "config/clock.h"

namespace weir {

void GrpcStream::Begin() {
  if (!std::exchange(begun_, true)) exchange_.Begin(GrpcHead());
}

void GrpcStream::SendFramed(std::string_view message) {
  if (over_) return;
  Begin();
  exchange_.Write(message);
}

void GrpcStream::FinishWith(HttpFields trailers) {
  if (over_) return;
  Begin();
  over_ = true;
  exchange_.EndWith(std::move(trailers));
}

// The exchange's handler: cuts the body into messages.
class GrpcStreamCall final : public HttpStreamHandler {
 public:
  explicit GrpcStreamCall(HttpExchange& exchange) : exchange_(exchange), stream_(exchange) {}

  void Begin(const GrpcCall& call, const GrpcStreamFactory& factory) { handler_ = factory(call, stream_); }

  void OnBody(std::string_view piece) override {
    unread_ += piece;
    HandOver();
  }
  void OnBodyEnd() override {
    body_ended_ = true;
    HandOver();
  }
  void OnShutdown() override { stream_.Finish({GrpcCode::kUnavailable, "the server is shutting down"}); }
  void OnEnd(std::string_view) override {
    stream_.over_ = true;
    handler_->OnEnd();
  }

 private:
  void HandOver();

  HttpExchange& exchange_;
  GrpcStream stream_;
  std::shared_ptr<GrpcStreamHandler> handler_;
  std::string unread_;
  bool body_ended_ = false;
  bool waits_ = false;  // true while it waits until the client has taken output
  bool told_ = false;   // true once OnMessagesEnd was called
};

void GrpcStreamCall::HandOver() {
  size_t read = 0;
  bool needs_more = false;
  while (!stream_.is_over() && !waits_ && !needs_more) {
    if (stream_.is_full()) {
      waits_ = true;
      exchange_.PauseBody();
      stream_.WhenTaken([this] {
        waits_ = false;
        exchange_.ResumeBody();
        HandOver();
      });
      break;
    }
    const std::string_view rest = std::string_view(unread_).substr(read);
    size_t bytes = 0;
    const GrpcStatus status = FindGrpcMessage(rest, kMostStreamedMessageBytes, &bytes);
    if (!status.ok()) return stream_.Finish(status);
    needs_more = bytes == 0;
    if (!needs_more) handler_->OnMessage(rest.substr(0, bytes));
    read += bytes;
  }
  unread_.erase(0, read);
  if (!needs_more || !body_ended_ || std::exchange(told_, true)) return;
  if (!unread_.empty()) return stream_.Finish({GrpcCode::kInternal, "the last message ends early"});
  handler_->OnMessagesEnd();
}

void AddGrpcStream(HttpRouter& router, std::string path, GrpcStreamFactory factory) {
  router.AddStream("POST", std::move(path),
                   [factory = std::move(factory)](const HttpRequest& head, HttpExchange& exchange)
                       -> std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>> {
                     GrpcCall call{head};
                     if (auto refusal = ReadGrpcCall(Clock::System().Now(), &call)) return *std::move(refusal);
                     const auto made = std::make_shared<GrpcStreamCall>(exchange);
                     made->Begin(call, factory);
                     return made;
                   });
}

}  // namespace weir
