#include "relay/server/http_message.h"

#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>

#include "config/parse.h"
#include "relay/server/percent.h"

namespace weir {
namespace {

namespace http = boost::beast::http;

// RFC 6455, 4.2.1: 16 bytes in base64.
bool IsWebSocketKey(std::string_view key) {
  namespace base64 = boost::beast::detail::base64;
  if (key.size() != 24 || !key.ends_with("==")) return false;
  char decoded[24];
  return base64::decode(decoded, key.data(), key.size()) == std::pair<size_t, size_t>(16, 22);
}

std::string HttpDate() {
  thread_local std::time_t second = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != second) {
    std::tm fields{};
    gmtime_r(&now, &fields);
    char buffer[64];
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &fields));
    second = now;
  }
  return text;
}

// Without what a browser would keep to itself.
std::string Start(const HttpResponse& response) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text.append(reason.data(), reason.size());
  text += "\r\nServer: weir\r\nDate: " + HttpDate() + "\r\n";
  if (HasBody(response) && !response.content_type.empty()) text += "Content-Type: " + response.content_type + "\r\n";
  return text;
}

std::string Rest(const HttpResponse& response, bool keep_alive) {
  std::string text;
  for (const auto& [name, value] : response.headers) text.append(name).append(": ").append(value).append("\r\n");
  return text += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
}

}  // namespace

std::string_view TargetOf(const BeastRequest& request) {
  std::string_view target(request.target().data(), request.target().size());
  // The absolute form, as to a proxy: all of this port is one host.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == target.npos ? std::string_view("/") : target.substr(slash);
  }
  return target.substr(0, target.find('#'));
}

bool AsksForWebSocket(const BeastRequest& request) {
  return http::token_list(request[http::field::upgrade]).exists("websocket");
}

bool AsksToContinue(const BeastRequest& request) {
  return boost::beast::iequals(request[http::field::expect], "100-continue");
}

std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request) {
  const auto bad = [](std::string text) {
    return HttpResponse{.status = 400, .body = "not a WebSocket handshake: " + std::move(text) + "\n"};
  };
  if (request.method() != http::verb::get) return bad("the method must be GET");
  if (request.version() < 11) return bad("it takes HTTP/1.1");
  if (!http::token_list(request[http::field::connection]).exists("upgrade")) return bad("no Connection: Upgrade");
  if (request.count(http::field::host) != 1) return bad("one Host header is needed");
  if (request.count(http::field::sec_websocket_version) == 0) return bad("no Sec-WebSocket-Version");
  if (request[http::field::sec_websocket_version] != "13") {
    return HttpResponse{.status = 426,
                        .body = "Sec-WebSocket-Version must be 13\n",
                        .headers = {{"Sec-WebSocket-Version", "13"}, {"Upgrade", "websocket"}}};
  }
  if (!IsWebSocketKey(request[http::field::sec_websocket_key])) return bad("no good Sec-WebSocket-Key");
  return std::nullopt;
}

HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes) {
  if (error == http::error::header_limit) return {.status = 431, .body = "the headers are too long\n"};
  if (error == http::error::body_limit) {
    return {.status = 413,
            .body = "the body is too long; up to " + std::to_string(max_body_bytes) + " bytes are taken\n"};
  }
  if (error == http::error::bad_version) return {.status = 505, .body = "HTTP/1.1 is spoken here\n"};
  return {.status = 400, .body = "not a request: " + error.message() + "\n"};
}

std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams) {
  const bool coded = request.count(http::field::transfer_encoding) > 0;
  if (coded && !boost::beast::iequals(JoinedHeader(request, "Transfer-Encoding"), "chunked"))
    return HttpResponse{.status = 501, .body = "of Transfer-Encoding only chunked is known here, and that once\n"};
  const bool has_body = request.method() != http::verb::get && request.method() != http::verb::head;
  if (streams && has_body && !coded && request.count(http::field::content_length) == 0)
    return HttpResponse{.status = 411, .body = "it takes Content-Length, or Transfer-Encoding: chunked\n"};
  return std::nullopt;
}

std::string JoinedHeader(const BeastRequest& request, std::string_view name) {
  std::string joined;
  const auto range = request.equal_range(name);
  for (auto i = range.first; i != range.second; ++i) {
    if (!joined.empty()) joined += ',';
    joined.append(i->value().data(), i->value().size());
  }
  return joined;
}

std::optional<std::string> PathOf(const BeastRequest& request) {
  const std::string_view target = TargetOf(request);
  if (!target.starts_with('/') && target != "*") return std::nullopt;
  return DecodePercent(target.substr(0, target.find('?')));
}

std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer) {
  auto path = PathOf(request);
  if (!path) return std::nullopt;
  HttpRequest result;
  result.method = std::string(request.method_string());
  result.path = *std::move(path);
  const std::string_view target = TargetOf(request);
  const size_t question = target.find('?');
  result.raw_path = target.substr(0, question);
  if (question != target.npos) result.query = target.substr(question + 1);
  result.address = std::move(address);
  result.peer = std::move(peer);
  for (const auto& field : request) {
    std::string name(field.name_string());
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    result.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  result.body = std::move(request.body());
  return result;
}

bool HasBody(const HttpResponse& response) { return response.status != 204 && response.status != 304; }

std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body) {
  std::string text = Start(response);
  if (HasBody(response)) text += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  text += Rest(response, keep_alive);
  if (HasBody(response) && with_body) text += response.body;
  return text;
}

std::string SerializeHead(const HttpResponse& response, bool chunked) {
  std::string text = Start(response);
  if (HasBody(response) && chunked) text += "Transfer-Encoding: chunked\r\n";
  return text + Rest(response, false);
}

}  // namespace weir
