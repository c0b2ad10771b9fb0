// Makes requests to a route for administrators, and checks whether Admin refuses them.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/admin/admin.h"
#include "relay/nostr/npub.h"
#include "relay/nostr/signature.h"
#include "relay/operator/nip98.h"

namespace weir {

inline constexpr uint64_t kAdminNow = 1'700'000'000;

inline std::string Base64(const std::string& bytes) {
  std::string text(bytes.size() / 3 * 4 + 5, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

class AdminTest : public testing::Test {
 protected:
  AdminTest() { key_ = ToHex(signer_.pubkey()); }

  static HttpRequest FromHere() {
    return {.method = "POST",
            .path = "/api/import",
            .query = "",
            .address = "127.0.0.1",
            .peer = "127.0.0.1",
            .body = "",
            .headers = {{"host", "127.0.0.1:3334"}, {"user-agent", "curl"}}};
  }
  static HttpRequest FromElsewhere(const std::string& authorization = "") {
    HttpRequest request = FromHere();
    request.address = request.peer = "203.0.113.9";
    request.headers = {{"host", "relay.example"}};
    if (!authorization.empty()) request.headers.emplace_back("authorization", authorization);
    return request;
  }
  static std::string Tags(const std::string& url = "https://relay.example/api/import",
                          const std::string& method = "POST") {
    return R"([["u",")" + url + R"("],["method",")" + method + "\"]]";
  }
  std::string Proof(const std::string& tags = Tags(), uint64_t created_at = kAdminNow, uint16_t kind = 27235) const {
    return "Nostr " + Base64(signer_.SignedEvent(created_at, kind, tags, ""));
  }

  std::string Npub() const { return ToNpub(signer_.pubkey()); }

  // Returns a proof in which only the signature is wrong.
  std::string Forged() const {
    std::string event = signer_.SignedEvent(kAdminNow, 27235, Tags(), "");
    char& digit = event[event.find("\"sig\":\"") + 100];
    digit = digit == '0' ? '1' : '0';
    return "Nostr " + Base64(event);
  }

  // Returns the status of the refusal; 0 if the request is not refused.
  int Status(const HttpRequest& request) { return StatusOf(MakeAdmin(), request); }
  static int StatusOf(const Admin& admin, const HttpRequest& request) {
    const auto refusal = admin.Refusal(request, AdminRight::kAll);
    return refusal ? refusal->status : 0;
  }
  std::string Why(const HttpRequest& request) {
    const auto refusal = MakeAdmin().Refusal(request, AdminRight::kAll);
    return refusal ? refusal->body : "";
  }
  Admin AdminOf() const {
    std::vector<AdminKey> keys = AdminKeysOf({.admin_pubkey = key_, .admins = admins_}).value();
    return {token_, TrustInLoopback(trust_), std::make_unique<Nip98>(std::move(keys), url_, clock_), clock_};
  }
  // Returns an Admin that has run for long enough to accept proofs.
  Admin MakeAdmin() {
    const Earlier earlier(clock_);
    return AdminOf();
  }

  // Sets the clock back by ten seconds while it exists.
  class Earlier {
   public:
    explicit Earlier(ManualWallClock& clock) : clock_(clock) { clock_.Advance(-std::chrono::seconds(10)); }
    ~Earlier() { clock_.Advance(std::chrono::seconds(10)); }
    Earlier(const Earlier&) = delete;
    Earlier& operator=(const Earlier&) = delete;

   private:
    ManualWallClock& clock_;
  };

  const Signer signer_{3};
  ManualWallClock clock_{kAdminNow};
  std::string key_;
  std::string admins_;
  std::string url_ = "wss://relay.example";
  AdminFromLoopback trust_ = AdminFromLoopback::kFalse;
  std::string token_;
};

}  // namespace weir
