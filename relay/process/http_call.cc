#include "relay/process/http_call.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/none.hpp>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "config/text/parse.h"
#include "relay/process/version.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

constexpr uint32_t kMaxHeadBytes = 64 << 10;
constexpr size_t kPieceBytes = 16 << 10;

struct Resolved {
  error_code error;
  tcp::resolver::results_type addresses;
};

constexpr std::chrono::milliseconds kLookAtStopEvery{50};

// The system's resolver cannot be interrupted: whoever gives up leaves it to its thread.
std::optional<Resolved> Resolve(const ServerUrl& url, std::chrono::steady_clock::time_point deadline,
                                const std::stop_token& stop) {
  auto promise = std::make_shared<std::promise<Resolved>>();
  std::future<Resolved> answer = promise->get_future();
  std::thread([promise, host = url.host, port = url.port] {
    try {
      asio::io_context io;
      Resolved resolved;
      resolved.addresses = tcp::resolver(io).resolve(host, port, resolved.error);
      promise->set_value(std::move(resolved));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    if (answer.wait_until(std::min(deadline, now + kLookAtStopEvery)) == std::future_status::ready) return answer.get();
    if (now >= deadline || stop.stop_requested()) return std::nullopt;
  }
}

class Exchange {
 public:
  Exchange(const ServerUrl& url, const HttpCall& call)
      : url_(url),
        call_(call),
        deadline_(std::chrono::steady_clock::now() + call.timeout),
        tls_(asio::ssl::context::tls_client),
        stop_(call.stop, [this] { io_.stop(); }) {}

  HttpAnswer Run() {
    const std::optional<Resolved> resolved = Resolve(url_, deadline_, call_.stop);
    if (!resolved) return Late();
    if (resolved->error) return Failure("cannot find " + Printable(url_.host), resolved->error);
    if (!url_.tls) {
      beast::tcp_stream stream(io_);
      if (HttpAnswer failed = Connect(stream, resolved->addresses); !failed.ok()) return failed;
      return Ask(stream);
    }
    if (HttpAnswer failed = PrepareTls(); !failed.ok()) return failed;
    TlsStream stream(io_, tls_);
    if (HttpAnswer failed = Connect(stream.next_layer(), resolved->addresses); !failed.ok()) return failed;
    if (HttpAnswer failed = Handshake(stream); !failed.ok()) return failed;
    return Ask(stream);
  }

 private:
  // Runs what `start` begins to its end, or to the deadline of the stream.
  template <typename Start>
  error_code Finish(Start start) {
    error_code result;
    start([&result](const error_code& error, auto&&...) { result = error; });
    io_.restart();
    if (call_.stop.stop_requested()) return beast::error::timeout;
    io_.run();
    return call_.stop.stop_requested() ? beast::error::timeout : result;
  }

  static HttpAnswer Fail(std::string problem) { return {.problem = std::move(problem)}; }
  HttpAnswer Late() const {
    return Fail("no answer from " + url_.Origin() + " within " +
                FormatNumber(static_cast<double>(call_.timeout.count()) / 1000) + " s");
  }
  HttpAnswer Failure(const std::string& what, const error_code& error) const {
    return error == beast::error::timeout ? Late() : Fail(what + ": " + error.message());
  }

  HttpAnswer PrepareTls() {
    error_code error;
    const std::string& file = call_.ca_file;
    file.empty() ? tls_.set_default_verify_paths(error) : tls_.load_verify_file(file, error);
    if (error)
      return Failure("cannot read the " + (file.empty() ? "system's certificates" : "certificates of " + file), error);
    SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_2_VERSION);
    tls_.set_verify_mode(call_.verify ? asio::ssl::verify_peer : asio::ssl::verify_none, error);
    return {};
  }

  HttpAnswer Connect(beast::tcp_stream& stream, const tcp::resolver::results_type& addresses) {
    stream.expires_at(deadline_);
    if (const error_code error = Finish([&](auto done) { stream.async_connect(addresses, done); })) {
      HttpAnswer failed = Failure("cannot connect to " + UrlHost(Printable(url_.host)) + ":" + url_.port, error);
      failed.nobody_listens = error != beast::error::timeout;
      return failed;
    }
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    return {};
  }

  HttpAnswer Handshake(TlsStream& stream) {
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
    if (!error) return {};
    const std::string what = "no TLS with " + url_.Origin();
    const int64_t verified = SSL_get_verify_result(ssl);
    if (verified == X509_V_OK) return Failure(what, error);
    return Fail(what + ": its certificate is refused: " + X509_verify_cert_error_string(verified));
  }

  http::request<http::string_body> Message() const {
    http::request<http::string_body> message;
    message.version(11);
    message.method_string(call_.method);
    message.target(url_.path + call_.path);
    const bool usual_port = url_.port == (url_.tls ? "443" : "80");
    message.set(http::field::host, UrlHost(url_.host) + (usual_port ? "" : ":" + url_.port));
    message.set(http::field::user_agent, "weir/" + std::string(Version()));
    message.set(http::field::connection, "close");
    for (const auto& [name, value] : call_.headers) message.set(name, value);
    message.body() = call_.body;
    message.prepare_payload();
    return message;
  }

  template <typename Stream>
  HttpAnswer Ask(Stream& stream) {
    const http::request<http::string_body> message = Message();
    // Where sending fails the answer may be there all the same, and says why.
    const error_code sent = Finish([&](auto done) { http::async_write(stream, message, done); });
    if (sent == beast::error::timeout) return Late();
    http::response_parser<http::buffer_body> parser;
    parser.header_limit(kMaxHeadBytes);
    parser.body_limit(boost::none);
    beast::flat_buffer buffer(size_t{2} * kMaxHeadBytes);  // chunk extensions and trailers have no limit of their own
    if (const error_code error = Finish([&](auto done) { http::async_read_header(stream, buffer, parser, done); }))
      return NoAnswer(error);
    HttpAnswer answer{.status = static_cast<int>(parser.get().result_int())};
    for (const auto& field : parser.get()) answer.headers.emplace_back(field.name_string(), field.value());
    return ReadBody(stream, buffer, parser, std::move(answer));
  }

  template <typename Stream>
  HttpAnswer ReadBody(Stream& stream, beast::flat_buffer& buffer, http::response_parser<http::buffer_body>& parser,
                      HttpAnswer answer) {
    const bool by_piece = call_.on_piece && answer.status == 200;
    const auto piece = std::make_unique<char[]>(kPieceBytes);
    while (!parser.is_done()) {
      parser.get().body() = {.data = piece.get(), .size = kPieceBytes, .more = true};
      if (by_piece) beast::get_lowest_layer(stream).expires_after(call_.timeout);
      const error_code error = Finish([&](auto done) { http::async_read_some(stream, buffer, parser, done); });
      if (error && error != http::error::need_buffer) return NoAnswer(error);
      const std::string_view bytes(piece.get(), kPieceBytes - parser.get().body().size);
      if (!by_piece) {
        answer.body.append(bytes);
        if (answer.body.size() > call_.max_answer_bytes) return TooLarge();
      } else if (!bytes.empty() && !call_.on_piece(answer, bytes)) {
        break;
      }
    }
    return answer;
  }

  HttpAnswer TooLarge() const {
    return Fail("the answer of " + url_.Origin() + " is larger than " + std::to_string(call_.max_answer_bytes) +
                " bytes");
  }
  HttpAnswer NoAnswer(const error_code& error) const {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) return TooLarge();
    if (error == http::error::end_of_stream || error == asio::ssl::error::stream_truncated)
      return Fail(url_.Origin() + " hung up without an answer");
    return Failure("no HTTP answer from " + url_.Origin(), error);
  }

  const ServerUrl& url_;
  const HttpCall& call_;
  const std::chrono::steady_clock::time_point deadline_;
  asio::io_context io_;
  asio::ssl::context tls_;
  const std::stop_callback<std::function<void()>> stop_;  // ends first
};

}  // namespace

// Where the process has no descriptor or no thread left, Asio and the thread throw.
std::string_view HttpAnswer::Header(std::string_view name) const {
  for (const auto& [header, value] : headers)
    if (beast::iequals(header, name)) return value;
  return {};
}

HttpAnswer CallHttp(const ServerUrl& url, const HttpCall& call) {
  try {
    return Exchange(url, call).Run();
  } catch (const std::runtime_error& error) {
    return {.problem = error.what()};
  }
}

}  // namespace weir
