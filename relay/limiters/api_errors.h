// How the API of the limiters refuses: {"error":{"code":…,"message":…}} with a status.
#pragma once

#include <string>
#include <string_view>

#include "relay/server/http.h"

namespace weir {

inline constexpr std::string_view kBodyTooLong = "body_too_long";

struct ApiError {
  std::string_view code = "invalid_request";  // a text for ever
  std::string message;
};
// One line, without spaces.
std::string WriteError(const ApiError& error);

HttpResponse JsonResponse(int status, std::string body);
HttpResponse ErrorResponse(int status, std::string_view code, std::string message);

// Puts into JSON what a server says in plain text of requests that no handler took or no administrator made. Status and
// header fields stay; the code goes by the status, and the message is the text in one line.
HttpResponse PlainErrorAsJson(HttpResponse plain);

// To what relay/operator/other_site.h finds out.
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this in somebody's browser";
HttpResponse RefusalOfAnotherSite();

}  // namespace weir
