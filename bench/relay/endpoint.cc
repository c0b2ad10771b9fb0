#include "bench/relay/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "config/text/parse.h"
#include "config/text/url.h"

namespace weir {
namespace {

bool IsLoopback(const std::string& host) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

socklen_t AddressOf(const Endpoint& endpoint, sockaddr_storage* storage) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(storage);
  if (inet_pton(AF_INET, endpoint.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(endpoint.port);
    return sizeof *v4;
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(storage);
  inet_pton(AF_INET6, endpoint.host.c_str(), &v6->sin6_addr);
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(endpoint.port);
  return sizeof *v6;
}

}  // namespace

std::string Endpoint::Url() const { return "ws://" + UrlHost(host) + ":" + std::to_string(port) + path; }

Result<Endpoint> ParseEndpoint(std::string_view url) {
  const auto bad = [&](const std::string& why) { return Status::Error("\"" + Printable(url) + "\": " + why); };
  const std::optional<UrlParts> parts = SplitUrl(url, "/");
  if (!parts || parts->scheme != "ws" || parts->user) return bad("expected ws://127.0.0.1:PORT");
  const std::optional<UrlServer> server = SplitServer(parts->servers);
  if (!server || !server->port) return bad("the port is missing");
  const auto port = ParseUnsigned(*server->port, {.min = 1, .max = 65535});
  if (!port.ok()) return bad("port: " + port.status().message());
  Endpoint endpoint{.host = std::string(server->host), .port = static_cast<uint16_t>(port.value())};
  if (!parts->path.empty()) endpoint.path = parts->path;
  if (endpoint.host == "localhost") endpoint.host = "127.0.0.1";
  if (!IsLoopback(endpoint.host)) return bad("only relays on a loopback address are loaded");
  return endpoint;
}

Result<int> ConnectTo(const Endpoint& endpoint) {
  sockaddr_storage address{};
  const socklen_t size = AddressOf(endpoint, &address);
  const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto fail = [&] {
    const std::string why = std::strerror(errno);
    if (fd >= 0) close(fd);
    return Status::Error("cannot connect to " + endpoint.Url() + ": " + why);
  };
  if (fd >= 0 && !endpoint.from.empty()) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    if (inet_pton(AF_INET, endpoint.from.c_str(), &from.sin_addr) != 1 ||
        bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
      return fail();
  }
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0) return fail();
  const int on = 1;
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return fail();
  return fd;
}

Result<uint16_t> FreePort() {
  std::random_device random;
  std::string why;
  for (int attempt = 0; attempt < 100; ++attempt) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(std::uniform_int_distribution<int>(12000, 32000)(random)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool free = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    why = std::strerror(errno);
    if (fd >= 0) close(fd);
    if (free) return ntohs(address.sin_port);
  }
  return Status::Error("no free port: " + why);
}

}  // namespace weir
