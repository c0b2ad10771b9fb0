// The stage for a request over HTTP/1.1 whose body arrives, and whose answer is sent, in pieces. A stage (stage.h) is
// the object that speaks a connection's present protocol. This one implements HttpExchange (http_stream.h).
#pragma once

#include <memory>

#include "relay/net/http.h"
#include "relay/net/request_body.h"
#include "relay/net/stage.h"

namespace weir {

class Session;

// Makes the stage and calls the factory for the handler. `parser` must have read the whole header of the request, and
// no part of the body. `head` is the request without its body. If the factory refuses the request or throws, the stage
// sends the refusal or a 500 and ends the session.
std::unique_ptr<Stage> MakeStreamStage(Session& session, RequestParser&& parser, HttpRequest head,
                                       const HttpStreamFactory& factory);

}  // namespace weir
