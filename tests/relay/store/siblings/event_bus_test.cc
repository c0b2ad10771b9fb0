// The bus over a wire that does as the test says.
#include "relay/store/siblings/event_bus.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <vector>

#include "tests/fixtures/eventually.h"

namespace weir {
namespace {

// The script of a wire, what it has been told and what it tells, from any thread.
struct Script {
  std::atomic<bool> connects = true;
  std::atomic<bool> sends = true;
  std::atomic<bool> stays = false;  // after a message that it does not send
  std::atomic<int> connections = 0;
  std::mutex mutex;
  std::vector<std::string> sent;
};

// Loops what is sent back to its sender, like the wires that it stands for.
class ScriptedWire final : public BusWire {
 public:
  explicit ScriptedWire(Script& script) : script_(script) {}
  ~ScriptedWire() override { Close(); }

  Status Connect(Duration /*patience*/) override {
    Close();
    if (!script_.connects) return Status::Error("nobody is there");
    ++script_.connections;
    return pipe2(pipe_.data(), O_CLOEXEC) == 0 ? Status() : Status::Error("no pipe");
  }
  int socket() const override { return pipe_[0]; }
  Status Send(std::span<const std::string> messages, Duration /*patience*/) override {
    if (!script_.sends) {
      if (!script_.stays) Close();
      return Status::Error("not sent");
    }
    const std::lock_guard lock(script_.mutex);
    for (const std::string& message : messages) {
      script_.sent.push_back(message.substr(16));
      back_.push_back(message);
      (void)!write(pipe_[1], "x", 1);
    }
    return {};
  }
  Status Receive(const std::function<void(std::string_view message)>& on_message) override {
    for (const std::string& message : std::exchange(back_, {})) {
      char x;
      (void)!read(pipe_[0], &x, 1);
      on_message(message);
    }
    return {};
  }
  size_t max_message_bytes() const override { return 1000; }
  std::string name() const override { return "a script"; }

 private:
  void Close() {
    for (int& end : pipe_) {
      if (end >= 0) close(end);
      end = -1;
    }
  }

  Script& script_;
  std::array<int, 2> pipe_{-1, -1};
  std::vector<std::string> back_;
};

class EventBusTest : public testing::Test {
 protected:
  void Open() {
    bus_ = std::make_unique<EventBus>(std::make_unique<ScriptedWire>(script_),
                                      BusListener{.on_wake = [] {}, .on_event = [](std::string_view) {}},
                                      std::chrono::seconds(1));
    EXPECT_TRUE(Eventually([&] { return script_.connections > 0 && bus_->Stats().is_up; }));
  }
  size_t Count(const std::string& message) {
    const std::lock_guard lock(script_.mutex);
    return static_cast<size_t>(std::ranges::count(script_.sent, message));
  }

  Script script_;
  std::unique_ptr<EventBus> bus_;
};

TEST_F(EventBusTest, SendsMessagesOfItsDowntimeWhenItIsUp) {
  Open();
  script_.connects = false;
  script_.sends = false;
  bus_->Wake();
  EXPECT_TRUE(Eventually([&] { return !bus_->Stats().is_up; }));
  bus_->Wake();
  script_.sends = true;
  script_.connects = true;
  EXPECT_TRUE(Eventually([&] { return Count("w") == 1; }));
  bus_->Wake();
  EXPECT_TRUE(Eventually([&] { return Count("w") == 2; })) << "the bus takes no more";
}

TEST_F(EventBusTest, AMessageThatTheWireRefusesCostsNoOthers) {
  Open();
  script_.stays = true;
  script_.sends = false;
  bus_->Share("refused");
  EXPECT_TRUE(Eventually([&] { return bus_->Stats().lost == 1; }));
  script_.sends = true;
  bus_->Share("sent");
  EXPECT_TRUE(Eventually([&] { return Count("esent") == 1; }));
  EXPECT_EQ(script_.connections, 1);
  EXPECT_TRUE(bus_->Stats().is_up);
}

}  // namespace
}  // namespace weir
