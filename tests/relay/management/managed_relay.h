// ManagedRelayTest: a relay with the plugin for management, whose operator and whose administrator with fewer rights
// have keys.
#pragma once

#include <openssl/evp.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <string>

#include "config/clock.h"
#include "relay/admin/admin.h"
#include "relay/management_plugin.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {

class ManagedRelayTest : public RelayServerTest {
 protected:
  ManagedRelayTest() {
    configuration_.relay.admin_pubkey = ToHex(operator_.pubkey());
    configuration_.relay.admins = ToHex(moderator_.pubkey()) + ":moderate";
    plugin_.methods().Add({.name = "hold",
                           .parameters = {{.name = "document", .type = ManagementParameter::Type::kJson}},
                           .run = [this](const ManagementCall&) -> Result<ManagementResult> {
                             holds_.set_value();
                             let_go_.get_future().wait();
                             return ManagementResult();
                           },
                           .takes_document = true});
    plugin_.methods().Add({.name = "fill", .run = [this](const ManagementCall&) -> Result<ManagementResult> {
                             ++fills_;
                             return ManagementResult{.json = "\"" + std::string(kFilledBytes, 'a') + "\""};
                           }});
    Open({&plugin_});
  }
  ~ManagedRelayTest() override { relay_.reset(); }

  // Waits until the relay takes proofs with the furthest date that it takes.
  void WaitForProofs() const {
    const uint64_t opened = WallClock::System().NowSeconds();
    ASSERT_TRUE(Eventually([&] { return WallClock::System().NowSeconds() > opened; }));
  }

  static std::string CallOf(const std::string& method, const std::string& parameters = "") {
    return R"({"method":")" + method + R"(","params":[)" + parameters + "]}";
  }
  std::string Token() const { return "Authorization: Bearer " + ReadAdminToken(configuration_.data_dir) + "\r\n"; }
  // Receives an answer, which is in chunks unless the request's head was refused.
  static RawAnswer AnswerOf(RawClient& client) {
    RawAnswer answer = client.Answer(true);
    if (answer.headers.contains("transfer-encoding")) answer.body = client.ReadChunks().value_or("");
    return answer;
  }
  RawAnswer Post(const std::string& path, const std::string& body, const std::string& headers) const {
    RawClient client(relay_->port());
    client.Send(HttpText("POST", path, body, headers));
    return AnswerOf(client);
  }
  // Makes the call with the relay's token.
  RawAnswer Manage(const std::string& method, const std::string& parameters = "") const {
    return Post("/api/moderation", CallOf(method, parameters), Token());
  }

  std::string Url() const { return "http://127.0.0.1"; }
  // Returns the header of a request that the signer has signed for this body.
  static std::string Signed(const Signer& signer, const std::string& url, const std::string& body,
                            const std::string& content = "") {
    const std::string tags =
        R"([["u",")" + url + R"("],["method","POST"],["payload",")" + ToHex(Sha256(body)) + R"("]])";
    const std::string event = signer.SignedEvent(WallClock::System().NowSeconds() + 5, 27235, tags, content);
    std::string base64(4 * ((event.size() + 2) / 3) + 1, '\0');
    base64.resize(static_cast<size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                                      reinterpret_cast<const unsigned char*>(event.data()),
                                                      static_cast<int>(event.size()))));
    return "Authorization: Nostr " + base64 + "\r\n";
  }
  // Sends the call as NIP-86 says.
  RawAnswer Nip86(const std::string& body, const std::string& headers, const std::string& path = "/") const {
    return Post(path, body, "Content-Type: application/nostr+json+rpc\r\n" + headers);
  }

  // The method `fill` returns a text with as many bytes, which is more than sockets hold.
  static constexpr size_t kFilledBytes = size_t{12} << 20;
  const Signer operator_{21};
  const Signer moderator_{22};
  // The method `hold` sets `holds_`, and waits for `let_go_`.
  std::promise<void> holds_;
  std::promise<void> let_go_;
  std::atomic<uint64_t> fills_{0};  // calls of `fill` that were executed
  ManagementPlugin plugin_;
};

}  // namespace weir
