#include "config/wire/redis/redis_stream.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace weir {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Makes the context send the client's own certificate.
Status UseCertificate(asio::ssl::context& context, const std::string& certificate, const std::string& key) {
  if (certificate.empty() && key.empty()) return {};
  if (certificate.empty()) return Status::Error("the key " + key + " has no certificate: name that too");
  if (key.empty()) return Status::Error("the certificate " + certificate + " has no key: name that too");
  error_code error;
  context.use_certificate_chain_file(certificate, error);
  if (error)
    return Status::Error("certificate " + certificate + ": " + error.message() +
                         "; it must be a PEM file that can be read");
  context.use_private_key_file(key, asio::ssl::context::pem, error);
  if (error)
    return Status::Error("key " + key + ": " + error.message() +
                         "; it must be the PEM file, without a password, of the key of " + certificate);
  return {};
}

}  // namespace

Result<std::shared_ptr<RedisTls>> RedisTls::Make(const RedisClientOptions& options) {
  auto tls = std::make_shared<RedisTls>();
  tls->verify = options.verify;
  asio::ssl::context& context = tls->context;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_verify_mode(options.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  if (Status used = UseCertificate(context, options.cert_file, options.key_file); !used.ok()) return used;
  if (!options.verify) return tls;
  error_code error;
  if (options.ca_file.empty()) {
    context.set_default_verify_paths(error);
    return tls;
  }
  context.load_verify_file(options.ca_file, error);
  if (!error) return tls;
  return Status::Error("certificate authority " + options.ca_file + ": " + error.message() +
                       "; it must be a PEM file that can be read");
}

bool IsNumeric(const std::string& host) {
  error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

Result<std::vector<RedisAddress>> ResolveRedisHost(const RedisAddress& address) {
  asio::io_context io;
  error_code error;
  const auto found =
      tcp::resolver(io).resolve(address.host, std::to_string(address.port), tcp::resolver::numeric_service, error);
  if (error) return Status::Error("host " + address.host + ": " + error.message());
  std::vector<RedisAddress> addresses;
  for (const auto& one : found)
    addresses.push_back({.host = one.endpoint().address().to_string(), .port = address.port});
  return addresses;
}

template <typename Use>
void RedisStream::WithLayer(Use use) {
  secure_ ? use(*secure_) : use(socket_);
}

std::string RedisStream::Describe(const error_code& error) const {
  if (!error) return {};
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) return "it has closed the connection";
  return (secure_ ? "TLS: " : "") + error.message();
}

void RedisStream::Connect(const RedisAddress& address, Done done) {
  const tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
  socket_.async_connect(endpoint, [self = shared_from_this(), done = std::move(done)](const error_code& error) {
    if (self->closed_) return;
    error_code ignored;
    self->socket_.non_blocking(true, ignored);
    self->socket_.set_option(tcp::no_delay(true), ignored);
    self->socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    done(self->Describe(error));
  });
}

void RedisStream::Secure(const std::string& host, Done done) {
  if (tls_ == nullptr) return done({});
  secure_.emplace(socket_, tls_->context);
  SSL* const ssl = secure_->native_handle();
  const bool numeric = IsNumeric(host);
  if (!numeric) SSL_set_tlsext_host_name(ssl, host.c_str());
  const bool names_host =
      !tls_->verify || (numeric ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1
                                : SSL_set1_host(ssl, host.c_str()) == 1);
  if (!names_host) return done("TLS: no certificate can be for " + host);
  const auto handshaken = [self = shared_from_this(), ssl, done = std::move(done)](const error_code& error) {
    if (self->closed_) return;
    const int64_t verified = SSL_get_verify_result(ssl);
    if (!error) return done({});
    if (verified == X509_V_OK) return done("TLS handshake: " + error.message());
    done(std::string("TLS: the server's certificate is not accepted: ") + X509_verify_cert_error_string(verified));
  };
  secure_->async_handshake(asio::ssl::stream_base::client, handshaken);
}

void RedisStream::Read(Got got) {
  auto done = [self = shared_from_this(), got = std::move(got)](const error_code& error, size_t count) {
    if (!self->closed_) got(self->Describe(error), std::string_view(self->read_.data(), count));
  };
  WithLayer([&](auto& layer) { layer.async_read_some(asio::buffer(read_), std::move(done)); });
}

void RedisStream::Write(std::string* bytes, Done done) {
  // The socket usually accepts all bytes at once, without another turn of the loop.
  error_code would_block;
  const size_t count = secure_ ? 0 : socket_.write_some(asio::buffer(*bytes), would_block);
  writing_.swap(*bytes);
  bytes->clear();
  if (count == writing_.size()) return done({});
  auto written = [self = shared_from_this(), done = std::move(done)](const error_code& error, size_t) {
    if (!self->closed_) done(self->Describe(error));
  };
  WithLayer([&](auto& layer) { asio::async_write(layer, asio::buffer(writing_) + count, std::move(written)); });
}

void RedisStream::Close() {
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace weir
