#include "bench/limiters/bare_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace weir {
namespace {

void Serve(int epoll, const std::string& answer) {
  std::array<epoll_event, 64> events{};
  std::array<char, 4096> request{};
  for (;;) {
    const int ready = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int n = 0; n < ready; ++n) {
      const int socket = events[static_cast<size_t>(n)].data.fd;
      const ssize_t bytes = recv(socket, request.data(), request.size(), 0);
      if (bytes > 0) {
        send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
      } else if (bytes == 0 || errno != EAGAIN) {
        close(socket);
      }
    }
  }
}

[[noreturn]] void Run(int listening, const std::string& answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::array<int, 2> epolls = {epoll_create1(0), epoll_create1(0)};
  for (const int epoll : epolls) std::thread(Serve, epoll, std::cref(answer)).detach();
  for (size_t n = 0;; ++n) {
    const int socket = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK);
    if (socket < 0) continue;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    epoll_ctl(epolls[n % epolls.size()], EPOLL_CTL_ADD, socket, &event);
  }
}

}  // namespace

Result<std::unique_ptr<BareServer>> BareServer::Start(const std::string& answer) {
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0 || bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listening, SOMAXCONN) != 0 || getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Status::Error(std::string("the bare server cannot listen: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) Run(listening, answer);
  close(listening);
  if (pid < 0) return Status::Error(std::string("the bare server cannot be forked: ") + std::strerror(errno));
  return std::unique_ptr<BareServer>(new BareServer(pid, ntohs(address.sin_port)));
}

BareServer::~BareServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace weir
