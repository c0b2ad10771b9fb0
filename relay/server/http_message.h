// Converts between Beast's HTTP messages and those of http.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relay/server/http.h"
#include "relay/server/websocket_stage.h"

namespace weir {

// Returns true if the request names "websocket" in Upgrade.
bool AsksForWebSocket(const BeastRequest& request);
// Returns true if the client waits for the interim answer 100 before it sends the body.
bool AsksToContinue(const BeastRequest& request);
// Returns nullopt if the request is a proper WebSocket handshake, else the answer that says what is wrong with it.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// Returns the answer to an error of Beast's parser. `max_body_bytes` is named in the answer to a body that is too long.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);
// Answers to requests that are refused, the same over HTTP/1.1 and HTTP/2.
HttpResponse HeaderTooLong();
HttpResponse BodyTooLong(uint64_t max_body_bytes);
HttpResponse NotInTime();
HttpResponse BadTarget();
HttpResponse TwoHosts();
HttpResponse AddressHoldsTooMuch();

// Returns nullopt if the header says properly where the body ends, else the answer that refuses the request: 501 for a
// transfer coding other than chunked, because Beast would take such a body for none; 411 if the request `streams` (it
// is for a route of HttpRouter::AddStream), may have a body and gives no length, because the body would be taken for
// empty.
std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams);

// Returns nullopt, or the answer that refuses a request which a proxy in front may have read otherwise than this server
// does: with a header field that goes on in a second line, or with a host in its target that differs from the header
// Host. `raw` is the header as it was sent.
std::optional<HttpResponse> HeaderProblem(const BeastRequest& request, std::string_view raw);

// Returns all values of a header, joined by commas.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);

// Returns path and query as they were sent, without scheme and host. The view is valid as long as the request.
std::string_view TargetOf(const BeastRequest& request);
// Sets path, raw_path and query of `request`. Returns false if the target is not well-formed.
bool SetTarget(HttpRequest& request, std::string_view target);
// Returns the request for a handler, and moves the body out of `request`. `address` and `peer` become those of the
// result. Returns nullopt if the target is not well-formed.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer);
// Returns the decoded HTTP2-Settings of a client that asks to go on with HTTP/2 (h2c); nullopt if it does not ask, or
// not in the proper form.
std::optional<std::string> Http2SettingsOf(const BeastRequest& request);

// Returns true if an answer with this status may have a body: all but 204 and 304.
bool HasBody(const HttpResponse& response);
// Returns the present time for the header Date. The view is valid until the next call on the same thread.
std::string_view HttpDate();
// Calls `take` with name and value of each header that the server adds: Server, Date and Content-Type. These come
// before the handler's own headers. The header that says where the body ends is not among them.
template <typename Take>
void ForCommonHeaders(const HttpResponse& response, Take take) {
  take("Server", "weir");
  take("Date", HttpDate());
  if (HasBody(response) && !response.content_type.empty())
    take("Content-Type", std::string_view(response.content_type));
}
// Returns the bytes of an answer over HTTP/1.1. `keep_alive` says whether the connection stays open; without
// `with_body` the body is left out (HEAD), but not its length.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);
// Returns the bytes of the head of an answer whose body follows in pieces: in chunks if `chunked`, else until the
// connection closes. The head says in both cases that the connection will close.
std::string SerializeHead(const HttpResponse& response, bool chunked);

}  // namespace weir
