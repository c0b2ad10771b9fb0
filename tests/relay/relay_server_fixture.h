// RelayServerTest: a relay in this process, on a free port, with a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/relay.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

class RelayServerTest : public testing::Test {
 protected:
  RelayServerTest() {
    configuration_.data_dir = directory_ / "data";
    configuration_.server.port = 0;
    // Memory that the address sanitizer keeps after it is freed counts too.
    configuration_.storage.memory.target_memory_mb = 4096;
  }

  // A fixture that owns the plugins ends the relay in its destructor.
  void Open(const std::vector<RelayPlugin*>& plugins = {}) {
    relay_.reset();
    auto opened = Relay::Open(configuration_, false, plugins);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relay_ = std::move(opened).value();
    relay_->Accept();
  }

  const TempDirectory directory_;
  RelayConfiguration configuration_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace weir
