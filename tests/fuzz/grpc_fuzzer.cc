// Calls of gRPC. The first line names the call (h: Health/Check, r: a route that does not exist) and its grpc-timeout;
// the body follows. Messages are cut as a slow reader cuts them, and each call has one answer that clients understand.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "config/text/parse.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "relay/net/grpc/grpc_health.h"
#include "relay/net/grpc/grpc_message.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr size_t kMost = 100;

// Returns the size of the message with its frame, 0 if more bytes are needed, or nothing if it is no message.
std::optional<size_t> SlowFrame(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != '\0') return std::nullopt;
  if (text.size() < 5) return 0;
  size_t size = 0;
  for (size_t i = 1; i < 5; ++i) size = size * 256 + static_cast<uint8_t>(text[i]);
  if (size > kMost) return std::nullopt;
  return text.size() < size + 5 ? 0 : size + 5;
}

// A message that was read, when written, is read back and written the same.
template <typename Message>
void CheckMessage(std::string_view framed) {
  Message message;
  if (!ReadGrpcMessage(framed, &message).ok()) return;
  const std::string written = FramedGrpcMessage(message);
  Message again;
  Must(ReadGrpcMessage(written, &again).ok());
  Must(FramedGrpcMessage(again) == written);
}

void CheckFrames(std::string_view body) {
  for (;;) {
    size_t size = 0;
    const GrpcStatus status = FindGrpcMessage(body, kMost, &size);
    const std::optional<size_t> slow = SlowFrame(body);
    Must(status.ok() == slow.has_value());
    if (!slow) return;
    Must(size == *slow);
    if (size == 0) return;
    CheckMessage<grpc::health::v1::HealthCheckRequest>(body.substr(0, size));
    CheckMessage<grpc::reflection::v1::ServerReflectionRequest>(body.substr(0, size));
    body.remove_prefix(size);
  }
}

struct OneAnswer final : HttpReply::Receiver {
  void Give(HttpResponse response) override {
    Must(!answer);
    answer = std::move(response);
  }
  bool Abandoned() const override { return false; }
  void OnLeft(HttpReply::LeftHandler) override {}

  std::optional<HttpResponse> answer;
};

std::string_view StatusIn(const HttpFields& fields) {
  for (const auto& [name, value] : fields)
    if (name == "grpc-status") return value;
  return {};
}

void CheckCall(char route, std::string_view timeout, std::string_view body) {
  static const HttpRouter router = [] {
    HttpRouter made;
    AddGrpcHealth(made, [](std::string_view service) { return service.empty() ? std::optional(true) : std::nullopt; });
    return made;
  }();
  HttpRequest request{.method = "POST",
                      .path = std::string("/grpc.health.v1.Health/") + (route == 'h' ? "Check" : "Insult"),
                      .body = std::string(body),
                      .headers = {{"content-type", "application/grpc"}, {"grpc-timeout", std::string(timeout)}},
                      .over_http2 = true};
  request.raw_path = request.path;
  const auto routed = router.Route(request);
  const auto receiver = std::make_shared<OneAnswer>();
  std::get<const HttpDeferredHandler*>(routed)->operator()(request, HttpReply(receiver));
  Must(receiver->answer.has_value() && receiver->answer->status == 200);
  const bool in_head = !StatusIn(receiver->answer->headers).empty();
  const std::string_view status = StatusIn(in_head ? receiver->answer->headers : receiver->answer->trailers);
  Must(ParseUnsigned(status, {0, 16}).ok(), std::string(status));
  Must(in_head == receiver->answer->body.empty());
}

void Check(std::string_view input) {
  const auto route = static_cast<char>(TakeByte(&input));
  const std::string_view timeout = input.substr(0, input.find('\n'));
  const std::string_view body = input.substr(std::min(timeout.size() + 1, input.size()));
  CheckFrames(body);
  CheckCall(route, timeout, body);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
