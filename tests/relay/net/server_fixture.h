// ServerTest: a server on a free port of the loopback address, with a handler that records all calls.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "relay/net/server.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/raw_client.h"

namespace weir {

// Record: a list of the calls, in order. A test can wait for a call.
class Record {
 public:
  void Add(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  // Waits until the event has happened `times` times. Returns false if it has not within a minute.
  bool Await(std::string_view event, size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return CountLocked(event) >= times; });
  }
  size_t Count(std::string_view event) {
    const std::lock_guard lock(mutex_);
    return CountLocked(event);
  }
  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  // Returns the number of events that begin with this text. REQUIRES: the mutex is locked.
  size_t CountLocked(std::string_view begin) const {
    size_t count = 0;
    for (const std::string& event : events_) count += event.starts_with(begin) ? 1 : 0;
    return count;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

// The functions that a test gives to the handler. By default the handler echoes texts and finishes a shutdown at once.
struct Behaviour {
  std::function<void(Connection&)> on_open;
  std::function<void(Connection&, std::string_view)> on_text = [](Connection& c, std::string_view text) {
    c.Send(std::string(text));
  };
  std::function<void(Connection&)> on_tick = [](Connection&) {};
  std::function<void(Connection&, std::function<void()>)> on_last_text = [](Connection&, auto done) { done(); };
  std::function<void(Connection&, std::function<void()>)> on_shutdown = [](Connection&, auto done) { done(); };
};

class RecordingHandler final : public ConnectionHandler {
 public:
  RecordingHandler(Connection& connection, const Behaviour& behaviour, Record& record)
      : connection_(connection), behaviour_(behaviour), record_(record) {
    record_.Add("open " + connection.address());
    if (behaviour_.on_open) behaviour_.on_open(connection_);
  }
  void OnText(std::string_view text) override {
    record_.Add("text " + std::string(text.substr(0, 40)));
    behaviour_.on_text(connection_, text);
  }
  void OnReadEnd() override { record_.Add("read end"); }
  void OnTick() override { behaviour_.on_tick(connection_); }
  void OnLastText(std::function<void()> done) override { behaviour_.on_last_text(connection_, std::move(done)); }
  void OnShutdown(std::function<void()> done) override {
    record_.Add("shutdown");
    behaviour_.on_shutdown(connection_, std::move(done));
  }
  void OnGiveUp(std::string_view why) override { record_.Add("give up: " + std::string(why)); }
  void OnEnd(std::string_view cause) override { record_.Add("end: " + std::string(cause)); }

 private:
  Connection& connection_;
  const Behaviour& behaviour_;
  Record& record_;
};

class ServerTest : public testing::Test {
 protected:
  // Runs the function on the first I/O thread.
  template <typename Function>
  void OnIoThread(Function function) {
    std::promise<void> done;
    boost::asio::post(server_->executor(0), [&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }

  ServerTest() {
    settings_.port = 0;
    settings_.io_threads = 1;
  }

  std::unique_ptr<Server> MakeServer() {
    const auto factory = [this](Connection& connection) {
      return std::make_shared<RecordingHandler>(connection, behaviour_, record_);
    };
    return std::make_unique<Server>(settings_, router_, factory, ledger_);
  }
  void Start() {
    server_ = MakeServer();
    const Status status = server_->Listen();
    ASSERT_TRUE(status.ok()) << status.message();
    server_->Accept();
  }

  RawClient Connect(const std::string& from = "127.0.0.1") { return RawClient(server_->port(), from); }
  RawClient Open(std::string_view more = "", const std::string& from = "127.0.0.1") {
    RawClient client = Connect(from);
    EXPECT_TRUE(client.Handshake(more));
    return client;
  }
  static constexpr std::string_view kDeflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
  // Checks that a client is served. REQUIRES: the handler echoes.
  static void ExpectEcho(RawClient& client, const std::string& text = "unhurt") {
    client.Text(text);
    EXPECT_EQ(client.ReadText(), text);
  }
  RawClient ConnectAndSend(std::string_view bytes) {
    RawClient client = Connect();
    client.Send(bytes);
    return client;
  }
  // Sends a request on a connection of its own.
  RawAnswer Ask(std::string_view request, bool with_body = true) { return ConnectAndSend(request).Answer(with_body); }
  int StatusOf(std::string_view request) { return Ask(request).status; }
  static std::string Get(const std::string& target, const std::string& more = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
  }

  ServerSettings settings_;
  std::shared_ptr<Ledger> ledger_;  // null: the server makes its own
  HttpRouter router_;
  Behaviour behaviour_;
  Record record_;
  std::unique_ptr<Server> server_;  // destroyed first
};

}  // namespace weir
