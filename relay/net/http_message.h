// Converts between Beast's HTTP messages and the messages of http.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "relay/net/http.h"
#include "relay/net/websocket_stage.h"

namespace weir {

// Returns true if the request names "websocket" in Upgrade.
bool AsksForWebSocket(const BeastRequest& request);
// Returns true if the client waits for the interim answer 100 before it sends the body.
bool AsksToContinue(const BeastRequest& request);
// Returns nullopt if the request is a proper WebSocket handshake, else the answer that says what is wrong.
std::optional<HttpResponse> UpgradeProblem(const BeastRequest& request);

// Returns the answer to an error of Beast's parser. If a body is too long, the answer names `max_body_bytes`.
HttpResponse AnswerToMalformed(const boost::system::error_code& error, uint64_t max_body_bytes);
// Return answers that refuse requests, both over HTTP/1.1 and over HTTP/2.
HttpResponse HeaderTooLong();
HttpResponse BodyTooLong(uint64_t max_body_bytes);
HttpResponse NotInTime();
HttpResponse BadTarget();
HttpResponse TwoHosts();
HttpResponse AddressHoldsTooMuch();

// Returns nullopt if the header properly defines the end of the body, else the answer that refuses the request. The
// answer is 501 for a transfer coding other than chunked, because Beast would ignore such a body. If `streams` is true
// (the route is one of HttpRouter::AddStream), the answer is 411 for a request that may have a body but gives no
// length, because the server would take the body for empty.
std::optional<HttpResponse> FramingProblem(const BeastRequest& request, bool streams);

// Returns true if a header field in `raw`, a part of a header that ends with a whole field, continues on a second line.
bool FoldsAField(std::string_view raw);

// Returns the answer that refuses a request if a proxy may read its header in another way than this server: if a header
// field continues on a second line (`folds`), or if the host in the target differs from the header Host. Otherwise
// returns nullopt.
std::optional<HttpResponse> HeaderProblem(const BeastRequest& request, bool folds);

// Return all values of a header, joined by commas.
std::string JoinedHeader(const BeastRequest& request, std::string_view name);
std::string JoinedHeader(const HttpRequest& request, std::string_view lower_case_name);

// Returns the path and query as they were sent, without scheme, host and fragment. The view is valid as long as the
// request.
std::string_view TargetOf(const BeastRequest& request);
// Sets path, raw_path and query of `request`. Returns false if the target is not well-formed.
bool SetTarget(HttpRequest& request, std::string_view target);
// Returns the request for a handler, with `address` and `peer`, and moves the body out of `request`. Returns nullopt if
// the target is not well-formed.
std::optional<HttpRequest> ToHttpRequest(BeastRequest& request, std::string address, std::string peer);
// Returns the decoded header HTTP2-Settings if the request asks to continue with HTTP/2 (h2c). Returns nullopt if it
// does not ask, or not in the proper form.
std::optional<std::string> Http2SettingsOf(const BeastRequest& request);

// Returns true if an answer with this status may have a body, which is true for all but 204 and 304.
bool HasBody(const HttpResponse& response);
// Returns the present time for the header Date. The view is valid until the next call on the same thread.
std::string_view HttpDate();
// Calls `take` with the name and value of each header that the server adds before the handler's own headers: Server,
// Date and, if the answer may have a body, Content-Type. Leaves out the header that defines the end of the body.
template <typename Take>
void ForCommonHeaders(const HttpResponse& response, Take take) {
  take("Server", "weir");
  take("Date", HttpDate());
  if (HasBody(response) && !response.content_type.empty())
    take("Content-Type", std::string_view(response.content_type));
}
// Returns the bytes of an answer over HTTP/1.1. `keep_alive` is true if the connection stays open. If `with_body` is
// false (HEAD), the result has the length of the body but not the body.
std::string Serialize(const HttpResponse& response, bool keep_alive, bool with_body);
// Returns the bytes of the head of an answer whose body follows in pieces. If `chunked`, the body is sent in chunks;
// else it ends when the connection closes. In both cases the head says that the connection will close.
std::string SerializeHead(const HttpResponse& response, bool chunked);

}  // namespace weir
