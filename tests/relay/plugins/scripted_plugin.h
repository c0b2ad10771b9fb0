// ScriptedPlugin: the test itself is the program of a PolicyPlugin. It has the other ends of the pipes of each process
// that the plugin starts.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "config/manual_clock.h"
#include "relay/plugins/policy_plugin.h"
#include "tests/fixtures/eventually.h"

namespace weir {

class ScriptedPlugin {
 public:
  // Returns the options of a plugin whose processes are those of this object.
  PolicyPluginOptions Options(const Clock& clock, size_t processes = 1) {
    return {.name = "write",
            .command = {.command = "scripted", .processes = processes},
            .timeout = std::chrono::seconds(5),
            .clock = clock,
            .start = [this](const std::string&) { return Start(); }};
  }

  // Makes the next starts fail with this error; empty: they succeed again.
  void FailStarts(std::string error) {
    const std::lock_guard lock(mutex_);
    start_error_ = std::move(error);
  }
  size_t started() {
    const std::lock_guard lock(mutex_);
    return processes_.size();
  }

  // Returns the next line that a process was sent, without its newline; "" at the end of its input.
  std::string Hear(size_t process = 0) {
    Process& self = At(process);
    while (true) {
      const size_t end = self.heard.find('\n');
      if (end != std::string::npos) {
        std::string line = self.heard.substr(0, end);
        self.heard.erase(0, end + 1);
        return line;
      }
      if (!HearSome(process)) return "";
    }
  }
  // Waits for bytes of a line, and keeps them for Hear. Returns false at the end of the input.
  bool HearSome(size_t process = 0) {
    Process& self = At(process);
    pollfd polled{.fd = self.input.number(), .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, 60'000) <= 0) ADD_FAILURE() << "no question came";
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(self.input.number(), bytes.data(), bytes.size());
    if (size > 0) self.heard.append(bytes.data(), static_cast<size_t>(size));
    return size > 0;
  }
  void Say(std::string_view bytes, size_t process = 0) {
    while (!bytes.empty()) {
      const ssize_t size = ::write(At(process).output.number(), bytes.data(), bytes.size());
      ASSERT_GT(size, 0);
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
  void Answer(const std::string& id, const std::string& action, const std::string& msg = "", size_t process = 0) {
    Say(R"({"id":")" + id + R"(","action":")" + action + R"(","msg":")" + msg + "\"}\n", process);
  }
  // Closes the pipes of a process, as its end does.
  void End(size_t process = 0) {
    At(process).input.Close();
    At(process).output.Close();
    At(process).error.Close();
  }
  // Waits until that many processes were started.
  void AwaitStart(size_t processes) {
    ASSERT_TRUE(Eventually([&] { return started() >= processes; }));
  }

 private:
  struct Process {
    Descriptor input;
    Descriptor output;
    Descriptor error;
    std::string heard;
  };

  Process& At(size_t process) {
    const std::lock_guard lock(mutex_);
    return processes_.at(process);
  }
  Result<PluginProcess> Start() {
    const std::lock_guard lock(mutex_);
    if (!start_error_.empty()) return Status::Error(start_error_);
    std::array<std::array<int, 2>, 3> pipes{};
    for (auto& ends : pipes)
      if (pipe2(ends.data(), O_CLOEXEC) != 0) return Status::Error("no pipe");
    for (const int own : {pipes[0][1], pipes[1][0], pipes[2][0]}) fcntl(own, F_SETFL, O_NONBLOCK);
    processes_.push_back({Descriptor(pipes[0][0]), Descriptor(pipes[1][1]), Descriptor(pipes[2][1]), ""});
    return PluginProcess(Descriptor(pipes[0][1]), Descriptor(pipes[1][0]), Descriptor(pipes[2][0]));
  }

  std::mutex mutex_;
  std::deque<Process> processes_;
  std::string start_error_;
};

}  // namespace weir
