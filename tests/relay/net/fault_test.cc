// An exception of a handler ends its connection at most, never the process.
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <new>
#include <stdexcept>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class FaultTest : public ServerTest {
 protected:
  [[noreturn]] static void Fail() { throw std::runtime_error("a fault"); }
  // Makes Asio's next allocation on this I/O thread fail. Posts tasks that take the memory that Asio keeps for reuse.
  void FailNextOfAsio() {
    TakeReusedMemory();
    FailAlignedAllocation(1);
  }
  void TakeReusedMemory() {
    for (int n = 0; n < 4; ++n) boost::asio::post(server_->executor(0), [] {});
  }
  // Posts a task that posts itself again for ever, so that it holds a piece of the memory that Asio keeps for reuse.
  void HoldReusedMemory() {
    boost::asio::post(server_->executor(0), [this] { HoldReusedMemory(); });
  }
  // Makes the text "dear" cost so much that the thread has to post its next turn, and then call `fail`. Other texts
  // come back.
  void FailAfterDear(const std::function<void()>& fail) {
    behaviour_.on_text = [fail](Connection& c, std::string_view text) {
      if (text != "dear") return c.Send(std::string(text));
      c.Charge(kTurnWork);
      fail();
    };
  }
  // Returns true if the allocation that was to fail on the I/O thread has failed.
  bool HasFailed() {
    bool failed = false;
    OnIoThread([&failed] { failed = EndFailing(); });
    return failed;
  }
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

// Its socket is closed, and the server no longer waits for it. The n-th allocation of a connection fails. The server
// accepts the next connection even if an allocation of the acceptor has failed.
TEST_F(FaultTest, WhereThereIsNoMemoryForASessionNothingIsLeftOfIt) {
  Start();
  for (const auto fail : {FailAllocation, FailAlignedAllocation}) {
    bool failed = true;
    for (size_t n = 1; failed; ++n) {
      OnIoThread([fail, n] { fail(n); });
      RawClient client = ConnectAndSend("GET /nothing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
      (void)client.ReadAnswer();
      EXPECT_TRUE(client.AtEnd());
      failed = HasFailed();
    }
  }
  RawClient other = Open();
  ExpectEcho(other);
  EXPECT_EQ(server_->Stats().connections, 1U);
  server_->Shutdown(std::chrono::minutes(10));
}

TEST_F(FaultTest, WhereThereIsNoMemoryToQueueATurnOthersFollow) {
  Connection* connection = nullptr;
  behaviour_.on_open = [&](Connection& c) { connection = &c; };
  Start();
  RawClient client = Open();
  OnIoThread([&] {
    connection->PauseReading();
    FailNextOfAsio();
    EXPECT_THROW(connection->ResumeReading(), std::bad_alloc);
  });
  EXPECT_TRUE(HasFailed());
  ExpectEcho(client);
}

TEST_F(FaultTest, WhereThereIsNoMemoryBetweenTurnsTheNextFollow) {
  FailAfterDear([this] { FailNextOfAsio(); });
  Start();
  RawClient other = Open();
  RawClient client = Open();
  client.Text("dear");
  ASSERT_TRUE(record_.Await("text dear"));
  EXPECT_TRUE(HasFailed());
  ExpectEcho(other);
  ExpectEcho(client);
}

// Such a task may free memory.
TEST_F(FaultTest, WhereThereIsNoMemoryForLongPostedTasksStillRun) {
  FailAfterDear([this] {
    TakeReusedMemory();
    FailAlignedAllocations();
  });
  Start();
  RawClient other = Open();
  RawClient client = Open();
  client.Text("dear");
  ASSERT_TRUE(record_.Await("text dear"));
  EXPECT_TRUE(HasFailed());
  ExpectEcho(other);
}

TEST_F(FaultTest, WhereThereIsNoMemoryForATimerTheThreadStillTicks) {
  settings_.handshake_timeout = std::chrono::milliseconds(100);
  Start();
  // The memory that Asio keeps for reuse is now that of two posted tasks, which is too little for a timer.
  OnIoThread([this] { TakeReusedMemory(); });
  const auto has_failed = [this] {
    bool failed = false;
    OnIoThread([&failed] {
      failed = EndFailing();
      if (!failed) FailAlignedAllocation(1);
    });
    return failed;
  };
  EXPECT_TRUE(Eventually(has_failed));
  RawClient silent = Connect();
  EXPECT_EQ(silent.Answer().status, 408) << "only a tick notices that nothing comes";
}

// The turn of a client that sends has no room in the queue.
TEST_F(FaultTest, WhereThereIsNoMemoryToReadAConnectionItEnds) {
  Start();
  RawClient other = Open();
  RawClient client = Open();
  OnIoThread([] { FailAllocation(1); });
  client.Text("unread");
  EXPECT_TRUE(record_.Await("end: a fault in the server"));
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(HasFailed());
  ExpectEcho(other);
}

TEST_F(FaultTest, WhereThereIsNoMemoryToEndAConnectionItStillEnds) {
  behaviour_.on_text = [this](Connection& c, std::string_view text) {
    if (text != "bad") return c.Send(std::string(text));
    FailNextOfAsio();
    Fail();
  };
  Start();
  RawClient client = Open();
  client.Text("bad");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_TRUE(HasFailed());
  EXPECT_EQ(record_.Count("end: a fault in the server"), 1U);
}

// The n-th allocation after the fault fails.
TEST_F(FaultTest, WhereThereIsNoMemoryToLogAFaultTheConnectionEnds) {
  const std::runtime_error fault("a fault whose text has no room within a std::string");
  size_t until_failure = 1;
  behaviour_.on_text = [&](Connection& c, std::string_view text) {
    if (text != "bad") return c.Send(std::string(text));
    c.WhenPendingBelow(0, [&] {
      FailAllocation(until_failure);
      throw fault;
    });
  };
  Start();
  for (bool failed = true; failed; ++until_failure) {
    RawClient client = Open();
    client.Text("bad");
    EXPECT_TRUE(client.AtEnd());
    failed = HasFailed();
  }
  RawClient other = Open();
  ExpectEcho(other);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().connections == 1; }));
}

// Their ends cannot be posted.
TEST_F(FaultTest, WhereThereIsNoMemoryForLongSilentClientsEnd) {
  settings_.handshake_timeout = std::chrono::milliseconds(500);
  FailAfterDear([this] {
    TakeReusedMemory();
    FailAlignedAllocations();
  });
  Start();
  RawClient client = Open();
  RawClient silent = Connect();
  RawClient other_silent = Connect();
  ASSERT_TRUE(Eventually([&] { return server_->Stats().accepted == 3; }));
  client.Text("dear");
  ASSERT_TRUE(record_.Await("text dear"));
  for (RawClient* end : {&silent, &other_silent}) {
    (void)end->ReadAnswer();
    EXPECT_TRUE(end->AtEnd());
  }
  EXPECT_TRUE(HasFailed());
}

// It does not wait for the TCP handshakes that are under way.
TEST_F(FaultTest, WhereThereIsNoMemoryToWaitTheServerStillShutsDown) {
  Start();
  OnIoThread([this] {
    for (int n = 0; n < 4; ++n) HoldReusedMemory();
    FailAlignedAllocations();
  });
  const auto is_down = std::async(std::launch::async, [this] { server_->Shutdown(std::chrono::minutes(1)); });
  EXPECT_EQ(is_down.wait_for(std::chrono::seconds(50)), std::future_status::ready);
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
