// The last answer on a connection of HTTP/1.1, to a client that may still be sending. What the client sends meanwhile
// is read and dropped. The connection ends when the client has taken the answer and closed its side, or when it takes
// too long (http_bounds.h).
#pragma once

#include <string_view>

#include "relay/server/http.h"
#include "relay/server/server_core.h"

namespace weir {

class Session;

// Writes the answer and ends the session behind it. An error in plain text gets the form of http_error.h. Without
// `with_body` the body is left out (HEAD).
void AnswerUnread(Session& session, HttpResponse response, bool with_body = true);

// Adds one to `counter`, and logs that a request was refused with `status` because of `what`, as often as
// ServerLogs::handshake allows.
void NoteRefusal(Session& session, Counter& counter, int status, std::string_view what);
// Does what NoteRefusal and AnswerUnread do.
void RefuseRequest(Session& session, Counter& counter, HttpResponse response, std::string_view what);

// Logs `what`, the text of an exception that a handler has thrown. Returns the answer 500, which says only that there
// was a fault.
HttpResponse AnswerToFault(const HttpRequest& request, std::string_view what);

}  // namespace weir
