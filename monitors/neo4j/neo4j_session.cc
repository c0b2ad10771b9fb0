#include "monitors/neo4j/neo4j_session.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <simdjson.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/text/percent.h"

namespace weir {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = boost::asio::ip::tcp;
using Error = boost::system::error_code;

constexpr uint64_t kMostAnswerBytes = 64 << 20;
constexpr std::string_view kCaFile = "?ca=";

std::string Base64(const std::string& text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  encoded.resize(static_cast<size_t>(size));
  return encoded;
}

std::string BodyOf(const std::vector<Neo4jStatement>& statements) {
  std::string body = "{\"statements\":[";
  for (const Neo4jStatement& statement : statements) {
    body += body.back() == '[' ? "{\"statement\":" : ",{\"statement\":";
    AppendJsonString(statement.cypher, &body);
    body += ",\"parameters\":" + statement.parameters + "}";
  }
  return body + "]}";
}

// The first that the body tells of; none: "".
std::string ErrorIn(const std::string& body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array errors;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["errors"].get(errors) != simdjson::SUCCESS)
    return "an answer that is none of a Neo4j";
  for (const simdjson::dom::element error : errors) {
    std::string_view code;
    std::string_view message;
    if (error["code"].get(code) != simdjson::SUCCESS || error["message"].get(message) != simdjson::SUCCESS)
      return "an error that says nothing";
    return Printable(std::string(code)) + ": " + Printable(std::string(message.substr(0, message.find('\n'))));
  }
  return "";
}

}  // namespace

Result<Neo4jAddress> ParseNeo4jUrl(const std::string& url) {
  const Status wrong = Status::Error("this is no address of a Neo4j; expected http://user:password@host:7474/database");
  if (std::ranges::any_of(url, [](unsigned char c) { return c <= ' ' || c == 0x7f; })) return wrong;
  Neo4jAddress address;
  std::string_view rest = url;
  const size_t scheme = rest.find("://");
  if (scheme == rest.npos || (rest.substr(0, scheme) != "http" && rest.substr(0, scheme) != "https")) return wrong;
  address.tls = scheme == 5;
  address.port = address.tls ? 7473 : 7474;
  rest.remove_prefix(scheme + 3);
  if (const size_t query = rest.find(kCaFile); query != rest.npos) {
    const auto file = DecodePercent(rest.substr(query + kCaFile.size()));
    if (!file || file->empty() || !address.tls) return wrong;
    address.ca_file = *file;
    rest = rest.substr(0, query);
  }
  if (const size_t slash = rest.find('/'); slash != rest.npos) {
    if (slash + 1 < rest.size()) address.database = rest.substr(slash + 1);
    if (address.database.find_first_of("/?#%") != std::string::npos) return wrong;
    rest = rest.substr(0, slash);
  }
  if (const size_t at = rest.rfind('@'); at != rest.npos) {
    const std::string_view who = rest.substr(0, at);
    const size_t colon = std::min(who.find(':'), who.size());
    const auto user = DecodePercent(who.substr(0, colon));
    const auto password = DecodePercent(who.substr(std::min(colon + 1, who.size())));
    if (!user || !password) return wrong;
    address.user = *user;
    address.password = *password;
    rest.remove_prefix(at + 1);
  }
  const size_t colon = rest.rfind(':');
  if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
    const Result<int64_t> port = ParseInteger(std::string(rest.substr(colon + 1)), {.min = 1, .max = 65535});
    if (!port.ok()) return wrong;
    address.port = static_cast<uint16_t>(port.value());
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty() || rest.find_first_of("?#%[]") != rest.npos) return wrong;
  address.host = rest;
  return address;
}

class Neo4jSession::Connection {
 public:
  Connection(const Neo4jAddress& address, TimePoint end) : address_(address), end_(end) {}

  Status Open() {
    Error error;
    Tcp::resolver resolver(io_);
    const auto found = resolver.resolve(address_.host, std::to_string(address_.port), error);
    if (error) return Status::Error(error.message());
    if (!address_.tls) {
      plain_.emplace(io_);
      return Await([&](auto done) { plain_->async_connect(found, [done](Error e, const auto&) { done(e); }); });
    }
    context_.emplace(boost::asio::ssl::context::tls_client);
    address_.ca_file.empty() ? context_->set_default_verify_paths(error)
                             : context_->load_verify_file(address_.ca_file, error);
    if (error) return Status::Error("cannot read " + address_.ca_file + ": " + error.message());
    tls_.emplace(io_, *context_);
    tls_->set_verify_mode(boost::asio::ssl::verify_peer);
    tls_->set_verify_callback(boost::asio::ssl::host_name_verification(address_.host));
    boost::asio::ip::make_address(address_.host, error);
    if (error) SSL_set_tlsext_host_name(tls_->native_handle(), address_.host.c_str());  // a name, not a number
    Status status = Await([&](auto done) {
      beast::get_lowest_layer(*tls_).async_connect(found, [done](Error e, const auto&) { done(e); });
    });
    if (status.ok())
      status = Await([&](auto done) { tls_->async_handshake(boost::asio::ssl::stream_base::client, done); });
    return status;
  }

  // The body, whatever its status.
  Status Ask(const http::request<http::string_body>& request, TimePoint end,
             http::response<http::string_body>* answer) {
    end_ = end;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMostAnswerBytes);
    const auto exchange = [&](auto& stream) {
      Status status =
          Await([&](auto done) { http::async_write(stream, request, [done](Error e, size_t) { done(e); }); });
      if (status.ok())
        status =
            Await([&](auto done) { http::async_read(stream, buffer_, parser, [done](Error e, size_t) { done(e); }); });
      return status;
    };
    Status status = tls_ ? exchange(*tls_) : exchange(*plain_);
    if (status.ok()) *answer = parser.release();
    return status;
  }
  // The other side closed it while nobody asked, or said something then: that it closes, by TLS or by HTTP 408.
  bool IsSpent() {
    if (buffer_.size() > 0) return true;
    char next;
    const auto got = recv((tls_ ? beast::get_lowest_layer(*tls_) : *plain_).socket().native_handle(), &next, 1,
                          MSG_PEEK | MSG_DONTWAIT);
    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  template <typename Begin>
  Status Await(Begin begin) {
    auto& tcp = tls_ ? beast::get_lowest_layer(*tls_) : *plain_;
    tcp.expires_at(end_);
    Error result = boost::asio::error::operation_aborted;
    begin([&result](Error e) { result = e; });
    io_.restart();
    io_.run();
    if (!result) return {};
    return Status::Error(result == beast::error::timeout ? "no answer in time" : result.message());
  }

  const Neo4jAddress& address_;
  TimePoint end_;
  boost::asio::io_context io_;
  std::optional<boost::asio::ssl::context> context_;
  std::optional<beast::tcp_stream> plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
  beast::flat_buffer buffer_;
};

Neo4jSession::Neo4jSession(Neo4jAddress address) : address_(std::move(address)) {}
Neo4jSession::~Neo4jSession() = default;

Result<std::string> Neo4jSession::Commit(const std::vector<Neo4jStatement>& statements, Duration patience) {
  const TimePoint end = Clock::System().Now() + patience;
  const auto failed = [this](const std::string& what) {
    return Status::Error("Neo4j at " + address_.host + ":" + std::to_string(address_.port) + ": " + what);
  };
  http::request<http::string_body> request(http::verb::post, "/db/" + address_.database + "/tx/commit", 11);
  const std::string host = address_.host.find(':') == address_.host.npos ? address_.host : "[" + address_.host + "]";
  request.set(http::field::host, host + ":" + std::to_string(address_.port));
  request.set(http::field::content_type, "application/json");
  request.set(http::field::accept, "application/json");
  if (!address_.user.empty())
    request.set(http::field::authorization, "Basic " + Base64(address_.user + ":" + address_.password));
  request.body() = BodyOf(statements);
  request.prepare_payload();
  http::response<http::string_body> answer;
  Status status;
  if (connection_ == nullptr || connection_->IsSpent()) {
    connection_ = std::make_unique<Connection>(address_, end);
    status = connection_->Open();
  }
  if (status.ok()) status = connection_->Ask(request, end, &answer);
  if (!status.ok()) {
    connection_.reset();
    return failed(status.message());
  }
  if (!answer.keep_alive()) connection_.reset();
  const std::string error = ErrorIn(answer.body());
  if (http::to_status_class(answer.result()) != http::status_class::successful)
    return failed("HTTP status " + std::to_string(answer.result_int()) + (error.empty() ? "" : ", " + error));
  if (!error.empty()) return failed(error);
  return std::move(answer.body());
}

}  // namespace weir
