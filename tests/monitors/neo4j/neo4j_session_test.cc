// A session against a server that gives the test's answers, in clear or over TLS.
#include "monitors/neo4j/neo4j_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/fixtures/certificates.h"
#include "tests/fixtures/scripted_server.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

const std::string kGood = R"({"results":[],"errors":[]})";

std::string Answer(const std::string& status, const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

std::string Ask(Neo4jSession& session, Duration patience = std::chrono::seconds(60)) {
  return session.Commit({{"RETURN 1"}}, patience).status().message();
}

TEST(Neo4jSessionTest, ReadsAnswersOfAnyForm) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n" + kGood.substr(0, 5) +
                              "\r\n15\r\n" + kGood.substr(5) + "\r\n0\r\n\r\n";
  ScriptedServer server({{chunked, Answer("202 Accepted", kGood), Answer("502 Bad Gateway", "<html>"),
                          Answer("200 OK", R"({"results":[],"errors":[{"code":"Neo.X","message":"no\nmore"}]})")}});
  Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
  const std::string at = "Neo4j at 127.0.0.1:" + std::to_string(server.port()) + ": ";
  EXPECT_EQ(Ask(session), "");
  EXPECT_EQ(Ask(session), "");
  EXPECT_EQ(Ask(session), at + "HTTP status 502, the answer is not from Neo4j");
  EXPECT_EQ(Ask(session), at + "Neo.X: no");
}

TEST(Neo4jSessionTest, AnAnswerThatDoesNotEndIsNotWaitedFor) {
  ScriptedServer server({{Answer("200 OK", kGood).substr(0, 40), ""}});
  {
    Neo4jSession session({.host = "127.0.0.1", .port = server.port()});
    EXPECT_NE(Ask(session, std::chrono::milliseconds(200)).find("no answer from "), std::string::npos);
  }
  server.Join();
}

TEST(Neo4jSessionTest, ByTlsItBelievesTheCertificatesOfItsFile) {
  const TempDirectory directory;
  MakeCertificates(directory.path());
  ScriptedServer server({{Answer("200 OK", kGood)}, {}}, directory.path());
  Neo4jAddress address{.host = "127.0.0.1", .port = server.port(), .tls = true, .ca_file = directory / "ca.crt"};
  EXPECT_EQ(Ask(*std::make_unique<Neo4jSession>(address)), "");
  address.ca_file.clear();
  EXPECT_NE(Ask(*std::make_unique<Neo4jSession>(address)).find("its certificate is refused"), std::string::npos);
}

}  // namespace
}  // namespace weir
