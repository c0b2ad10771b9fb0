// The form of an error over HTTP, on every path: {"error":{"code":"…","message":"…"}} in application/json, with its
// status. Programs match the code, people read the message. An answer may have members beside "error". Other forms
// belong to the protocol or program in whose place an answer stands: gRPC, /json of Envoy's rate limits, pages.
//
// A handler may say an error in plain text too; the server gives it this shape.
#pragma once

#include <string>
#include <string_view>

#include "config/text/json_writer.h"
#include "relay/server/http.h"

namespace weir {

inline constexpr std::string_view kBodyTooLong = "body_too_long";

struct ApiError {
  std::string_view code = "invalid_request";  // never changes
  std::string message;
};
// Returns one line, without spaces.
std::string WriteError(const ApiError& error);
// Writes the member "error" of an object that is being written.
void WriteErrorMember(std::string_view code, std::string_view message, JsonWriter& json);

HttpResponse JsonResponse(int status, std::string body);
HttpResponse ErrorResponse(int status, std::string_view code, std::string message);

// Gives an error in plain text the common form; other answers stay as they are. Status and header fields stay; the code
// follows from the status, and the message is the text in one line.
HttpResponse PlainErrorAsJson(HttpResponse response);

}  // namespace weir
