// How an error is told over HTTP, on every path: {"error":{"code":"…","message":"…"}} in application/json, with its
// status. Programs match the code, people read the message. An answer may have members beside "error". Other forms are
// those of the protocol or program in whose place an answer stands: gRPC's, /json of Envoy's rate limits, pages.
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
  std::string_view code = "invalid_request";  // a text for ever
  std::string message;
};
// One line, without spaces.
std::string WriteError(const ApiError& error);
// The member "error" of an object that is being written.
void WriteErrorMember(std::string_view code, std::string_view message, JsonWriter& json);

HttpResponse JsonResponse(int status, std::string body);
HttpResponse ErrorResponse(int status, std::string_view code, std::string message);

// Gives an error that was said in plain text the shape of all; another answer stays as it is. Status and header fields
// stay; the code goes by the status, and the message is the text in one line.
HttpResponse PlainErrorAsJson(HttpResponse response);

}  // namespace weir
