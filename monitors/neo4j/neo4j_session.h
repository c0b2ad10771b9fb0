// Neo4jSession: runs statements on a Neo4j server over HTTP. The session keeps its connection for the next call as long
// as both sides allow it.
//
//   Neo4jSession session(ParseNeo4jUrl("http://neo4j:password@127.0.0.1:7474/neo4j").value());
//   auto answer = session.Commit({{"CREATE (n:Note {text: $text})", R"({"text":"…"})"}}, patience);
//
// If a request fails, Neo4j may still answer with status 200, and with errors in the body. Commit then returns an
// error.
//
// Threads: only one thread at a time may use a session.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "config/wire/http/http_connection.h"

namespace weir {

struct Neo4jAddress {
  std::string host;
  uint16_t port = 7474;
  bool tls = false;
  std::string user;
  std::string password;
  std::string database = "neo4j";
  std::string ca_file;  // file of certificates to trust; empty: those of the system
};
// Reads http://user:password@host:7474/database, or https://…:7473/…?ca=FILE. User, password, port and database may be
// absent. The error does not show the URL.
Result<Neo4jAddress> ParseNeo4jUrl(const std::string& url);

struct Neo4jStatement {
  std::string cypher;
  std::string parameters = "{}";  // a JSON object
};

class Neo4jSession {
 public:
  explicit Neo4jSession(Neo4jAddress address);

  // Runs all statements in one transaction, and waits at most `patience`. Returns Neo4j's JSON: results, each with
  // columns and data. Connects first if there is no connection. Sends the statements only once: after an error without
  // an answer of Neo4j, such as a time-out, the statements may have been executed.
  Result<std::string> Commit(const std::vector<Neo4jStatement>& statements, Duration patience);

 private:
  const Neo4jAddress address_;
  HttpConnection connection_;
};

}  // namespace weir
