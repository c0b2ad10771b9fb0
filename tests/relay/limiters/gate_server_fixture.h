// A gate with a port of its own, and functions that send requests to it over real sockets.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "relay/limiters/gate_server.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/raw_client.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

inline std::string HttpText(const std::string& method, const std::string& path, const std::string& body = "",
                            const std::string& more = "") {
  return method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" + body;
}

// Sends a request on a connection of its own. Returns status 0 if no answer came.
inline RawAnswer AskPort(uint16_t port, const std::string& method, const std::string& path,
                         const std::string& body = "", const std::string& more = "") {
  RawClient client(port);
  client.Send(HttpText(method, path, body, more));
  return client.Answer(method != "HEAD");
}

class GateServerTest : public testing::Test {
 protected:
  GateServerTest() {
    configuration_.server.port = 0;
    configuration_.server.io_threads = 1;
    configuration_.admin_from_loopback = AdminFromLoopback::kTrue;  // most tests show no token
    configuration_.limiters.quota.api = ServedQuotaApi::kAll;
    configuration_.limiters.quota.watch_interval = std::chrono::milliseconds(10);
    configuration_.limiters.quota.upkeep_interval = std::chrono::milliseconds(10);
  }

  void Open() {
    auto opened = GateServer::Open(configuration_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    server_ = std::move(opened).value();
    server_->Accept();
  }
  std::string OpenError() const {
    const auto opened = GateServer::Open(configuration_);
    return opened.ok() ? "opened" : opened.status().message();
  }
  RawAnswer Ask(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& more = "") const {
    return AskPort(server_->port(), method, path, body, more);
  }
  RawAnswer Take(const std::string& model, int tokens) const {
    return Ask("POST", "/v1/decide",
               R"({"model":")" + model + R"(","tokens":)" + std::to_string(tokens) + R"(,"charge":true})");
  }
  // Waits until /metrics has this line. Its figures may be up to a second old.
  bool EventuallyInMetrics(const std::string& line) const {
    return Eventually([&] { return HasLine(Ask("GET", "/metrics").body, line); });
  }

  TempDirectory directory_;
  GateConfiguration configuration_;
  std::unique_ptr<GateServer> server_;  // destroyed first
};

}  // namespace weir
