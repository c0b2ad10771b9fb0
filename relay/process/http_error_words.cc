#include "relay/process/http_error_words.h"

#include <simdjson.h>

#include <algorithm>

#include "config/text/parse.h"

namespace weir {

std::optional<std::string> ErrorMessageIn(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element answer;
  std::string_view message;
  if (parser.parse(body.data(), body.size()).get(answer) != simdjson::SUCCESS ||
      answer["error"]["message"].get(message) != simdjson::SUCCESS)
    return std::nullopt;
  return std::string(message);
}

std::string ErrorWordsIn(std::string_view body, size_t most_bytes) {
  const std::optional<std::string> message = ErrorMessageIn(body);
  const std::string_view text = message ? std::string_view(*message) : body;
  return std::string(TrimBlanks(text.substr(0, std::min(text.find('\n'), most_bytes))));
}

}  // namespace weir
