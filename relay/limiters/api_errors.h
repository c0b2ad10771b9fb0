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

// Whether a page of another site, in somebody's browser, makes a request that changes or charges (POST, PUT, DELETE):
// its Origin is not the Host that was asked, or the browser says so (Sec-Fetch-Site). A browser sends a simple POST
// wherever a page likes, and only keeps the answer from it. Programs send neither field.
bool IsChangeByAnotherSite(const HttpRequest& request);
// The same of any request, for what a GET changes too. A browser that says nothing about itself is not found out: it
// sends no Origin with a simple GET, and Sec-Fetch-Site to https and to this machine alone.
bool IsByAnotherSite(const HttpRequest& request);
inline constexpr const char* kOfAnotherSite = "a page of another site may not ask this in somebody's browser";
HttpResponse RefusalOfAnotherSite();

}  // namespace weir
