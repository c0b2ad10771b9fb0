// Between Beast's HTTP messages and those of http.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relay/server/http.h"
#include "relay/server/websocket_stage.h"

namespace weir {

bool AsksForWebSocket(const BeastRequest& request);
bool AsksToContinue(const BeastRequest& request);
// Why a request for a WebSocket cannot be granted.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// What a parser's error is answered with.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);

// What is wrong with how the end of a body is told: a coding that nobody here knows would be taken for no body at all.
// One that `streams` has to tell its end in any case, or it would be taken for an empty one.
std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams);

// All values of a header, joined as one list.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);

// What is asked for, as it was sent: path and query.
std::string_view TargetOf(const BeastRequest& request);
// Nothing where the target is not well-formed.
std::optional<std::string> PathOf(const BeastRequest& request);
// The same; the body moves.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer);

bool HasBody(const HttpResponse& response);
// As it goes over the wire.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);
// Of one whose body goes in pieces: in chunks, or until the connection closes, as it does in any case.
std::string SerializeHead(const HttpResponse& response, bool chunked);

}  // namespace weir
