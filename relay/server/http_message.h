// Between Beast's HTTP messages and those of http.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relay/server/http.h"
#include "relay/server/websocket_stage.h"

namespace weir {

bool AsksForWebSocket(const BeastRequest& request);
// Why a request for a WebSocket cannot be granted.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// What a parser's error is answered with.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);

// All values of a header, joined as one list.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);

// Nothing where the target is not well-formed. The body moves.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address);

// As it goes over the wire.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);

}  // namespace weir
