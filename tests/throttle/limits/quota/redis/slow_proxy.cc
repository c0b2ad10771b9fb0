#include "tests/throttle/limits/quota/redis/slow_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weir {
namespace {

constexpr int kTickMillis = 2;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

TimePoint SystemNow() { return Clock::System().Now(); }

}  // namespace

SlowProxy::SlowProxy(uint16_t server) : server_(server) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

SlowProxy::~SlowProxy() {
  thread_.request_stop();
  thread_.join();
  for (const Pipe& pipe : pipes_) ::close(pipe.from);
}

std::string SlowProxy::url() const { return "redis://127.0.0.1:" + std::to_string(listener_.port()); }

void SlowProxy::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> sockets = {{.fd = listener_.socket(), .events = POLLIN, .revents = 0}};
    for (const Pipe& pipe : pipes_)
      sockets.push_back({.fd = pipe.ended ? -1 : pipe.from, .events = POLLIN, .revents = 0});
    ::poll(sockets.data(), sockets.size(), kTickMillis);
    size_t at = 0;
    for (Pipe& pipe : pipes_) {
      if (sockets[++at].revents != 0) Read(&pipe);
      Write(&pipe);
    }
    if (sockets[0].revents != 0) Accept();
  }
}

void SlowProxy::Accept() {
  const int client = ::accept4(listener_.socket(), nullptr, nullptr, SOCK_CLOEXEC);
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    ::shutdown(client, SHUT_RDWR);
  pipes_.push_back({.from = client, .to = server});
  pipes_.push_back({.from = server, .to = client});
}

void SlowProxy::Read(Pipe* pipe) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::recv(pipe->from, buffer.data(), buffer.size(), 0);
  pipe->ended = count <= 0;
  TimePoint due = SystemNow() + delay_.load();
  if (!pipe->late.empty()) due = std::max(due, pipe->late.back().first);
  pipe->late.emplace_back(due, std::string(buffer.data(), static_cast<size_t>(std::max<ssize_t>(0, count))));
}

void SlowProxy::Write(Pipe* pipe) {
  for (; !pipe->late.empty() && pipe->late.front().first <= SystemNow(); pipe->late.pop_front()) {
    const std::string& bytes = pipe->late.front().second;
    if (bytes.empty()) {
      ::shutdown(pipe->to, SHUT_WR);
    } else {
      (void)!::send(pipe->to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
  }
}

}  // namespace weir
