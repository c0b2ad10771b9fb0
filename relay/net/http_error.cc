#include "relay/net/http_error.h"

#include <utility>

#include "config/text/readable.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

std::string_view NameOf(int status) {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 408:
      return "too_slow";
    case 409:
      return "conflict";
    case 413:
      return kBodyTooLong;
    case 415:
      return "unsupported_media_type";
    case 429:
      return "too_many_requests";
    case 431:
      return "headers_too_long";
    case 500:
      return "internal";
    case 503:
      return "unavailable";
    default:
      return "invalid_request";
  }
}

std::string InOneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line += c;
    } else {
      line += line.ends_with(':') ? " " : "; ";
    }
  }
  return line;
}

}  // namespace

void WriteErrorMember(std::string_view code, std::string_view message, JsonWriter& json) {
  json.Member("error").Open('{');
  json.Member("code").String(code);
  // The message may quote bytes that a client has sent.
  json.Member("message").String(IsUtf8(message) ? std::string(message) : AsText(message));
  json.Close('}');
}

std::string WriteError(const ApiError& error) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  WriteErrorMember(error.code, error.message, json);
  json.Close('}');
  return std::move(json).Text();
}

HttpResponse JsonResponse(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

HttpResponse ErrorResponse(int status, std::string_view code, std::string message) {
  return JsonResponse(status, WriteError({.code = code, .message = std::move(message)}));
}

HttpResponse PlainErrorAsJson(HttpResponse response) {
  if (response.status < 400 || !response.content_type.starts_with("text/plain")) return response;
  std::string_view text = response.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  response.body = WriteError({.code = NameOf(response.status), .message = InOneLine(text)});
  response.content_type = "application/json";
  return response;
}

}  // namespace weir
