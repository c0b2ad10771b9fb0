// A server on a free port of the loopback that answers every request with the same, over TLS or without, and remembers
// the requests. Its certificate is by an authority of its own, whose certificate is in ca_file().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir {

struct TlsServerOptions {
  bool tls = true;
  std::string names = "DNS:localhost,IP:127.0.0.1";  // of the certificate: a subjectAltName as OpenSSL writes it
  bool silent = false;                               // never answers
  int status = 200;
  std::string body;
};

class TlsServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::string key;  // x-goog-api-key
    std::string body;
    std::string all;  // as text, head and body
  };

  explicit TlsServer(TlsServerOptions options = {});
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  uint16_t port() const;
  std::string ca_file() const;
  std::vector<Request> requests() const;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
