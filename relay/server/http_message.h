// Converts between Beast's HTTP messages and those of http.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relay/server/http.h"
#include "relay/server/websocket_stage.h"

namespace weir {

bool AsksForWebSocket(const BeastRequest& request);
bool AsksToContinue(const BeastRequest& request);
// Returns the answer to a request for a WebSocket that cannot be granted, else nullopt.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// Returns the answer to a parser's error.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);
// Answers that are the same over HTTP/2.
HttpResponse HeaderTooLong();
HttpResponse BodyTooLong(uint64_t max_body_bytes);
HttpResponse NotInTime();
HttpResponse BadTarget();
HttpResponse TwoHosts();
HttpResponse AddressHoldsTooMuch();

// Returns an answer if a request does not tell properly where its body ends. A body in an unknown coding would be taken
// for no body at all. If the request `streams`, its end must be told in any case, or its body would be taken for an
// empty one.
std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams);

// Returns an answer if the address of a request, or the form of its header, can be read otherwise by a proxy that
// passed it on. `raw` is the header as it was sent.
std::optional<HttpResponse> HeaderProblem(const BeastRequest& request, std::string_view raw);

// Returns all values of a header, joined as one list.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);

// Returns path and query, as they were sent.
std::string_view TargetOf(const BeastRequest& request);
// Sets path and query. Returns false if the target is not well-formed.
bool SetTarget(HttpRequest& request, std::string_view target);
// Returns nullopt if the target is not well-formed. Takes the body.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer);
// Returns the settings of a client that asks to go on with HTTP/2 (h2c).
std::optional<std::string> Http2SettingsOf(const BeastRequest& request);

bool HasBody(const HttpResponse& response);
// The date of this second. The view is valid until the thread's next call.
std::string_view HttpDate();
// Calls `take` for each header that comes before the handler's own, except the one that tells where the body ends.
template <typename Take>
void ForCommonHeaders(const HttpResponse& response, Take take) {
  take("Server", "weir");
  take("Date", HttpDate());
  if (HasBody(response) && !response.content_type.empty())
    take("Content-Type", std::string_view(response.content_type));
}
// Returns the answer as it goes over the wire.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);
// Returns the head of an answer whose body goes in pieces: `chunked`, or until the connection closes, as it does in any
// case.
std::string SerializeHead(const HttpResponse& response, bool chunked);

}  // namespace weir
