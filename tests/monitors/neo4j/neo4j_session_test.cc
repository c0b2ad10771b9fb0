// A session against a server that answers as the test says, in clear or by TLS.
#include "monitors/neo4j/neo4j_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/certificates.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

namespace http = boost::beast::http;
using Tcp = boost::asio::ip::tcp;
using Error = boost::system::error_code;

const std::string kGood = R"({"results":[],"errors":[]})";

std::string Answer(const std::string& status, const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

// One connection after another, each for its answers; "" for one that does not come. Then the connection ends.
class ScriptedServer {
 public:
  using Connections = std::vector<std::vector<std::string>>;

  ScriptedServer(Connections connections, const std::string& certificates = "")
      : connections_(std::move(connections)), acceptor_(io_, {boost::asio::ip::make_address("0.0.0.0"), 0}) {
    if (!certificates.empty()) {
      tls_.use_certificate_chain_file(certificates + "/server.crt");
      tls_.use_private_key_file(certificates + "/server.key", boost::asio::ssl::context::pem);
    }
    is_tls_ = !certificates.empty();
    thread_ = std::thread([this] { Run(); });
  }
  ~ScriptedServer() { Join(); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  size_t requests() const { return requests_; }
  size_t ended() const { return ended_; }  // connections

 private:
  void Run() {
    for (const std::vector<std::string>& answers : connections_) {
      {
        Error error;
        boost::asio::ssl::stream<Tcp::socket> stream(io_, tls_);
        acceptor_.accept(stream.next_layer(), error);
        if (is_tls_) {
          stream.handshake(boost::asio::ssl::stream_base::server, error);
          if (!error) Serve(stream, answers);
        } else {
          Serve(stream.next_layer(), answers);
        }
      }
      ++ended_;
    }
  }
  template <typename Stream>
  void Serve(Stream& stream, const std::vector<std::string>& answers) {
    boost::beast::flat_buffer buffer;
    for (const std::string& answer : answers) {
      http::request<http::string_body> request;
      Error error;
      http::read(stream, buffer, request, error);
      if (error) return;
      ++requests_;
      boost::asio::write(stream, boost::asio::buffer(answer), error);
    }
  }

  const Connections connections_;
  boost::asio::io_context io_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  Tcp::acceptor acceptor_;
  bool is_tls_ = false;
  size_t requests_ = 0;
  std::atomic<size_t> ended_ = 0;
  std::thread thread_;
};

std::string Ask(Neo4jSession& session, Duration patience = std::chrono::seconds(60)) {
  return session.Commit({{"RETURN 1"}}, patience).status().message();
}

TEST(Neo4jSessionTest, ReadsWhateverFormAnAnswerHas) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + kGood.substr(0, 5) +
                              "\r\n15\r\n" + kGood.substr(5) + "\r\n0\r\n\r\n";
  ScriptedServer server({{chunked, Answer("202 Accepted", kGood), Answer("502 Bad Gateway", "<html>"),
                          Answer("200 OK", R"({"results":[],"errors":[{"code":"Neo.X","message":"no\nmore"}]})")}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  const std::string at = "Neo4j at 127.0.0.1:" + std::to_string(server.port()) + ": ";
  EXPECT_EQ(Ask(session), "");
  EXPECT_EQ(Ask(session), "");
  EXPECT_EQ(Ask(session), at + "HTTP status 502, an answer that is none of a Neo4j");
  EXPECT_EQ(Ask(session), at + "Neo.X: no");
}

TEST(Neo4jSessionTest, AConnectionThatWasClosedIsMadeAgain) {
  ScriptedServer server(
      {{Answer("200 OK", kGood, "Connection: close\r\n")}, {Answer("200 OK", kGood)}, {Answer("200 OK", kGood)}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  EXPECT_EQ(Ask(session), "") << "it says that it closes";
  EXPECT_EQ(Ask(session), "") << "it does not say so";
  EXPECT_TRUE(Eventually([&] { return server.ended() == 2; }));
  EXPECT_EQ(Ask(session), "");
}

TEST(Neo4jSessionTest, AConnectionOnWhichTheServerSpokeUnaskedIsMadeAgain) {
  ScriptedServer server({{Answer("200 OK", kGood) + Answer("408 Request Timeout", ""), ""}, {Answer("200 OK", kGood)}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  EXPECT_EQ(Ask(session), "");
  EXPECT_EQ(Ask(session), "") << "what it said before is no answer";
}

// It may have been done.
TEST(Neo4jSessionTest, WhatHasNoAnswerIsNotSentAgain) {
  ScriptedServer server({{""}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  EXPECT_NE(Ask(session), "");
  server.Join();
  EXPECT_EQ(server.requests(), 1U);
}

TEST(Neo4jSessionTest, AnAnswerThatDoesNotEndIsNotWaitedFor) {
  ScriptedServer server({{Answer("200 OK", kGood).substr(0, 40), ""}});
  {
    Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
    EXPECT_NE(Ask(session, std::chrono::milliseconds(200)).find("no answer in time"), std::string::npos);
  }
  server.Join();
}

TEST(Neo4jSessionTest, AnAnswerThatIsTooLongIsNotRead) {
  ScriptedServer server({{std::string("HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\n"), ""}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  EXPECT_NE(Ask(session).find("body limit"), std::string::npos);
}

TEST(Neo4jSessionTest, ByTlsOnlyWhoItIsMeantForIsSpokenTo) {
  const TempDirectory directory;
  MakeCertificates(directory.path());
  ScriptedServer server({{Answer("200 OK", kGood)}, {}, {}}, directory.path());
  Neo4jAddress address{.host = "127.0.0.1", .port = server.port(), .tls = true, .ca_file = directory / "ca.crt"};
  EXPECT_EQ(Ask(*std::make_unique<Neo4jSession>(address)), "");
  address.ca_file.clear();
  EXPECT_NE(Ask(*std::make_unique<Neo4jSession>(address)).find("certificate verify failed"), std::string::npos)
      << "nobody knows who signed it";
  address.ca_file = directory / "ca.crt";
  address.host = "127.0.0.2";
  EXPECT_NE(Ask(*std::make_unique<Neo4jSession>(address)).find("certificate verify failed"), std::string::npos)
      << "it is another's";
}

}  // namespace
}  // namespace weir
