#include "relay/net/last_answer.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/net/http_error.h"
#include "relay/net/http_message.h"
#include "relay/net/io_thread.h"
#include "relay/net/session.h"

namespace weir {

void AnswerUnread(Session& session, HttpResponse response, bool with_body) {
  response = PlainErrorAsJson(std::move(response));
  session.stream().Append(Serialize(response, false, with_body));
  session.EndAfterOutput("answered " + std::to_string(response.status), Session::Then::kLinger);
}

void NoteRefusal(Session& session, Counter& counter, int status, std::string_view what) {
  counter.Add(1);
  IoThread& thread = session.thread();
  if (const auto line = thread.core().logs.handshake.Take(thread.Now())) {
    spdlog::info("{}: HTTP {}: {}{}", session.peer().to_string(), status, what, line->Suffix());
  }
}

void RefuseRequest(Session& session, Counter& counter, HttpResponse response, std::string_view what) {
  NoteRefusal(session, counter, response.status, what);
  AnswerUnread(session, std::move(response));
}

HttpResponse AnswerToFault(const HttpRequest& request, std::string_view what) {
  spdlog::error("{} {} failed: {}", Printable(request.method), Printable(request.path), AsText(what));
  return {.status = 500, .body = "this request met a fault in the server, which is logged\n"};
}

}  // namespace weir
