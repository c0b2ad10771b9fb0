#include "relay/net/listener.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <optional>

#include "config/text/parse.h"

namespace weir {
namespace {

using Endpoint = boost::asio::ip::tcp::endpoint;

constexpr int kBacklog = 4096;

std::optional<Endpoint> ParseEndpoint(const ServerSettings& settings) {
  std::string text(TrimBlanks(settings.listen));
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (text == "localhost") text = "127.0.0.1";
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) return std::nullopt;
  return Endpoint(address, static_cast<uint16_t>(settings.port));
}

// Returns a bound socket, or -1 with errno set.
int Bind(const Endpoint& endpoint, bool share) {
  const int socket = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1;
  const int off = 0;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (share) setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (endpoint.address().is_v6()) setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(socket, endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) return socket;
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

std::string Name(const Endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

Status CannotListen(const Endpoint& endpoint, int error, bool take_over) {
  const std::string where = Name(endpoint);
  switch (error) {
    case EADDRINUSE:
      return Status::Error(where + (take_over ? " is in use by a program that does not share it; stop that one, or set "
                                                "WEIR_PORT to a free port"
                                              : " is in use by another program; set WEIR_PORT to a free port, or stop "
                                                "that one"));
    case EACCES:
    case EPERM:
      return Status::Error(where +
                           ": the system allows this port to root only; set WEIR_PORT to 1024 or more, or grant "
                           "CAP_NET_BIND_SERVICE");
    case EADDRNOTAVAIL:
      return Status::Error(where +
                           ": this machine has no such address; set WEIR_LISTEN to one of its own, or to 0.0.0.0");
    case EAFNOSUPPORT:
      return Status::Error(where + ": this machine has no IPv6; set WEIR_LISTEN to 0.0.0.0 or 127.0.0.1");
    default:
      return Status::Error("cannot listen on " + where + " (WEIR_LISTEN, WEIR_PORT): " + std::strerror(error));
  }
}

}  // namespace

Result<Listener> Listener::Open(const ServerSettings& settings, bool take_over) {
  const auto endpoint = ParseEndpoint(settings);
  if (!endpoint) {
    return Status::Error(
        "WEIR_LISTEN=" + Printable(settings.listen) +
        " is not an address; set it to 127.0.0.1, 0.0.0.0, [::], localhost or an address of this machine");
  }
  if (!take_over && endpoint->port() != 0) {
    // The real socket shares its port, so that a successor can take over. So this probe, which does not share, finds
    // out whether the port is in use.
    const int probe = Bind(*endpoint, false);
    if (probe < 0) return CannotListen(*endpoint, errno, take_over);
    close(probe);
  }
  const int socket = Bind(*endpoint, true);
  if (socket < 0) return CannotListen(*endpoint, errno, take_over);
  Listener listener(socket, 0);
  if (listen(socket, kBacklog) != 0) return CannotListen(*endpoint, errno, take_over);
  Endpoint bound;
  socklen_t size = static_cast<socklen_t>(bound.capacity());
  getsockname(socket, bound.data(), &size);
  listener.port_ = bound.port();
  return listener;
}

int Listener::AcceptOne(IpAddress* peer) {
  Endpoint from;
  socklen_t size = static_cast<socklen_t>(from.capacity());
  const int socket = accept4(socket_, from.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0) *peer = Unmapped(from.address());
  return socket;
}

void Listener::LetTheYoungerHaveNew() {
  // The kernel numbers the sockets that share a port by age, without gaps: this socket has 0, a successor's has 1. If
  // there is no successor, no socket has 1, and the kernel chooses this socket, as without a filter. The filter stays
  // with the port: when a second successor listens, its socket gets the new connections.
  sock_filter code[] = {{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 1}};
  const sock_fprog program{.len = 1, .filter = code};
  if (setsockopt(socket_, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) != 0) {
    spdlog::debug("the port's choice between two servers is left to the kernel: {}", std::strerror(errno));
  }
}

void Listener::TakeNew() {
  const int unused = 0;
  setsockopt(socket_, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &unused, sizeof unused);  // fails if there is no filter
}

void Listener::Close() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

void RaiseFileLimit(uint64_t connections) {
  const rlim_t needed = FilesFor(connections);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  rlimit wanted{.rlim_cur = needed, .rlim_max = std::max(limit.rlim_max, needed)};
  if (setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
  wanted = {.rlim_cur = std::min(limit.rlim_max, needed), .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &wanted);
  if (wanted.rlim_cur < needed) {
    spdlog::warn(
        "WEIR_MAX_CONNECTIONS={} may need {} open files, the system allows {} (ulimit -n); what does not fit waits",
        connections, needed, wanted.rlim_cur);
  }
}

}  // namespace weir
