// The last answer on a connection, to a client that may still be sending: the connection ends when it has been taken,
// or its time is up.
#pragma once

#include <string_view>

#include "relay/server/http.h"
#include "relay/server/server_core.h"

namespace weir {

class Session;

void AnswerUnread(Session& session, HttpResponse response, bool with_body = true);

// Counts and logs, as far as `logs.handshake` lets it, what was no good request.
void NoteRefusal(Session& session, Counter& counter, int status, std::string_view what);
// The last answer to one.
void RefuseRequest(Session& session, Counter& counter, HttpResponse response, std::string_view what);

// Logs what a handler threw, and says no more of it than that it did.
HttpResponse AnswerToFault(const HttpRequest& request, std::string_view what);

}  // namespace weir
