#include "relay/gate/http_call.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "config/parse.h"
#include "relay/version.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Failed = HttpCallResult::Failed;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

constexpr uint32_t kMaxHeadBytes = 64 << 10;

std::string Bracketed(const std::string& host) { return host.find(':') == host.npos ? host : "[" + host + "]"; }

struct Resolved {
  error_code error;
  tcp::resolver::results_type addresses;
};

// The system's resolver cannot be interrupted: whoever gives up leaves it to its thread.
std::optional<Resolved> Resolve(const ServerUrl& url, std::chrono::steady_clock::time_point deadline) {
  auto promise = std::make_shared<std::promise<Resolved>>();
  std::future<Resolved> answer = promise->get_future();
  std::thread([promise, host = url.host, port = url.port] {
    asio::io_context io;
    Resolved resolved;
    resolved.addresses = tcp::resolver(io).resolve(host, port, resolved.error);
    promise->set_value(std::move(resolved));
  }).detach();
  if (answer.wait_until(deadline) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

class Call {
 public:
  Call(const ServerUrl& url, const HttpRequest& request, const HttpCallOptions& options)
      : url_(url),
        request_(request),
        options_(options),
        deadline_(std::chrono::steady_clock::now() + options.timeout),
        tls_(asio::ssl::context::tls_client) {}

  HttpCallResult Run() {
    const std::optional<Resolved> resolved = Resolve(url_, deadline_);
    if (!resolved) return Late();
    if (resolved->error) return Failure(Failed::kResolve, "cannot find " + Printable(url_.host), resolved->error);
    if (!url_.tls) {
      beast::tcp_stream stream(io_);
      if (!Connect(stream, resolved->addresses)) return std::move(result_);
      return Exchange(stream);
    }
    if (!PrepareTls()) return std::move(result_);
    TlsStream stream(io_, tls_);
    if (!Connect(stream.next_layer(), resolved->addresses) || !Handshake(stream)) return std::move(result_);
    return Exchange(stream);
  }

 private:
  // Runs what `start` begins to its end, or to the deadline of the stream.
  template <typename Start>
  error_code Finish(Start start) {
    error_code result;
    start([&result](const error_code& error, auto&&...) { result = error; });
    io_.restart();
    io_.run();
    return result;
  }

  HttpCallResult Fail(Failed failed, std::string problem) {
    result_.failed = failed;
    result_.problem = std::move(problem);
    return std::move(result_);
  }
  HttpCallResult Late() {
    return Fail(Failed::kTimeout, "no answer from " + url_.Origin() + " within " +
                                      FormatNumber(static_cast<double>(options_.timeout.count()) / 1000) + " s");
  }
  HttpCallResult Failure(Failed failed, const std::string& what, const error_code& error) {
    if (error == beast::error::timeout) return Late();
    return Fail(failed, what + ": " + error.message());
  }
  bool Stop(HttpCallResult result) {
    result_ = std::move(result);
    return false;
  }

  bool PrepareTls() {
    error_code error;
    if (options_.ca_file.empty()) {
      tls_.set_default_verify_paths(error);
    } else {
      tls_.load_verify_file(options_.ca_file, error);
    }
    const std::string what =
        options_.ca_file.empty() ? "the system's certificates" : "the certificates of " + options_.ca_file;
    if (error) return Stop(Failure(Failed::kTls, "cannot read " + what, error));
    SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_2_VERSION);
    tls_.set_verify_mode(asio::ssl::verify_peer, error);
    return true;
  }

  bool Connect(beast::tcp_stream& stream, const tcp::resolver::results_type& addresses) {
    stream.expires_at(deadline_);
    const error_code error = Finish([&](auto done) { stream.async_connect(addresses, done); });
    if (error) {
      const std::string where = Bracketed(Printable(url_.host)) + ":" + url_.port;
      return Stop(Failure(Failed::kConnect, "cannot connect to " + where, error));
    }
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    return true;
  }

  bool Handshake(TlsStream& stream) {
    SSL* ssl = stream.native_handle();
    error_code not_an_address;
    asio::ip::make_address(url_.host, not_an_address);
    if (not_an_address) {
      SSL_set_tlsext_host_name(ssl, url_.host.c_str());
      SSL_set1_host(ssl, url_.host.c_str());
    } else {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), url_.host.c_str());
    }
    const error_code error = Finish([&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, done); });
    if (!error) return true;
    const std::string what = "no TLS with " + url_.Origin();
    const int64_t verified = SSL_get_verify_result(ssl);
    if (verified == X509_V_OK) return Stop(Failure(Failed::kTls, what, error));
    return Stop(Fail(Failed::kTls, what + ": its certificate is refused: " + X509_verify_cert_error_string(verified)));
  }

  http::request<http::string_body> Message() const {
    http::request<http::string_body> message;
    message.version(11);
    message.method_string(request_.method);
    message.target(url_.path + request_.raw_path);
    const bool usual_port = url_.port == (url_.tls ? "443" : "80");
    message.set(http::field::host, Bracketed(url_.host) + (usual_port ? "" : ":" + url_.port));
    message.set(http::field::user_agent, "weir/" + std::string(Version()));
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : request_.headers) message.set(name, value);
    message.body() = request_.body;
    message.prepare_payload();
    return message;
  }

  template <typename Stream>
  HttpCallResult Exchange(Stream& stream) {
    const http::request<http::string_body> message = Message();
    // Where sending fails the answer may be there all the same, and says why.
    const error_code sent = Finish([&](auto done) { http::async_write(stream, message, done); });
    if (sent == beast::error::timeout) return Late();
    http::response_parser<http::string_body> parser;
    parser.header_limit(kMaxHeadBytes);
    parser.body_limit(options_.max_answer_bytes);
    beast::flat_buffer buffer;
    const error_code error = Finish([&](auto done) { http::async_read(stream, buffer, parser, done); });
    if (error == http::error::body_limit || error == http::error::header_limit)
      return Fail(Failed::kAnswer, "the answer of " + url_.Origin() + " is larger than " +
                                       std::to_string(options_.max_answer_bytes) + " bytes");
    if (error == http::error::end_of_stream || error == asio::ssl::error::stream_truncated)
      return Fail(Failed::kAnswer, url_.Origin() + " hung up without an answer");
    if (error) return Failure(Failed::kAnswer, "no HTTP answer from " + url_.Origin(), error);
    return Done(parser.release());
  }

  HttpCallResult Done(http::response<http::string_body> message) {
    HttpResponse& response = result_.response;
    response.status = static_cast<int>(message.result_int());
    response.content_type = std::string(message[http::field::content_type]);
    for (const auto& field : message) response.headers.emplace_back(field.name_string(), field.value());
    response.body = std::move(message.body());
    return std::move(result_);
  }

  const ServerUrl& url_;
  const HttpRequest& request_;
  const HttpCallOptions& options_;
  const std::chrono::steady_clock::time_point deadline_;
  asio::io_context io_;
  asio::ssl::context tls_;
  HttpCallResult result_;
};

}  // namespace

std::string ServerUrl::Origin() const {
  const std::string usual = tls ? "443" : "80";
  return (tls ? "https://" : "http://") + Bracketed(host) + (port == usual ? "" : ":" + port);
}

bool ServerUrl::is_loopback() const {
  error_code not_an_address;
  const asio::ip::address address = asio::ip::make_address(host, not_an_address);
  return not_an_address ? host == "localhost" : address.is_loopback();
}

Result<ServerUrl> ParseServerUrl(std::string_view url) {
  const Status bad = Status::Error("not like http://127.0.0.1:3335 or https://host/path");
  ServerUrl parts;
  if (!url.starts_with("http://") && !url.starts_with("https://")) return bad;
  parts.tls = url.starts_with("https://");
  url.remove_prefix(parts.tls ? 8 : 7);
  for (const char c : url)
    if (c <= ' ' || c == 0x7f || c == '?' || c == '#' || c == '@' || c == '\\') return bad;
  const size_t slash = std::min(url.find('/'), url.size());
  parts.path = url.substr(slash);
  while (parts.path.ends_with('/')) parts.path.pop_back();
  url = url.substr(0, slash);
  const size_t bracket = url.starts_with('[') ? url.find(']') : 0;
  if (bracket == url.npos) return bad;
  const size_t colon = url.find(':', bracket);
  parts.host = bracket > 0 ? url.substr(1, bracket - 1) : url.substr(0, colon);
  if (bracket > 0 && bracket + 1 != std::min(colon, url.size())) return bad;
  parts.port = colon == url.npos ? (parts.tls ? "443" : "80") : std::string(url.substr(colon + 1));
  if (parts.host.empty() || !ParseUnsigned(parts.port, {.min = 1, .max = 65535}).ok()) return bad;
  return parts;
}

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded.append("%").append({kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  return encoded;
}

HttpCallResult CallHttp(const ServerUrl& url, const HttpRequest& request, const HttpCallOptions& options) {
  return Call(url, request, options).Run();
}

}  // namespace weir
