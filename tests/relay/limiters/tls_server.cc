#include "tests/relay/limiters/tls_server.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

namespace weir {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Memory = std::unique_ptr<BIO, Free>;

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  if (extension == nullptr) throw std::runtime_error("no extension " + value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// For a day, by `issuer`; by itself where that is null.
Certificate MakeCertificate(const char* name, EVP_PKEY* key, X509* issuer) {
  static int64_t serial = 0;
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), issuer == nullptr ? subject : X509_get_subject_name(issuer));
  return certificate;
}

void Sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) == 0) throw std::runtime_error("the certificate cannot be signed");
}

std::string Pem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  char* text = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &text));
  return {text, size};
}

std::string Pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const auto size = static_cast<size_t>(BIO_get_mem_data(memory.get(), &text));
  return {text, size};
}

struct Identity {
  std::string authority;
  std::string certificate;
  std::string key;
};

Identity MakeIdentity(const std::string& names) {
  const PrivateKey authority_key(EVP_EC_gen("P-256"));
  const Certificate authority = MakeCertificate("A test's authority", authority_key.get(), nullptr);
  AddExtension(authority.get(), NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(authority.get(), NID_key_usage, "critical,keyCertSign");
  Sign(authority.get(), authority_key.get());
  const PrivateKey key(EVP_EC_gen("P-256"));
  const Certificate certificate = MakeCertificate("A test's server", key.get(), authority.get());
  AddExtension(certificate.get(), NID_subject_alt_name, names);
  Sign(certificate.get(), authority_key.get());
  return {.authority = Pem(authority.get()), .certificate = Pem(certificate.get()), .key = Pem(key.get())};
}

using Requests = std::vector<TlsServer::Request>;

struct Shared {
  TlsServerOptions options;
  std::mutex mutex;
  Requests requests;
};

// One connection: a request, and its answer.
template <typename Stream>
class Session : public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, Shared& shared) : stream_(std::move(stream)), shared_(shared) { parser_.body_limit(64 << 20); }

  void Start() {
    if constexpr (std::is_same_v<Stream, tcp::socket>) {
      Read();
    } else {
      stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](error_code error) {
        if (!error) self->Read();
      });
    }
  }

 private:
  void Read() {
    http::async_read(stream_, buffer_, parser_, [self = this->shared_from_this()](error_code error, size_t) {
      if (!error) {
        self->Answer();
      } else if (self->shared_.options.silent) {
        self->Hold();
      }
    });
  }

  void Answer() {
    const http::request<http::string_body>& message = parser_.get();
    std::ostringstream all;
    all << message;
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.requests.push_back({.method = std::string(message.method_string()),
                                  .target = std::string(message.target()),
                                  .key = std::string(message["x-goog-api-key"]),
                                  .body = message.body(),
                                  .all = all.str()});
    }
    if (shared_.options.silent) return Hold();
    answer_.result(static_cast<unsigned>(shared_.options.status));
    answer_.set(http::field::content_type, "application/json");
    answer_.body() = shared_.options.body;
    answer_.prepare_payload();
    http::async_write(stream_, answer_, [self = this->shared_from_this()](error_code, size_t) { self->Close(); });
  }

  // Until the other side is gone.
  void Hold() {
    stream_.async_read_some(asio::buffer(rest_), [self = this->shared_from_this()](error_code, size_t) {});
  }
  void Close() {
    if constexpr (!std::is_same_v<Stream, tcp::socket>)
      stream_.async_shutdown([self = this->shared_from_this()](error_code) {});
  }

  Stream stream_;
  Shared& shared_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> answer_;
  char rest_[1]{};
};

std::string MakeDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-tls-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory for certificates");
  return name;
}

}  // namespace

struct TlsServer::Rep {
  explicit Rep(TlsServerOptions options)
      : directory(MakeDirectory()),
        tls(asio::ssl::context::tls_server),
        acceptor(io, {asio::ip::address_v4::loopback(), 0}) {
    shared.options = std::move(options);
    const Identity identity = MakeIdentity(shared.options.names);
    std::ofstream(directory + "/ca.crt") << identity.authority;
    tls.use_certificate(asio::buffer(identity.certificate), asio::ssl::context::pem);
    tls.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem);
    Accept();
    thread = std::thread([this] { io.run(); });
  }
  ~Rep() {
    io.stop();
    thread.join();
    std::filesystem::remove_all(directory);
  }

  void Accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      if (shared.options.tls) {
        using Stream = asio::ssl::stream<tcp::socket>;
        std::make_shared<Session<Stream>>(Stream(std::move(socket), tls), shared)->Start();
      } else {
        std::make_shared<Session<tcp::socket>>(std::move(socket), shared)->Start();
      }
      Accept();
    });
  }

  const std::string directory;
  Shared shared;
  asio::io_context io;
  asio::ssl::context tls;
  tcp::acceptor acceptor;
  std::thread thread;
};

TlsServer::TlsServer(TlsServerOptions options) : rep_(std::make_unique<Rep>(std::move(options))) {}
TlsServer::~TlsServer() = default;

uint16_t TlsServer::port() const { return rep_->acceptor.local_endpoint().port(); }
std::string TlsServer::ca_file() const { return rep_->directory + "/ca.crt"; }

Requests TlsServer::requests() const {
  const std::lock_guard lock(rep_->shared.mutex);
  return rep_->shared.requests;
}

}  // namespace weir
