// The HttpExchange over HTTP/1.1: a request whose body and answer go in pieces (http_stream.h).
#pragma once

#include <memory>

#include "relay/server/http.h"
#include "relay/server/request_body.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// `parser` has read the header of `head`, and nothing of the body. Asks the factory.
std::unique_ptr<Stage> MakeStreamStage(Session& session, RequestParser&& parser, HttpRequest head,
                                       const HttpStreamFactory& factory);

}  // namespace weir
