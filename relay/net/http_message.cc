#include "relay/net/http_message.h"

#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>

#include "config/text/parse.h"
#include "config/text/percent.h"

namespace weir {
namespace {

namespace http = boost::beast::http;

// Returns true if `key` is 16 bytes in base64 (RFC 6455, 4.2.1).
bool IsWebSocketKey(std::string_view key) {
  namespace base64 = boost::beast::detail::base64;
  if (key.size() != 24 || !key.ends_with("==")) return false;
  char decoded[24];
  return base64::decode(decoded, key.data(), key.size()) == std::pair<size_t, size_t>(16, 22);
}

// Decodes text without padding, as in RFC 7540.
std::optional<std::string> DecodeBase64Url(std::string text) {
  namespace base64 = boost::beast::detail::base64;
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  std::string decoded(base64::decoded_size(text.size()) + 3, '\0');
  const auto [written, read] = base64::decode(decoded.data(), text.data(), text.size());
  if (read != text.size()) return std::nullopt;
  decoded.resize(written);
  return decoded;
}

// Returns the target without its scheme if it is in absolute form, which is meant for proxies, else "".
std::string_view AbsoluteForm(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (boost::beast::iequals(target.substr(0, scheme.size()), scheme)) return target.substr(scheme.size());
  return {};
}

// The room for an answer's head. Most heads without fields of the handler are shorter.
constexpr size_t kHeadBytes = 256;

// Appends the status line and the headers that all answers have.
void AppendStart(const HttpResponse& response, std::string* text) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  text->append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  if (response.status == 499) {
    text->append("Client Closed Request");  // the text that nginx uses
  } else {
    text->append(reason.data(), reason.size());
  }
  text->append("\r\n");
  ForCommonHeaders(response, [text](std::string_view name, std::string_view value) {
    text->append(name).append(": ").append(value).append("\r\n");
  });
}

void AppendRest(const HttpResponse& response, bool keep_alive, std::string* text) {
  for (const auto& [name, value] : response.headers) text->append(name).append(": ").append(value).append("\r\n");
  text->append(keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

void AppendValue(std::string_view value, std::string* joined) {
  if (!joined->empty()) *joined += ',';
  *joined += value;
}

}  // namespace

std::string_view TargetOf(const BeastRequest& request) {
  std::string_view target(request.target().data(), request.target().size());
  if (const std::string_view absolute = AbsoluteForm(target); !absolute.empty()) {
    const size_t slash = absolute.find_first_of("/?#");
    target = slash == absolute.npos ? std::string_view("/") : absolute.substr(slash);
  }
  return target.substr(0, target.find('#'));
}

bool FoldsAField(std::string_view raw) { return raw.find("\n ") != raw.npos || raw.find("\n\t") != raw.npos; }

std::optional<HttpResponse> HeaderProblem(const BeastRequest& request, bool folds) {
  if (folds) return HttpResponse{.status = 400, .body = "a header must not continue on a second line\n"};
  const std::string_view absolute = AbsoluteForm({request.target().data(), request.target().size()});
  if (absolute.empty()) return std::nullopt;
  const std::string_view authority = absolute.substr(0, absolute.find_first_of("/?#"));
  const std::string_view host = request[http::field::host];
  if (boost::beast::iequals(authority, host)) return std::nullopt;
  return TwoHosts();
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
  if (request.version() < 11) return bad("HTTP/1.1 is needed");
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
  if (error == http::error::header_limit) return HeaderTooLong();
  if (error == http::error::body_limit) return BodyTooLong(max_body_bytes);
  if (error == http::error::bad_version) return {.status = 505, .body = "this server speaks HTTP/1.1\n"};
  return {.status = 400, .body = "not a request: " + error.message() + "\n"};
}

HttpResponse HeaderTooLong() { return {.status = 431, .body = "the headers are too long\n"}; }

HttpResponse BodyTooLong(uint64_t max_body_bytes) {
  return {.status = 413,
          .body = "the body is too long; up to " + std::to_string(max_body_bytes) + " bytes are taken\n"};
}

HttpResponse NotInTime() { return {.status = 408, .body = "no whole request came in time\n"}; }

HttpResponse BadTarget() { return {.status = 400, .body = "the request's target is not well-formed\n"}; }

HttpResponse TwoHosts() {
  return {.status = 400, .body = "the request's target and its Host header must name the same host\n"};
}

HttpResponse AddressHoldsTooMuch() {
  return {.status = 503,
          .body = "your address makes the relay hold more than it may\n",
          .headers = {{"Retry-After", "10"}}};
}

std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams) {
  const bool coded = request.count(http::field::transfer_encoding) > 0;
  if (coded && !boost::beast::iequals(JoinedHeader(request, "Transfer-Encoding"), "chunked"))
    return HttpResponse{.status = 501, .body = "the only Transfer-Encoding that is accepted is chunked, once\n"};
  const bool has_body = request.method() != http::verb::get && request.method() != http::verb::head;
  if (streams && has_body && !coded && request.count(http::field::content_length) == 0)
    return HttpResponse{.status = 411, .body = "the request needs Content-Length, or Transfer-Encoding: chunked\n"};
  return std::nullopt;
}

std::string JoinedHeader(const BeastRequest& request, std::string_view name) {
  std::string joined;
  const auto range = request.equal_range(name);
  for (auto i = range.first; i != range.second; ++i) AppendValue(i->value(), &joined);
  return joined;
}

std::string JoinedHeader(const HttpRequest& request, std::string_view lower_case_name) {
  std::string joined;
  for (const auto& [name, value] : request.headers)
    if (name == lower_case_name) AppendValue(value, &joined);
  return joined;
}

bool SetTarget(HttpRequest& request, std::string_view target) {
  if (!target.starts_with('/') && target != "*") return false;
  const size_t question = target.find('?');
  auto path = DecodePercent(target.substr(0, question));
  if (!path) return false;
  request.path = *std::move(path);
  request.raw_path = target.substr(0, question);
  if (question != target.npos) request.query = target.substr(question + 1);
  return true;
}

std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer) {
  HttpRequest result;
  if (!SetTarget(result, TargetOf(request))) return std::nullopt;
  result.method = std::string(request.method_string());
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

// RFC 7540, 3.2, requires exactly one such header, which the header Connection must also name.
std::optional<std::string> Http2SettingsOf(const BeastRequest& request) {
  constexpr std::string_view kSettings = "HTTP2-Settings";
  if (request.version() < 11 || request.count(kSettings) != 1) return std::nullopt;
  http::token_list connection(request[http::field::connection]);
  if (!connection.exists("upgrade") || !connection.exists(kSettings)) return std::nullopt;
  if (!http::token_list(request[http::field::upgrade]).exists("h2c")) return std::nullopt;
  return DecodeBase64Url(request[kSettings]);
}

std::string_view HttpDate() {
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

bool HasBody(const HttpResponse& response) { return response.status != 204 && response.status != 304; }

std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body) {
  size_t bytes = kHeadBytes + response.body.size();
  for (const auto& [name, value] : response.headers) bytes += name.size() + value.size() + 4;
  std::string text;
  text.reserve(bytes);
  AppendStart(response, &text);
  if (HasBody(response)) text.append("Content-Length: ").append(std::to_string(response.body.size())).append("\r\n");
  AppendRest(response, keep_alive, &text);
  if (HasBody(response) && with_body) text += response.body;
  return text;
}

std::string SerializeHead(const HttpResponse& response, bool chunked) {
  std::string text;
  AppendStart(response, &text);
  if (HasBody(response) && chunked) text += "Transfer-Encoding: chunked\r\n";
  AppendRest(response, false, &text);
  return text;
}

}  // namespace weir
