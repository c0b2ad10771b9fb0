// Makes HTTP errors. On every path an error has the form {"error":{"code":"…","message":"…"}} in application/json.
// Programs read the code, people read the message. An answer may have other members besides "error". Only answers for
// another protocol or another kind of client have another form: those of gRPC, those of /json of Envoy's rate limits,
// and pages for browsers.
//
// A handler may answer an error in plain text instead; the server then converts it (PlainErrorAsJson).
#pragma once

#include <string>
#include <string_view>

#include "config/text/json_writer.h"
#include "relay/net/http.h"

namespace weir {

inline constexpr std::string_view kBodyTooLong = "body_too_long";

struct ApiError {
  std::string_view code = "invalid_request";  // the text for programs; the same in every version of weir
  std::string message;                        // the text for people
};
// Returns the error as a JSON object, on one line without spaces between its members.
std::string WriteError(const ApiError& error);
// Writes the member "error" into the open object of `json`.
void WriteErrorMember(std::string_view code, std::string_view message, JsonWriter& json);

// Returns an answer in application/json. `body` is the JSON text.
HttpResponse JsonResponse(int status, std::string body);
// Returns an error in the form above.
HttpResponse ErrorResponse(int status, std::string_view code, std::string message);

// Converts an error (a status of 400 or more) in text/plain to the form above. The status determines the code, and the
// message is the text on one line. Status and header fields do not change. Returns other answers unchanged.
HttpResponse PlainErrorAsJson(HttpResponse response);

}  // namespace weir
