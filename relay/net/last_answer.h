// Sends the last answer on a connection of HTTP/1.1, to a client that may still be sending. Further input is read and
// dropped. The connection ends when the client has taken the answer and closed its side, or when that takes too long
// (http_bounds.h).
#pragma once

#include <string_view>

#include "relay/net/http.h"
#include "relay/net/server_core.h"

namespace weir {

class Session;

// Writes the answer and then ends the session. Converts an error in plain text to the form of http_error.h. If
// `with_body` is false (HEAD), leaves out the body.
void AnswerUnread(Session& session, HttpResponse response, bool with_body = true);

// Adds one to `counter`. Logs that a request was refused with `status` because of `what`, unless ServerLogs::handshake
// has reached its limit.
void NoteRefusal(Session& session, Counter& counter, int status, std::string_view what);
// Calls NoteRefusal and AnswerUnread.
void RefuseRequest(Session& session, Counter& counter, HttpResponse response, std::string_view what);

// Logs `what`, the text of an exception that a handler has thrown. Returns an answer with status 500, which says only
// that there was a fault.
HttpResponse AnswerToFault(const HttpRequest& request, std::string_view what);

}  // namespace weir
