// An exception of a handler ends its connection at most, never the process.
#include <boost/asio/post.hpp>
#include <stdexcept>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class FaultTest : public ServerTest {
 protected:
  [[noreturn]] static void Fail() { throw std::runtime_error("a fault"); }
};

TEST_F(FaultTest, InOnTextEndsThatConnection) {
  behaviour_.on_text = [](Connection& c, std::string_view text) {
    if (text == "bad") Fail();
    c.Send(std::string(text));
  };
  Start();
  RawClient other = Open();
  RawClient client = Open();
  client.Text("bad");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(record_.Await("end: a fault in the server"));
  ExpectEcho(other);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().connections == 1; }));
}

TEST_F(FaultTest, InTheFactoryEndsThatConnection) {
  behaviour_.on_open = [this](Connection&) {
    if (record_.Count("open") == 1) Fail();
  };
  Start();
  RawClient client = ConnectAndSend(RawClient::HandshakeRequest());
  EXPECT_TRUE(Eventually([&] { return record_.Count("open") == 1; }));
  RawClient other = Open();
  ExpectEcho(other);
  EXPECT_EQ(server_->Stats().connections, 1U);
}

// Its socket is closed, and the server no longer waits for it. The n-th allocation of a connection fails.
TEST_F(FaultTest, WhereThereIsNoMemoryForASessionNothingIsLeftOfIt) {
  Start();
  bool failed = true;
  for (size_t n = 1; failed; ++n) {
    OnIoThread([n] { FailAllocation(n); });
    RawClient client = ConnectAndSend("GET /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    (void)client.ReadAnswer();
    EXPECT_TRUE(client.AtEnd());
    OnIoThread([&failed] { failed = EndFailing(); });
  }
  RawClient other = Open();
  ExpectEcho(other);
  EXPECT_EQ(server_->Stats().connections, 1U);
  server_->Shutdown(std::chrono::minutes(10));
}

TEST_F(FaultTest, OnTheWayOutLetsTheServerGo) {
  behaviour_.on_shutdown = [](Connection&, const std::function<void()>&) { Fail(); };
  Start();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  server_->Shutdown(std::chrono::minutes(10));
  EXPECT_EQ(record_.Count("end: a fault in the server"), 1U);
}

TEST_F(FaultTest, InACallbackEndsThatConnection) {
  behaviour_.on_text = [](Connection& c, std::string_view text) {
    if (text == "bad") return c.WhenPendingBelow(0, [] { Fail(); });
    c.Send(std::string(text));
  };
  Start();
  RawClient other = Open();
  RawClient client = Open();
  client.Text("bad");
  EXPECT_TRUE(record_.Await("end: a fault in the server"));
  ExpectEcho(other);
}

TEST_F(FaultTest, AFaultInAPostedTaskEndsNoConnection) {
  Start();
  RawClient client = Open();
  for (int n = 0; n < 3; ++n) boost::asio::post(server_->executor(0), [] { Fail(); });
  boost::asio::post(server_->executor(0), [] { throw 1; });
  ExpectEcho(client);
  EXPECT_EQ(record_.Count("end"), 0U);
}

}  // namespace
}  // namespace weir
