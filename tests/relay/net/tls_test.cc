// The port that speaks TLS: what it agrees to, what it refuses, and how it ends.
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "relay/net/tls_stream.h"
#include "tests/fixtures/certificates.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/fixtures/tls_client.h"
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

constexpr std::string_view kAsk = "GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kAskLast = "GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

class TlsTest : public ServerTest {
 protected:
  TlsTest() {
    MakeCertificates(directory_.path());
    settings_.tls = FilesOf("server");
    for (const char* name : {"server", "client"})
      std::filesystem::permissions(FilesOf(name).key, std::filesystem::perms::owner_read);
    router_.Add("GET", "/who", [](const HttpRequest& request) {
      return HttpResponse{.body = request.secure ? "by TLS" : "in clear"};
    });
    router_.Add("POST", "/take", [](const HttpRequest& request) { return HttpResponse{.body = request.body}; });
    router_.Add("GET", "/much", [](const HttpRequest&) { return HttpResponse{.body = std::string(8 << 20, 'm')}; });
  }
  TlsFiles FilesOf(const std::string& name) const {
    return {.certificate = directory_ / (name + ".crt"), .key = directory_ / (name + ".key")};
  }
  // Renews as a renewing program does: one file after the other.
  void Renew(const std::string& certificate_of, const std::string& key_of) {
    std::filesystem::copy_file(FilesOf(certificate_of).certificate, directory_ / "new");
    std::filesystem::rename(directory_ / "new", settings_.tls.certificate);
    std::filesystem::copy_file(FilesOf(key_of).key, directory_ / "new");
    std::filesystem::rename(directory_ / "new", settings_.tls.key);
    server_->ReloadCertificate();
  }
  TlsStats Stats() { return *server_->Stats().tls; }
  std::string Ask(TlsClientOptions options = {}, std::string_view request = kAskLast) {
    TlsClient client(server_->port(), std::move(options));
    if (!client.ShakeHands() || !client.Send(request)) return client.why();
    std::string answer = client.ReadToEnd();
    EXPECT_TRUE(client.ended_cleanly());
    return answer;
  }

  const TempDirectory directory_;
};

TEST_F(TlsTest, AnswersByTls12AndTls13) {
  Start();
  EXPECT_TRUE(Has(Ask(), "by TLS"));
  EXPECT_TRUE(Has(Ask({.only_1_2 = true}), "by TLS"));
  EXPECT_EQ(Stats().handshakes, 2U);
  EXPECT_EQ(Stats().handshake_failures, 0U);
  EXPECT_GT(Stats().certificate_expires_at, 0);
}

TEST_F(TlsTest, AgreesOnHttp2OrHttp1) {
  Start();
  const auto agreed = [&](TlsClientOptions options) {
    TlsClient client(server_->port(), std::move(options));
    return client.ShakeHands() ? client.protocol() : "none: " + client.why();
  };
  EXPECT_EQ(agreed({.protocols = "h2 http/1.1"}), "h2");
  EXPECT_EQ(agreed({.protocols = "http/1.1 h2"}), "h2");
  EXPECT_EQ(agreed({.protocols = "http/1.1"}), "http/1.1");
  EXPECT_EQ(agreed({}), "");
  EXPECT_EQ(agreed({.protocols = "h2 http/1.1", .only_1_2 = true}), "h2");
  EXPECT_EQ(agreed({.protocols = "h2 http/1.1", .only_1_2 = true, .ciphers = "ECDHE-ECDSA-AES128-SHA"}), "http/1.1");
  EXPECT_TRUE(Has(agreed({.protocols = "spdy/3"}), "no application protocol"));
}

TEST_F(TlsTest, Http2SendsItsSettingsFirstAndTakesNoOtherProtocol) {
  Start();
  TlsClient client(server_->port(), {.protocols = "h2"});
  ASSERT_TRUE(client.ShakeHands());
  constexpr char kSettings = 4;
  EXPECT_EQ(client.Read(9)[3], kSettings) << "before a word of the client's";
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_FALSE(Has(client.ReadToEnd(), "HTTP/1.1"));
  EXPECT_TRUE(client.ended_cleanly());
}

TEST_F(TlsTest, AWebSocketIsSecure) {
  bool secure = false;
  behaviour_.on_open = [&](Connection& connection) { secure = connection.secure(); };
  Start();
  TlsClient client(server_->port());
  ASSERT_TRUE(client.ShakeHands());
  ASSERT_TRUE(client.Send(RawClient::HandshakeRequest() + ClientFrame(kText, "one")));
  std::string got;
  while (!got.ends_with("one")) {
    const std::string some = client.ReadSome();
    ASSERT_FALSE(some.empty());
    got += some;
  }
  EXPECT_TRUE(secure);
}

TEST_F(TlsTest, TellsAnEndFromAConnectionThatWasCut) {
  Start();
  for (const bool told : {true, false}) {
    TlsClient client(server_->port());
    ASSERT_TRUE(client.ShakeHands());
    ASSERT_TRUE(client.Send(RawClient::HandshakeRequest()));
    ASSERT_FALSE(client.ReadSome().empty());
    if (told) client.SayEnd();
    client.raw().HalfClose();
    EXPECT_TRUE(record_.Await(told ? "end: the client hung up" : "end: connection lost"));
  }
}

TEST_F(TlsTest, HttpInClearIsToldWhatThePortSpeaks) {
  Start();
  RawClient client = ConnectAndSend("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawAnswer answer = client.Answer();
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(Has(answer.body, "https://"));
  EXPECT_TRUE(client.AtEnd());
  EXPECT_FALSE(client.was_reset());
}

TEST_F(TlsTest, ABadHelloEndsTheConnection) {
  Start();
  const std::string announces_a_lot("\x16\x03\x01\x40\x00\x01\x01\xff\xff", 9);
  const std::string in_shreds("\x16\x03\x01\x00\x01\x01\x16\x03\x01\x00\x01\x00", 12);
  const std::string no_hello("\x16\x03\x01\x00\x10\x02\x00\x00\x0c", 9);
  const std::string rubbish = std::string("\x16\x03\x01\x00\x20\x01\x00\x00\x1c", 9) + std::string(28, 'x');
  uint64_t failures = 0;
  for (const std::string& bytes : {announces_a_lot, in_shreds, no_hello, rubbish, std::string("\0\1\2", 3)}) {
    RawClient client = Connect();
    ASSERT_TRUE(client.Send(bytes));
    client.ReadToEnd();
    ++failures;
    EXPECT_TRUE(Eventually([&] { return Stats().handshake_failures == failures; })) << failures;
  }
  { RawClient silent = Connect(); }
  EXPECT_TRUE(Has(Ask(), "by TLS"));
  EXPECT_EQ(Stats().handshake_failures, failures) << "who says nothing fails at nothing";
}

TEST_F(TlsTest, AHandshakeHasItsTime) {
  settings_.handshake_timeout = std::chrono::milliseconds(400);
  Start();
  RawClient half = ConnectAndSend(std::string("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11));
  RawClient silent = Connect();
  TlsClient idle(server_->port());
  ASSERT_TRUE(idle.ShakeHands());
  EXPECT_TRUE(half.AtEnd());
  EXPECT_TRUE(silent.AtEnd()) << "nothing can be said to it";
  EXPECT_TRUE(Has(idle.ReadToEnd(), "408"));
  EXPECT_TRUE(idle.ended_cleanly());
}

TEST_F(TlsTest, EndlessKeyUpdatesEndTheConnection) {
  Start();
  TlsClient client(server_->port());
  ASSERT_TRUE(client.ShakeHands());
  for (int round = 0; round < 20; ++round) {
    for (int n = 0; n < 8; ++n) ASSERT_TRUE(client.UpdateKey());
    ASSERT_TRUE(client.Send(kAsk));
    ASSERT_TRUE(Has(client.ReadSome(), "HTTP/1.1 200"));
  }
  for (int n = 0; n < 1000; ++n) client.UpdateKey();
  client.ReadToEnd();
  EXPECT_FALSE(client.ended_cleanly());
  EXPECT_TRUE(Has(Ask(), "by TLS"));
}

TEST_F(TlsTest, ASessionIsResumed) {
  Start();
  for (const bool only_1_2 : {false, true}) {
    TlsClient first(server_->port(), {.only_1_2 = only_1_2});
    ASSERT_TRUE(first.ShakeHands());
    ASSERT_TRUE(first.Send(kAskLast));
    first.ReadToEnd();
    SSL_SESSION* const session = first.session();
    TlsClient second(server_->port(), {.only_1_2 = only_1_2, .session = session});
    EXPECT_TRUE(second.ShakeHands());
    EXPECT_TRUE(second.resumed());
    SSL_SESSION_free(session);
  }
}

TEST_F(TlsTest, BodiesOfAnySizePass) {
  Start();
  EXPECT_EQ(Ask({}, "GET /much HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").size() >> 20, 8U);
  const std::string body(700'000, 'b');
  const std::string post =
      "POST /take HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 700000\r\n\r\n";
  EXPECT_TRUE(Ask({}, post + body).ends_with(body));
}

TEST_F(TlsTest, AClientThatLeavesAmidAnAnswerHarmsNoOther) {
  Start();
  for (int n = 0; n < 20; ++n) {
    TlsClient client(server_->port());
    ASSERT_TRUE(client.ShakeHands());
    client.Send("GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.Read(size_t{1} << (n % 16));
    client.raw().Reset();
  }
  EXPECT_TRUE(Has(Ask(), "by TLS"));
}

// The configuration of the system's OpenSSL may allow anything.
TEST(TlsStreamTest, AgreesToNoVersionBeforeTls12) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  ASSERT_EQ(SSL_CTX_set_min_proto_version(context, TLS1_VERSION), 1);
  TlsStream::SetUp(context);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(context), TLS1_2_VERSION);
  SSL_CTX_free(context);
}

TEST_F(TlsTest, RefusesOverTlsInHttp1) {
  settings_.max_connections = 1;
  Start();
  TlsClient first(server_->port());
  ASSERT_TRUE(first.ShakeHands());
  EXPECT_TRUE(Has(Ask({.from = "127.0.0.2", .protocols = "h2 http/1.1"}), "HTTP/1.1 503"));
}

TEST_F(TlsTest, AShutdownEndsWhatIsIdleAndAnswersWhatWasAsked) {
  std::optional<HttpReply> reply;
  router_.AddDeferred("GET", "/later", [&](const HttpRequest&, HttpReply given) {
    reply = std::move(given);
    record_.Add("asked");
  });
  Start();
  TlsClient idle(server_->port());
  ASSERT_TRUE(idle.ShakeHands());
  ASSERT_TRUE(idle.Send(kAsk));
  ASSERT_FALSE(idle.ReadSome().empty());
  TlsClient waits(server_->port());
  ASSERT_TRUE(waits.ShakeHands());
  ASSERT_TRUE(waits.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(record_.Await("asked"));
  std::thread going([&] { server_->Shutdown(std::chrono::minutes(1)); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(idle.ended_cleanly());
  (*reply)(HttpResponse{.body = "at last"});
  EXPECT_TRUE(waits.ReadToEnd().ends_with("at last"));
  EXPECT_TRUE(waits.ended_cleanly());
  going.join();
}

TEST_F(TlsTest, ARenewedPairIsTakenAndABadOneIsNot) {
  Start();
  const auto name = [&] {
    TlsClient client(server_->port());
    return client.ShakeHands() ? client.certificate_name() : client.why();
  };
  TlsClient open(server_->port());
  ASSERT_TRUE(open.ShakeHands());
  EXPECT_EQ(name(), "localhost");
  Renew("client", "server");
  EXPECT_TRUE(Eventually([&] { return Stats().reload_failures == 1; }));
  EXPECT_EQ(name(), "localhost");
  Renew("client", "client");
  EXPECT_TRUE(Eventually([&] { return Stats().reloads >= 1; }));
  EXPECT_EQ(name(), "a gate");
  std::filesystem::remove(settings_.tls.key);
  server_->ReloadCertificate();
  EXPECT_TRUE(Eventually([&] { return Stats().reload_failures == 2; }));
  EXPECT_EQ(name(), "a gate");
  ASSERT_TRUE(open.Send(kAskLast));
  EXPECT_TRUE(Has(open.ReadToEnd(), "by TLS")) << "a connection keeps what it began with";
}

TEST_F(TlsTest, SaysWhatIsWrongWithThePair) {
  const auto problem = [](const TlsFiles& files) { return CheckTls(files).message(); };
  const TlsFiles good = FilesOf("server");
  EXPECT_EQ(problem(good), "");
  EXPECT_EQ(problem({}), "");
  EXPECT_TRUE(Has(problem({.certificate = good.certificate}), "WEIR_TLS_CERT is set without WEIR_TLS_KEY"));
  EXPECT_TRUE(Has(problem({.key = good.key}), "WEIR_TLS_KEY is set without WEIR_TLS_CERT"));
  EXPECT_TRUE(Has(problem({directory_ / "none", good.key}), "none: cannot be read: No such file"));
  EXPECT_TRUE(Has(problem({good.certificate, directory_ / "none"}), "WEIR_TLS_KEY=" + (directory_ / "none")));
  EXPECT_TRUE(Has(problem({good.key, good.key}), "no good certificate in PEM form"));
  EXPECT_TRUE(Has(problem({good.certificate, good.certificate}), "no key in PEM form"));
  const std::string other = problem({good.certificate, FilesOf("client").key});
  EXPECT_TRUE(Has(other, "not the key of the certificate in " + good.certificate)) << other;
  settings_.tls.key = FilesOf("client").key;
  server_ = MakeServer();
  EXPECT_EQ(server_->Listen().message(), other);
}

// However the bytes are cut on their way, what comes out is what went in.
RC_GTEST_FIXTURE_PROP(TlsTest, TheBytesMayBeCutAnywhere, ()) {
  Start();
  const auto cuts = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 600)));
  const auto bytes = *rc::gen::inRange<size_t>(1, 40'000);
  const bool only_1_2 = *rc::gen::arbitrary<bool>();
  size_t next = 0;
  const auto send = [&](RawClient& raw, std::string_view all) {
    while (!all.empty()) {
      const std::string_view piece = all.substr(0, cuts[next++ % cuts.size()]);
      raw.Send(piece);
      all.remove_prefix(piece.size());
    }
  };
  std::string body;
  for (size_t n = 0; n < bytes; ++n) body += static_cast<char>('a' + n * n % 26);
  const std::string request =
      "POST /take HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + std::to_string(bytes) +
      "\r\n\r\n" + body;
  RC_ASSERT(Ask({.only_1_2 = only_1_2, .send = send}, request).ends_with("\r\n\r\n" + body));
}

}  // namespace
}  // namespace weir
