// The HttpExchange (http_stream.h) over HTTP/1.1: the stage (stage.h) for a request whose body and answer go in pieces.
#pragma once

#include <memory>

#include "relay/server/http.h"
#include "relay/server/request_body.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// Makes the stage and asks the factory for the handler. `parser` has read the header of the request `head` and nothing
// of its body. If the factory refuses or throws, the stage sends that answer and ends the session.
std::unique_ptr<Stage> MakeStreamStage(Session& session, RequestParser&& parser, HttpRequest head,
                                       const HttpStreamFactory& factory);

}  // namespace weir
