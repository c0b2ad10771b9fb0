#include "relay/net/grpc/grpc_message.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "config/text/percent.h"

namespace weir {
namespace {

using google::protobuf::MessageLite;

constexpr size_t kPrefixBytes = 5;
constexpr std::string_view kContentType = "application/grpc";

bool IsGrpc(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return type == kContentType || type == "application/grpc+proto";
}

// Returns true for a character that grpc-message has without an escape. These are the characters that gRPC's protocol
// names; some clients decode no other form.
bool IsKeptInMessage(char c) { return c >= 0x20 && c <= 0x7E && c != '%'; }

GrpcStatus Internal(std::string message) { return {GrpcCode::kInternal, std::move(message)}; }

// Parses grpc-timeout: at most eight digits, and a unit.
std::optional<Duration> ReadTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  int64_t amount = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    amount = amount * 10 + (c - '0');
  }
  // 99,999,999 hours do not fit into nanoseconds.
  constexpr std::chrono::hours kLongest{24 * 365 * 100};
  switch (text.back()) {
    case 'H':
      return std::min(std::chrono::hours(amount), kLongest);
    case 'M':
      return std::min<std::chrono::minutes>(std::chrono::minutes(amount), kLongest);
    case 'S':
      return std::chrono::seconds(amount);
    case 'm':
      return std::chrono::milliseconds(amount);
    case 'u':
      return std::chrono::microseconds(amount);
    case 'n':
      return Duration(amount);
    default:
      return std::nullopt;
  }
}

GrpcCode CodeOf(int http_status) {
  switch (http_status) {
    case 400:
    case 500:
      return GrpcCode::kInternal;
    case 401:
      return GrpcCode::kUnauthenticated;
    case 403:
      return GrpcCode::kPermissionDenied;
    case 404:
    case 405:
      return GrpcCode::kUnimplemented;
    case 408:
      return GrpcCode::kDeadlineExceeded;
    case 413:
    case 431:
      return GrpcCode::kResourceExhausted;
    case 429:
    case 503:
      return GrpcCode::kUnavailable;
    default:
      return GrpcCode::kUnknown;
  }
}

}  // namespace

std::optional<HttpResponse> ReadGrpcCall(TimePoint now, GrpcCall* call) {
  const HttpRequest& http = call->http;
  if (!IsGrpc(http.Header("content-type"))) {
    return HttpResponse{
        .status = 415,
        .body = "what is here is called by gRPC: a POST over HTTP/2 with Content-Type application/grpc\n"};
  }
  if (!http.over_http2)
    return HttpResponse{.status = 505, .body = "gRPC goes over HTTP/2 alone: ask again with that\n"};
  const std::string_view coding = http.Header("grpc-encoding");
  if (!coding.empty() && coding != "identity") {
    HttpResponse refusal = GrpcError(
        {GrpcCode::kUnimplemented, "messages compressed by " + Printable(coding) + " are not understood; identity is"});
    refusal.headers.emplace_back("grpc-accept-encoding", "identity");
    return refusal;
  }
  const std::string_view timeout = http.Header("grpc-timeout");
  if (timeout.empty()) return std::nullopt;
  const std::optional<Duration> left = ReadTimeout(timeout);
  if (!left) return GrpcError(Internal("grpc-timeout: found " + Printable(timeout) + ", expected such as 250m or 5S"));
  if (*left <= Duration::zero()) return GrpcError({GrpcCode::kDeadlineExceeded, "the deadline has passed"});
  call->deadline = now + *left;
  return std::nullopt;
}

std::optional<HttpResponse> ReadUnaryCall(TimePoint now, GrpcCall* call, MessageLite* message) {
  if (auto refusal = ReadGrpcCall(now, call)) return refusal;
  const GrpcStatus read = ReadGrpcMessage(call->http.body, message);
  return read.ok() ? std::nullopt : std::optional(GrpcError(read));
}

GrpcStatus FindGrpcMessage(std::string_view text, size_t most_bytes, size_t* framed_bytes) {
  *framed_bytes = 0;
  if (!text.empty() && text[0] == 1) return Internal("a message is compressed, and grpc-encoding does not say by what");
  if (!text.empty() && text[0] != 0) return Internal("a message's first byte is neither 0 nor 1");
  if (text.size() < kPrefixBytes) return {};
  size_t bytes = 0;
  for (size_t n = 1; n < kPrefixBytes; ++n) bytes = bytes << 8 | static_cast<uint8_t>(text[n]);
  if (bytes > most_bytes) {
    return {GrpcCode::kResourceExhausted,
            "a message of " + std::to_string(bytes) + " bytes, expected at most " + std::to_string(most_bytes)};
  }
  if (text.size() >= kPrefixBytes + bytes) *framed_bytes = kPrefixBytes + bytes;
  return {};
}

GrpcStatus ReadGrpcMessage(std::string_view framed, MessageLite* message) {
  if (framed.empty()) return Internal("a message is missing");
  size_t bytes = 0;
  GrpcStatus found = FindGrpcMessage(framed, kMostGrpcMessageBytes, &bytes);
  if (!found.ok()) return found;
  if (bytes == 0) return Internal("the message ends early");
  if (framed.size() > bytes) return Internal("something follows the message, expected one");
  // Otherwise each text of a client that is not UTF-8 would make protobuf write a line to the log.
  [[maybe_unused]] static const auto before = google::protobuf::SetLogHandler(nullptr);
  if (!message->ParseFromArray(framed.data() + kPrefixBytes, static_cast<int>(bytes - kPrefixBytes)))
    return Internal("the message is no " + message->GetTypeName());
  return {};
}

HttpResponse GrpcHead() { return {.content_type = std::string(kContentType)}; }

std::string FramedGrpcMessage(const MessageLite& message) {
  const size_t bytes = message.ByteSizeLong();
  std::string framed(kPrefixBytes + bytes, '\0');
  for (size_t n = 1; n < kPrefixBytes; ++n) framed[n] = static_cast<char>(bytes >> (8 * (kPrefixBytes - 1 - n)) & 255);
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(framed.data() + kPrefixBytes));
  return framed;
}

HttpResponse GrpcAnswer(const MessageLite& message) {
  HttpResponse answer = GrpcHead();
  answer.body = FramedGrpcMessage(message);
  answer.trailers = GrpcTrailers({});
  return answer;
}

HttpResponse GrpcError(const GrpcStatus& error) {
  HttpResponse answer = GrpcHead();
  answer.headers = GrpcTrailers(error);
  return answer;
}

HttpFields GrpcTrailers(const GrpcStatus& status) {
  HttpFields trailers;
  trailers.emplace_back("grpc-status", std::to_string(static_cast<int>(status.code)));
  if (!status.message.empty()) trailers.emplace_back("grpc-message", EncodePercent(status.message, IsKeptInMessage));
  return trailers;
}

HttpResponse PlainErrorAsGrpc(HttpResponse plain, const HttpRequest& request) {
  if (!request.over_http2 || !IsGrpc(request.Header("content-type"))) return plain;
  std::string_view text = plain.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  return GrpcError({CodeOf(plain.status), std::string(text)});
}

}  // namespace weir
