#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class ListenTest : public ServerTest {
 protected:
  std::string ListenError(const std::string& address, uint64_t port) {
    settings_.listen = address;
    settings_.port = port;
    return MakeServer()->Listen().message();
  }
};

TEST_F(ListenTest, SaysThatAPortIsInUseAndWhatToDo) {
  Start();
  const std::string port = std::to_string(server_->port());
  EXPECT_EQ(ListenError("127.0.0.1", server_->port()),
            "127.0.0.1:" + port + " is in use by another program; set WEIR_PORT to a free port, or stop that one");
  EXPECT_NE(ListenError("0.0.0.0", server_->port()), "");
}

TEST_F(ListenTest, SaysWhatIsWrongWithAnAddress) {
  EXPECT_EQ(
      ListenError("relay.example", 0),
      "WEIR_LISTEN=relay.example is not an address; set it to 127.0.0.1, 0.0.0.0, [::], localhost or an address of "
      "this machine");
  EXPECT_TRUE(Has(ListenError("192.0.2.1", 0), "no such address; set WEIR_LISTEN"));
  settings_.trusted_proxies = "localhost";
  EXPECT_TRUE(Has(ListenError("127.0.0.1", 0), "WEIR_TRUSTED_PROXIES: localhost"));
}

TEST_F(ListenTest, SaysThatAPortIsForRootOnly) {
  int first_for_all = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_for_all;
  if (first_for_all <= 1) GTEST_SKIP() << "here anybody may (ip_unprivileged_port_start)";
  const auto try_as_nobody = [&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) std::exit(2);
    const std::string error = ListenError("127.0.0.1", 1);
    std::exit(Has(error, "WEIR_PORT to 1024 or more") ? 0 : 1);
  };
  EXPECT_EXIT(try_as_nobody(), testing::ExitedWithCode(0), "");
}

TEST_F(ListenTest, ListensOnNamesAndOnIpv6) {
  for (const std::string address : {"localhost", "0.0.0.0", "[::]", "::"}) {
    settings_.listen = address;
    server_ = MakeServer();
    const Status status = server_->Listen();
    if (!status.ok() && Has(status.message(), "no IPv6")) continue;
    ASSERT_TRUE(status.ok()) << status.message();
    server_->Accept();
    EXPECT_TRUE(Connect().Handshake()) << address;
    EXPECT_TRUE(record_.Await("open 127.0.0.1"));
  }
}

TEST_F(ListenTest, ConnectionsWaitUntilItAccepts) {
  server_ = MakeServer();
  ASSERT_TRUE(server_->Listen().ok());
  RawClient client = Connect();
  ASSERT_TRUE(client.connected());
  client.Send(RawClient::HandshakeRequest());
  server_->Accept();
  EXPECT_EQ(client.Answer().status, 101);
}

TEST_F(ListenTest, TakesMoreConnectionsThanATurnTakes) {
  server_ = MakeServer();
  ASSERT_TRUE(server_->Listen().ok());
  std::vector<RawClient> clients;
  for (int n = 0; n < 150; ++n) {
    clients.push_back(Connect());
    ASSERT_TRUE(clients.back().Send(RawClient::HandshakeRequest()));
  }
  server_->Accept();
  for (RawClient& client : clients) EXPECT_EQ(client.Answer().status, 101);
}

TEST_F(ListenTest, NoClientIsRefusedWhileServersTakeOver) {
  settings_.max_connections_per_address = 10'000;
  Start();
  settings_.port = server_->port();
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::atomic<int> served{0};
  std::vector<std::thread> clients;
  for (int t = 0; t < 3; ++t) {
    clients.emplace_back([&] {
      while (!stop) {
        RawClient client(static_cast<uint16_t>(settings_.port));
        (client.Handshake() ? served : failures)++;
      }
    });
  }
  for (int n = 0; n < 5; ++n) {
    const int before = served;
    ASSERT_TRUE(Eventually([&] { return served > before + 50; }));
    auto successor = MakeServer();
    const Status status = successor->Listen(true);
    ASSERT_TRUE(status.ok()) << status.message();
    successor->Accept();
    server_->Shutdown(std::chrono::seconds(2));
    server_ = std::move(successor);
  }
  stop = true;
  for (auto& client : clients) client.join();
  EXPECT_EQ(failures, 0);
}

TEST_F(ListenTest, AServerThatIsNotReadyYetKeepsItsClientsWaitingNotRefused) {
  Start();
  settings_.port = server_->port();
  auto successor = MakeServer();
  ASSERT_TRUE(successor->Listen(true).ok());
  server_->Shutdown(std::chrono::seconds(2));
  RawClient client = Connect();
  ASSERT_TRUE(client.connected());
  client.Send(RawClient::HandshakeRequest());
  successor->Accept();
  EXPECT_EQ(client.Answer().status, 101);
  server_ = std::move(successor);
}

TEST_F(ListenTest, OutOfFilesItWaitsAndAcceptsLater) {
  Start();
  RawClient early = Open();
  RawClient late = Connect();  // its socket is made while there are files
  ASSERT_TRUE(Eventually([&] { return server_->Stats().accepted == 2; }));
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  std::vector<int> files;
  const int highest = dup(0);
  files.push_back(highest);
  RawClient waiting = [&] {
    const rlimit none{.rlim_cur = static_cast<rlim_t>(highest) + 2, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    for (int file = dup(0); file >= 0; file = dup(0)) files.push_back(file);
    close(files.back());
    files.pop_back();
    return Connect();  // takes the last one
  }();
  ASSERT_TRUE(waiting.connected());
  waiting.Send(RawClient::HandshakeRequest());
  ExpectEcho(early);
  for (const int file : files) close(file);
  setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(waiting.Answer().status, 101);
}

}  // namespace
}  // namespace weir
