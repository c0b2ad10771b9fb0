// Calls to a server that gives the test's answers, in clear or over TLS.
#include "config/wire/http/http_connection.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/fixtures/certificates.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/scripted_server.h"
#include "tests/fixtures/silent_port.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

using boost::asio::ip::tcp;
using Script = ScriptedServer::Connections;

std::string Answer(const std::string& status, const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

ServerUrl At(uint16_t port, bool tls = false) {
  return {.tls = tls, .host = "127.0.0.1", .port = std::to_string(port)};
}

HttpCall Patient(HttpCall call = {}) {
  call.path = "/";
  call.timeout = std::chrono::minutes(1);
  return call;
}

TEST(HttpConnectionTest, ReadsAnswersOfEveryForm) {
  const struct {
    std::string answer;
    int status;
    std::string body;
    std::string problem;  // a part of it
  } cases[] = {
      {Answer("200 OK", "whole"), 200, "whole", ""},
      {Answer("404 Not Found", "no"), 404, "no", ""},
      {Answer("204 No Content", ""), 204, "", ""},
      {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + Answer("200 OK", "after"), 200, "after", ""},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nin pa\r\n3\r\nrts\r\n0\r\nT: x\r\n\r\n", 200,
       "in parts", ""},
      {"HTTP/1.0 200 OK\r\n\r\nto the end", 200, "to the end", ""},
      {"HTTP/1.1 200 OK\r\n" + std::string(70000, 'x'), 0, "", "is larger than 100000 bytes"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n" + std::string(100001, 'x'), 200, "",
       "is larger than 100000 bytes"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nhalf", 200, "", "hung up before the end of its answer"},
      {"HTTP/1.1 200", 0, "", "hung up before the end of its answer"},
      {"HTTP/1.1 103 Early Hints\r\n\r\n", 0, "", "hung up before the end of its answer"},
      {"", 0, "", "hung up without an answer"},
      {"220 mail.example ESMTP\r\n", 0, "", "no HTTP answer from http://127.0.0.1:"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.answer.substr(0, 60));
    ScriptedServer server(Script{{c.answer}});
    const HttpAnswer answer = CallHttp(At(server.port()), Patient({.max_answer_bytes = 100000}));
    if (c.problem.empty()) {
      EXPECT_EQ(answer.problem, "");
      EXPECT_EQ(answer.status, c.status);
      EXPECT_EQ(answer.body, c.body);
    } else {
      EXPECT_NE(answer.problem.find(c.problem), std::string::npos) << answer.problem;
      EXPECT_FALSE(answer.nobody_listens);
    }
  }
}

TEST(HttpConnectionTest, SendsTheGivenMethodPathHeadersAndBody) {
  ScriptedServer server(Script{{Answer("200 OK", "", "X-Kept: Yes\r\n")}, {Answer("200 OK", "")}});
  ServerUrl url = At(server.port());
  url.path = "/base";
  const HttpAnswer answer =
      CallHttp(url, {.method = "POST", .path = "/x?y=z", .headers = {{"Accept", "a/b"}}, .body = "body"});
  EXPECT_EQ(answer.Header("x-kept"), "Yes");
  EXPECT_EQ(answer.Header("missing"), "");
  (void)CallHttp(At(server.port()), {.method = "POST"});
  server.Join();
  const std::string host = "Host: 127.0.0.1:" + url.port + "\r\nUser-Agent: weir/";
  EXPECT_TRUE(server.requests()[0].starts_with("POST /base/x?y=z HTTP/1.1\r\n" + host)) << server.requests()[0];
  EXPECT_TRUE(server.requests()[0].ends_with("\r\nConnection: close\r\nAccept: a/b\r\nContent-Length: 4\r\n\r\nbody"))
      << server.requests()[0];
  EXPECT_TRUE(server.requests()[1].starts_with("POST / HTTP/1.1\r\n" + host)) << server.requests()[1];
  EXPECT_TRUE(server.requests()[1].ends_with("\r\nContent-Length: 0\r\n\r\n")) << server.requests()[1];
}

TEST(HttpConnectionTest, AnAnswerToHeadHasNoBody) {
  ScriptedServer server(Script{{std::string("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n")}});
  const HttpAnswer answer = CallHttp(At(server.port()), Patient({.method = "HEAD"}));
  EXPECT_EQ(answer.problem, "");
  EXPECT_EQ(answer.body, "");
}

TEST(HttpConnectionTest, HandsOutThePiecesOfAnAnswerUntilTheCallHasEnough) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n";
  for (const bool enough : {false, true}) {
    ScriptedServer server(Script{{chunked + (enough ? "" : "0\r\n\r\n")}});
    std::string got;
    const HttpAnswer answer =
        CallHttp(At(server.port()),
                 Patient({.max_answer_bytes = 1, .on_piece = [&](const HttpAnswer& head, std::string_view piece) {
                            EXPECT_EQ(head.status, 200);
                            got += piece;
                            return !enough;
                          }}));
    EXPECT_EQ(answer.problem, "");
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(got, enough ? "one" : "onetwo");
  }
}

TEST(HttpConnectionTest, ASilentServerIsGivenUpAtTheTimeoutAndAtAStop) {
  ScriptedServer server(Script{{"", ""}, {"", ""}});
  const HttpAnswer late = CallHttp(At(server.port()), {.timeout = std::chrono::milliseconds(50)});
  EXPECT_EQ(late.problem, "no answer from http://127.0.0.1:" + std::to_string(server.port()) + " within 0.05 s");
  std::stop_source stop;
  std::thread stopping([&] {
    (void)Eventually([&] { return server.requests().size() == 2; });
    stop.request_stop();
  });
  const HttpAnswer stopped = CallHttp(At(server.port()), {.timeout = std::chrono::hours(1), .stop = stop.get_token()});
  EXPECT_FALSE(stopped.ok());
  stopping.join();
}

TEST(HttpConnectionTest, APortWithoutAServerIsTold) {
  const SilentPort silent;
  const HttpAnswer answer = CallHttp(At(silent.port()), Patient());
  EXPECT_EQ(answer.problem, "cannot connect to 127.0.0.1:" + std::to_string(silent.port()) + ": Connection refused");
  EXPECT_TRUE(answer.nobody_listens);
  const HttpAnswer unknown = CallHttp({.host = "no such host", .port = "1"}, Patient());
  EXPECT_TRUE(unknown.problem.starts_with("cannot find no such host: ")) << unknown.problem;
}

TEST(HttpConnectionTest, AConnectionIsKeptAndRemadeIfTheServerClosedIt) {
  ScriptedServer server(
      Script{{Answer("200 OK", "1"), Answer("200 OK", "2"), Answer("200 OK", "3", "Connection: close\r\n")},
             {Answer("200 OK", "4")},
             {Answer("200 OK", "5") + Answer("408 Request Timeout", ""), ""},
             {Answer("200 OK", "6")}});
  HttpConnection connection(At(server.port()));
  std::string got;
  for (int i = 0; i < 4; ++i) got += connection.Ask(Patient()).body;
  EXPECT_TRUE(Eventually([&] { return server.ended() == 2; })) << "it closed without saying so";
  got += connection.Ask(Patient()).body;
  got += connection.Ask(Patient()).body;
  EXPECT_EQ(got, "123456") << "and what it said unasked is no answer";
}

TEST(HttpConnectionTest, ARequestWithoutAnAnswerIsNotSentAgain) {
  ScriptedServer server(Script{{std::string()}});
  HttpConnection connection(At(server.port()));
  EXPECT_FALSE(connection.Ask(Patient()).ok());
  server.Join();
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST(HttpConnectionTest, ByTlsOnlyTheServerThatIsMeantIsSpokenTo) {
  const TempDirectory directory;
  MakeCertificates(directory.path());
  const std::string large(100000, 'x');
  ScriptedServer server(
      Script{{Answer("200 OK", "in secret"), Answer("200 OK", large)}, {}, {}, {Answer("200 OK", "")}},
      directory.path());
  HttpConnection connection(At(server.port(), true));
  HttpCall call = Patient({.method = "POST", .body = large, .ca_file = directory / "ca.crt"});
  EXPECT_EQ(connection.Ask(call).body, "in secret");
  EXPECT_EQ(CallHttp(At(server.port(), true), Patient({.ca_file = directory / "none"})).problem.substr(0, 36),
            "cannot read the certificates of " + (directory / "none").substr(0, 4));
  connection.Ask(call);
  const HttpAnswer unknown = CallHttp(At(server.port(), true), Patient());
  EXPECT_NE(unknown.problem.find("its certificate is refused: "), std::string::npos) << unknown.problem;
  ServerUrl other = At(server.port(), true);
  other.host = "127.0.0.2";
  const HttpAnswer others = CallHttp(other, call);
  EXPECT_NE(others.problem.find("its certificate is refused: IP address mismatch"), std::string::npos)
      << others.problem;
  call.verify = false;
  EXPECT_EQ(CallHttp(other, call).problem, "");
}

TEST(HttpConnectionTest, NoCallUsesAConnectionThatWasCheckedInAnotherWay) {
  const TempDirectory directory;
  MakeCertificates(directory.path());
  ScriptedServer server(Script{{Answer("200 OK", "unchecked"), Answer("200 OK", "")},
                               {},
                               {Answer("200 OK", "checked"), Answer("200 OK", "kept")}},
                        directory.path());
  HttpConnection connection(At(server.port(), true));
  EXPECT_EQ(connection.Ask(Patient({.verify = false})).body, "unchecked");
  const HttpAnswer unknown = connection.Ask(Patient());
  EXPECT_NE(unknown.problem.find("its certificate is refused: "), std::string::npos) << unknown.problem;
  const HttpCall checked = Patient({.ca_file = directory / "ca.crt"});
  EXPECT_EQ(connection.Ask(checked).body, "checked");
  EXPECT_EQ(connection.Ask(checked).body, "kept");
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST(HttpConnectionTest, AnAnswerUntilTheEndOfTlsMustBeEndedByTls) {
  const TempDirectory directory;
  MakeCertificates(directory.path());
  ScriptedServer server(Script{{std::string("HTTP/1.0 200 OK\r\n\r\nto the end")}}, directory.path());
  const HttpAnswer cut = CallHttp(At(server.port(), true), Patient({.ca_file = directory / "ca.crt"}));
  EXPECT_NE(cut.problem.find("hung up before the end of its answer"), std::string::npos) << cut.problem;
}

// Returns the client's first record, which lists the TLS versions that it accepts.
std::string HelloOfACall() {
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  std::string hello;
  std::thread server([&] {
    tcp::socket socket(io);
    acceptor.accept(socket);
    std::array<unsigned char, 5> head{};
    boost::system::error_code error;
    boost::asio::read(socket, boost::asio::buffer(head), error);
    hello.resize(static_cast<size_t>(head[3]) << 8 | head[4]);
    boost::asio::read(socket, boost::asio::buffer(hello), error);
  });
  const auto url = ParseServerUrl("https://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  (void)CallHttp(url.value(), {.path = "/", .timeout = std::chrono::minutes(1)});
  server.join();
  return hello;
}

// Runs in a process of its own, whose OpenSSL is configured so that it would speak TLS 1.0.
TEST(HttpConnectionDeathTest, OffersNothingBeforeTls12EvenIfTheSystemWould) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDirectory directory;
  std::ofstream(directory / "openssl.cnf") << "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = low\n"
                                              "[low]\nMinProtocol = TLSv1\nCipherString = DEFAULT:@SECLEVEL=0\n";
  setenv("OPENSSL_CONF", (directory / "openssl.cnf").c_str(), 1);
  const auto call = [] {
    // The extension supported_versions: 1.3 and 1.2.
    constexpr std::string_view kVersions("\0\x2b\0\x05\x04\x03\x04\x03\x03", 9);
    std::exit(HelloOfACall().find(kVersions) != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(call(), testing::ExitedWithCode(0), "");
  unsetenv("OPENSSL_CONF");
}

}  // namespace
}  // namespace weir
