// LiveRelayTest: a test with a relay that shows its state at /live. The relay keeps its port when it is started again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "relay/watch/live/live_plugin.h"
#include "tests/fixtures/server_port.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {

class LiveRelayTest : public RelayServerTest {
 protected:
  explicit LiveRelayTest(const std::string& name) {
    configuration_.server.port = FreeServerPort();
    configuration_.relay.name = name;
    Open();
  }
  ~LiveRelayTest() override { Close(); }

  void Open() {
    Close();
    plugin_ = std::make_unique<LivePlugin>();
    RelayServerTest::Open({plugin_.get()});
  }
  void Close() {
    relay_.reset();
    plugin_.reset();
  }

 private:
  std::unique_ptr<LivePlugin> plugin_;
};

}  // namespace weir
