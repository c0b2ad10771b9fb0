// Neo4jSession: one connection to a Neo4j over HTTP, kept as long as both sides keep it.
//
//   Neo4jSession session(ParseNeo4jUrl("http://neo4j:password@127.0.0.1:7474/neo4j").value());
//   auto answer = session.Commit({{"CREATE (n:Note {text: $text})", R"({"text":"…"})"}}, patience);
//
// A request that fails may answer 200 with its errors in the body: that is an error here, too.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/http/http_connection.h"
#include "config/status.h"

namespace weir {

struct Neo4jAddress {
  std::string host;
  uint16_t port = 7474;
  bool tls = false;
  std::string user;
  std::string password;
  std::string database = "neo4j";
  std::string ca_file;  // empty: the system's
};
// Reads http://user:password@host:7474/database, or https://…:7473/…?ca=FILE. The error does not show the password.
Result<Neo4jAddress> ParseNeo4jUrl(const std::string& url);

struct Neo4jStatement {
  std::string cypher;
  std::string parameters = "{}";  // JSON
};

class Neo4jSession {
 public:
  explicit Neo4jSession(Neo4jAddress address);

  // Runs all statements in one transaction. The answer is Neo4j's JSON: results, each with columns and data. Sends them
  // only once: statements without an answer, in time or at all, may have been done. First connects again if the server
  // has closed the connection.
  Result<std::string> Commit(const std::vector<Neo4jStatement>& statements, Duration patience);

 private:
  const Neo4jAddress address_;
  HttpConnection connection_;
};

}  // namespace weir
