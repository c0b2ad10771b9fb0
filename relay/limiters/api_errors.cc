#include "relay/limiters/api_errors.h"

#include <utility>

#include "config/text/json_writer.h"

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
    case 413:
      return kBodyTooLong;
    case 500:
      return "internal";
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

std::string WriteError(const ApiError& error) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("error").Open('{');
  json.Member("code").String(error.code);
  json.Member("message").String(error.message);
  json.Close('}').Close('}');
  return std::move(json).Text();
}

HttpResponse JsonResponse(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

HttpResponse ErrorResponse(int status, std::string_view code, std::string message) {
  return JsonResponse(status, WriteError({.code = code, .message = std::move(message)}));
}

HttpResponse PlainErrorAsJson(HttpResponse plain) {
  std::string_view text = plain.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  plain.body = WriteError({.code = NameOf(plain.status), .message = InOneLine(text)});
  plain.content_type = "application/json";
  return plain;
}

HttpResponse RefusalOfAnotherSite() { return ErrorResponse(403, "forbidden", kOfAnotherSite); }

}  // namespace weir
