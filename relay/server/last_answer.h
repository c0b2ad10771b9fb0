// The last answer on a connection, to a client that may still be sending: the connection ends when it has been taken,
// or its time is up.
#pragma once

#include <string_view>

#include "relay/server/http.h"
#include "relay/server/server_core.h"

namespace weir {

class Session;

void AnswerUnread(Session& session, HttpResponse response, bool with_body = true);

// Counts a bad request, and logs it as far as `logs.handshake` allows.
void NoteRefusal(Session& session, Counter& counter, int status, std::string_view what);
// Notes a bad request, and gives it the last answer.
void RefuseRequest(Session& session, Counter& counter, HttpResponse response, std::string_view what);

// Logs what a handler threw. The answer says only that there was a fault.
HttpResponse AnswerToFault(const HttpRequest& request, std::string_view what);

}  // namespace weir
