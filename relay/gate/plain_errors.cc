#include "relay/gate/plain_errors.h"

#include <string>
#include <string_view>

#include "relay/gate/quota_json.h"

namespace weir {
namespace {

std::string_view CodeOf(int status) {
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

HttpResponse PlainErrorAsJson(HttpResponse plain) {
  std::string_view text = plain.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  plain.body = WriteError({.code = CodeOf(plain.status), .message = InOneLine(text)});
  plain.content_type = "application/json";
  return plain;
}

}  // namespace weir
