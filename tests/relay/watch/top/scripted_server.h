// ScriptedServer: a server that answers each request with bytes that the test chooses, and keeps each connection open
// as long as the test wants.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/listening_socket.h"

namespace weir {

// The server answers one request at a time.
class ScriptedServer {
 public:
  // Sends the bytes. Returns false if the client has closed the connection, or the test is over.
  using Send = std::function<bool(std::string_view bytes)>;
  using Answer = std::function<void(const std::string& head, const Send& send)>;

  explicit ScriptedServer(Answer answer) : answer_(std::move(answer)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedServer() {
    ended_ = true;
    shutdown(listener_.socket(), SHUT_RDWR);
    thread_.join();
  }

  uint16_t port() const { return listener_.port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  // Returns the requests: "GET /live/state", …
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  // Sends the bytes again and again until the client has closed the connection, or the test is over.
  static void KeepOpen(const Send& send, std::string_view bytes = "") {
    while (send(bytes)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static std::string Whole(const std::string& type, const std::string& body, const std::string& status = "200 OK") {
    return "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  static std::string StreamHead() { return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"; }

 private:
  void Run() {
    for (int client = 0; (client = accept4(listener_.socket(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(client)) {
      std::string head;
      char byte = 0;
      while (!head.ends_with("\r\n\r\n") && recv(client, &byte, 1, 0) == 1) head += byte;
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(head.substr(0, head.find(" HTTP/")));
      }
      answer_(head, [this, client](std::string_view bytes) {
        while (!bytes.empty() && !ended_) {
          const ssize_t sent = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
          if (sent < 0 && errno != EAGAIN) return false;
          if (sent < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          bytes.remove_prefix(sent < 0 ? 0 : static_cast<size_t>(sent));
        }
        char gone = 0;
        return !ended_ && recv(client, &gone, 1, MSG_DONTWAIT) != 0;
      });
    }
  }

  const Answer answer_;
  const ListeningSocket listener_{16};
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::thread thread_;
};

}  // namespace weir
