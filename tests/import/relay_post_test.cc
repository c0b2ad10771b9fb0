#include "import/relay_post.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string>

namespace weir {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

// Makes the kernel drop all packets that arrive for the socket, as if its machine had lost its power.
void LosePower(Tcp::socket& socket) {
  sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop};
  ASSERT_EQ(setsockopt(socket.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)), 0);
}

int Option(Tcp::socket& socket, int level, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(socket.native_handle(), level, option, &value, &size), 0);
  return value;
}

void SetOption(Tcp::socket& socket, int option, int value) {
  ASSERT_EQ(setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value)), 0);
}

// Reads the head of a request and sends `answer`. If that is empty, the machine loses its power.
asio::awaitable<void> Serve(Tcp::acceptor& acceptor, const std::string& answer, Tcp::socket& relay) {
  relay = co_await acceptor.async_accept(asio::use_awaitable);
  std::string head;
  co_await asio::async_read_until(relay, asio::dynamic_buffer(head), "\r\n\r\n", asio::use_awaitable);
  if (answer.empty()) LosePower(relay);
  co_await asio::async_write(relay, asio::buffer(answer), asio::use_awaitable);
}

TEST(RelayPost, NoticesThatTheRelaysMachineIsGone) {
  const std::string part = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx\n";
  for (const std::string& answer : {std::string(), part}) {
    asio::io_context io;
    Tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
    Tcp::socket relay(io);
    Tcp::socket socket(io);
    const ServerUrl url{.host = "127.0.0.1", .port = std::to_string(acceptor.local_endpoint().port())};
    RelayPost post;
    post.target = "/";
    post.wanted = [&] {
      EXPECT_NE(Option(socket, SOL_SOCKET, SO_KEEPALIVE), 0);
      // With this option the kernel would also give up a throttled relay, which may accept no bytes for minutes.
      EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
      EXPECT_EQ(Option(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
                    Option(socket, IPPROTO_TCP, TCP_KEEPINTVL) * Option(socket, IPPROTO_TCP, TCP_KEEPCNT),
                60);
      for (const int option : {TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT}) SetOption(socket, option, 1);
      return true;
    };
    post.on_line = [&](std::string_view) { LosePower(relay); };
    std::optional<RelayAnswer> told;
    asio::co_spawn(io, Serve(acceptor, answer, relay), [](const std::exception_ptr& fault) { EXPECT_FALSE(fault); });
    asio::co_spawn(io, Send(socket, url, post), [&](const std::exception_ptr&, RelayAnswer got) { told = got; });
    io.run_for(std::chrono::minutes(1));
    ASSERT_TRUE(told);
    EXPECT_EQ(told->status, 0);
    EXPECT_EQ(told->words, "its machine gives no sign of life");
  }
}

}  // namespace
}  // namespace weir
