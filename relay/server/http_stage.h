// The stage that every socket begins in: HTTP/1.1, until a request asks for a WebSocket or the client for HTTP/2.
#pragma once

#include <memory>

#include "relay/server/server_core.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// With a refusal the stage says why, and does no more.
std::unique_ptr<Stage> MakeFirstStage(Session& session, Refusal refusal);

}  // namespace weir
