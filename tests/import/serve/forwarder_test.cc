// Behind a raw forwarder on this machine every client comes from loopback, and may write any Host.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "import/serve/import_service.h"
#include "relay/admin/admin.h"
#include "relay/relay.h"
#include "tests/fixtures/raw_client.h"
#include "tests/fixtures/tcp_forwarder.h"
#include "tests/import/serve/service_fixture.h"

namespace weir {
namespace {

class ForwarderTest : public ServiceTest {
 protected:
  ForwarderTest() { configuration_.relay.admin_from_loopback = RelaySettings().admin_from_loopback; }

  Headers Token() const { return {{"Authorization", "Bearer " + ReadAdminToken(configuration_.data_dir)}}; }
};

// Sends a request as a stranger writes it. Returns the status.
int Raw(uint16_t port, const std::string& request) {
  RawClient client(port);
  client.Send(request);
  const std::optional<RawAnswer> answer = client.ReadAnswer(/*with_body=*/false);
  return answer ? answer->status : 0;
}

TEST_F(ForwarderTest, AStrangerIsNoAdministratorWhateverHisHost) {
  Open();
  const TcpForwarder forwarder(port());
  for (const uint16_t to : {forwarder.port(), port()}) {
    for (const char* host : {"localhost", "127.0.0.1", "[::1]:3334", "relay.example"}) {
      const std::string rest = std::string(" HTTP/1.1\r\nHost: ") + host + "\r\n";
      const auto get = [&](const std::string& target) {
        return Raw(to, std::string("GET ").append(target).append(rest).append("\r\n"));
      };
      EXPECT_EQ(get("/api/export"), 401) << host;
      EXPECT_EQ(get("/api/export?order=newest"), 401) << host;
      EXPECT_EQ(get("/api/%65xport"), 404) << host << ": a route has one spelling";
      EXPECT_EQ(get("http://localhost/api/export"), host == std::string("localhost") ? 401 : 400) << host;
      EXPECT_EQ(Raw(to, "HEAD /api/export" + rest + "\r\n"), 401) << host;
      EXPECT_EQ(Raw(to, "POST /api/import" + rest + "Content-Length: 4\r\n\r\n{}\r\n"), 401) << host;
      EXPECT_EQ(Raw(to, "POST /api/import?verify=false" + rest + "Transfer-Encoding: chunked\r\n\r\n"), 401) << host;
    }
  }
  EXPECT_EQ(PostImport(forwarder.port(), NoteLine(1) + "\n", Token()).last.tally[LineOutcome::kImported], 1U);
  EXPECT_EQ(Get("/api/export", Token()), NoteLine(1) + "\n") << "who can read the file is the operator";
}

TEST_F(ForwarderTest, TrustsThisMachineIfTheOperatorSaysSo) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kTrue;
  Open();
  EXPECT_EQ(Get("/api/export"), "");
}

TEST_F(ForwarderTest, TheDataDirectoryIsMadeForItsOwnerAlone) {
  namespace fs = std::filesystem;
  const auto mode = [this] { return fs::status(configuration_.data_dir).permissions() & fs::perms(0777); };
  configuration_.data_dir = directory_ / "new/data/";
  service_ = std::make_unique<ImportService>();
  const mode_t before = umask(0);
  auto made = Relay::Open(configuration_, false, {service_.get()});
  umask(before);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(mode(), fs::perms(0700));
  made.value().reset();
  fs::permissions(configuration_.data_dir, fs::perms(0755));
  service_ = std::make_unique<ImportService>();
  ASSERT_TRUE(Relay::Open(configuration_, false, {service_.get()}).ok());
  EXPECT_EQ(mode(), fs::perms(0755)) << "one that is there is the operator's";
}

}  // namespace
}  // namespace weir
