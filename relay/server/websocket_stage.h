// The stage after an upgrade: the Connection that handlers see, Beast's WebSocket over the session's stream.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "relay/server/stage.h"

namespace weir {

class Session;

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

struct ClientIdentity {
  std::string address;
  std::string host;
  uint64_t group = 0;
  bool secure = false;
};

// Answers 101 to a request that was found good.
std::unique_ptr<Stage> MakeWebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client);

}  // namespace weir
