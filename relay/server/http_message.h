// Between Beast's HTTP messages and those of http.h.
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
// Why a request for a WebSocket cannot be granted.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// What a parser's error is answered with.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);
// What is the same over HTTP/2.
HttpResponse HeaderTooLong();
HttpResponse BodyTooLong(uint64_t max_body_bytes);
HttpResponse NotInTime();
HttpResponse BadTarget();
HttpResponse TwoHosts();
HttpResponse AddressHoldsTooMuch();

// What is wrong with how the end of a body is told: a coding that nobody here knows would be taken for no body at all.
// One that `streams` has to tell its end in any case, or it would be taken for an empty one.
std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams);

// What is wrong with how a request is addressed, or its header written: both can be read otherwise by whoever passed it
// on. `raw` is the header as it was sent.
std::optional<HttpResponse> HeaderProblem(const BeastRequest& request, std::string_view raw);

// All values of a header, joined as one list.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);

// What is asked for, as it was sent: path and query.
std::string_view TargetOf(const BeastRequest& request);
// Path and query; false where the target is not well-formed.
bool SetTarget(HttpRequest& request, std::string_view target);
// Nothing where the target is not well-formed; the body moves.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer);
// The settings of a client that would go on with HTTP/2 (h2c).
std::optional<std::string> Http2SettingsOf(const BeastRequest& request);

bool HasBody(const HttpResponse& response);
// Of this second. The view is good until the thread's next call.
std::string_view HttpDate();
// What is said of an answer before the handler's own headers, without what tells where its body ends.
template <typename Take>
void ForCommonHeaders(const HttpResponse& response, Take take) {
  take("Server", "weir");
  take("Date", HttpDate());
  if (HasBody(response) && !response.content_type.empty())
    take("Content-Type", std::string_view(response.content_type));
}
// As it goes over the wire.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);
// Of one whose body goes in pieces: in chunks, or until the connection closes, as it does in any case.
std::string SerializeHead(const HttpResponse& response, bool chunked);

}  // namespace weir
