// The stage of a WebSocket. A stage (stage.h) is the object that speaks a connection's present protocol. This one
// implements Connection (connection.h), and runs Beast's WebSocket on the session's stream.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "relay/net/stage.h"

namespace weir {

class Session;

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

// The facts about a client that the functions of Connection return.
struct ClientIdentity {
  std::string address;
  std::string host;
  uint64_t group = 0;
  bool secure = false;
};

// Answers 101 to `request`, which must be a proper WebSocket handshake (UpgradeProblem in http_message.h). Makes the
// handler with ServerCore::factory, and returns the stage. Throws if the factory throws.
std::unique_ptr<Stage> MakeWebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client);

}  // namespace weir
