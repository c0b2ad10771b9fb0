// LiveRelayTest: a test with a relay that shows its state at /live. The relay keeps its port when it is started again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "relay/relay.h"
#include "relay/watch/live/live_plugin.h"
#include "tests/fixtures/server_port.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

class LiveRelayTest : public testing::Test {
 protected:
  explicit LiveRelayTest(const std::string& name) {
    configuration_.data_dir = directory_.path();
    configuration_.server.port = FreeServerPort();
    configuration_.storage.memory.target_memory_mb = 4096;
    configuration_.relay.name = name;
    Open();
  }
  void Open() {
    part_ = std::make_unique<LivePlugin>();
    auto opened = Relay::Open(configuration_, false, {part_.get()});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
  }
  void Close() {
    relay_.reset();
    part_.reset();
  }

  TempDirectory directory_;
  RelayConfiguration configuration_;

 private:
  std::unique_ptr<LivePlugin> part_;
  std::unique_ptr<Relay> relay_;  // destroyed first
};

}  // namespace weir
