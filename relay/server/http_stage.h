// The stage (stage.h) that every connection begins in. It speaks HTTP/1.1, until a request asks for a WebSocket or has
// a route that streams, or the client asks for HTTP/2; then it hands the connection to another stage.
#pragma once

#include <memory>

#include "relay/server/server_core.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// Makes the stage. With a refusal, the stage answers 503 with the reason and ends the connection.
std::unique_ptr<Stage> MakeFirstStage(Session& session, Refusal refusal);

}  // namespace weir
