// TwoRelaysTest: a relay "here", which has a router, and another one "there", both in this process.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "import/links/router_plugin.h"
#include "import/serve/import_service.h"
#include "relay/management_plugin.h"
#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/web_client.h"
#include "tests/import/serve/service_fixture.h"

namespace weir {

class TwoRelaysTest : public testing::Test {
 protected:
  // A relay that can be closed and opened again on the same port.
  struct Side {
    explicit Side(const std::string& directory) {
      configuration.data_dir = directory;
      configuration.server.port = port;
      configuration.storage.rocksdb.sync = SyncMode::kOff;
      // Memory that the address sanitizer keeps after it is freed counts too.
      configuration.storage.memory.target_memory_mb = 4096;
    }
    ~Side() { Close(); }

    void Open(const std::vector<RelayPlugin*>& plugins) {
      std::filesystem::create_directories(configuration.data_dir);
      auto opened = Relay::Open(configuration, false, plugins);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      relay = std::move(opened).value();
      relay->Accept();
    }
    void Close() {
      if (relay) relay->Shutdown(std::chrono::seconds(10));
      relay.reset();
    }
    // Publishes an event, and returns what follows its id in the answer.
    std::string Publish(const std::string& event) const {
      WebClient client(port);
      client.Send("[\"EVENT\"," + event + "]");
      const std::string ok = client.Read().value_or("the connection has ended");
      return ok.starts_with("[\"OK\",") ? ok.substr(73) : ok;
    }
    // Returns the stored events; those that come meanwhile may be missing.
    std::set<std::string> Stored() const {
      WebClient client(port);
      client.Send(R"(["REQ","all",{"limit":5000}])");
      std::set<std::string> events;
      for (const std::string& message : client.ReadUntil("[\"EOSE\""))
        if (message.starts_with("[\"EVENT\"")) events.insert(message.substr(15, message.size() - 16));
      return events;
    }

    const HeldPort port;
    RelayConfiguration configuration;
    std::unique_ptr<Relay> relay;
  };

  void OpenThere() { there_.Open({}); }
  // Opens the relay with the links of the file, which may be empty.
  void OpenHere(const std::string& router) {
    WriteFile(router);
    management_ = std::make_unique<ManagementPlugin>();
    router_ = std::make_unique<RouterPlugin>(management_->methods(), [this] { return file_; });
    here_.configuration.relay.admin_from_loopback = AdminFromLoopback::kTrue;  // the tests show no token
    here_.Open({management_.get(), router_.get()});
  }
  void CloseHere() {
    here_.Close();
    router_.reset();
    management_.reset();
  }
  ~TwoRelaysTest() override { CloseHere(); }

  void WriteFile(const std::string& text) const {
    WriteText(file_ + ".new", text);
    std::filesystem::rename(file_ + ".new", file_);
  }
  std::string ThereUrl() const { return "ws://127.0.0.1:" + std::to_string(there_.port); }
  // Returns weir.yaml with a link to the relay there. `more` has further lines of the group.
  std::string LinkToThere(const std::string& more = "") const {
    return "router:\n  peers:\n    relays: [\"" + ThereUrl() + "\"]\n" + more;
  }
  // Returns the column of the first link at /live; empty if there is no link.
  std::string Shown(size_t column) const {
    const LiveTable table = LiveTableOf(*router_, "links");
    return table.rows.empty() ? "" : table.rows[0][column];
  }
  bool IsLive() const {
    return Eventually([this] { return Shown(3) == "live"; });
  }
  uint64_t Metric(const std::string& what) const {
    return MetricOf(*router_,
                    "weir_link_events_total{relay=\"" + ThereUrl() + "\"}{group=\"peers\"}{what=\"" + what + "\"}");
  }
  // Waits until the counter of the link's events has this value.
  bool Reaches(const std::string& what, uint64_t count) const {
    return Eventually([&] { return Metric(what) == count; });
  }
  // Returns the event of a message to the subscription "s"; empty if it is shorter.
  static std::string EventOf(const std::string& message) {
    return message.size() < 14 ? "" : message.substr(13, message.size() - 14);
  }
  // Returns a note of this second.
  static std::string News(uint64_t number, uint16_t kind = 1, const std::string& tags = "[]") {
    return NoteLine(number, kind, tags, WallClock::System().NowSeconds());
  }

  const TempDirectory directory_;
  const std::string file_ = directory_ / "weir.yaml";
  Side there_{directory_ / "there"};
  Side here_{directory_ / "here"};
  std::unique_ptr<ManagementPlugin> management_;
  std::unique_ptr<RouterPlugin> router_;
};

}  // namespace weir
