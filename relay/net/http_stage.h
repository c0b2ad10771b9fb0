// The first stage of every connection. A stage (stage.h) is the object that speaks a connection's present protocol.
// This one speaks HTTP/1.1 until a request asks for a WebSocket or has a route of HttpRouter::AddStream, or the client
// asks for HTTP/2. Then another stage replaces it.
#pragma once

#include <memory>

#include "relay/net/server_core.h"
#include "relay/net/stage.h"

namespace weir {

class Session;

// Makes the stage. If `refusal` is not kNone, the stage answers 503 with the reason and ends the connection.
std::unique_ptr<Stage> MakeFirstStage(Session& session, Refusal refusal);

}  // namespace weir
