#include "relay/limiters/quota/count_tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/wire/http/http_connection.h"
#include "relay/process/http_error_words.h"
#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxWords = 300;  // the most bytes of a provider's message that are shown

Result<ServerUrl> Endpoint(const CountTokensSettings& settings) {
  Result<ServerUrl> url = ParseServerUrl(settings.url);
  if (!url.ok())
    return Status::Error("WEIR_COUNT_TOKENS_URL=" + Printable(settings.url) + ": " + url.status().message());
  if (!url.value().tls && !url.value().is_loopback())
    return Status::Error("WEIR_COUNT_TOKENS_URL=" + Printable(settings.url) +
                         ": the key would cross the network in the clear; use https");
  const bool plain = std::ranges::all_of(settings.api_key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain) return Status::Error("WEIR_COUNT_TOKENS_KEY: not printable ASCII without blanks");
  return url;
}

Status CheckText(const CountTokensSettings& settings, std::string_view text) {
  if (text.size() > settings.max_text_bytes)
    return Status::Error("the text has " + std::to_string(text.size()) + " bytes, more than " +
                         std::to_string(settings.max_text_bytes) + " (WEIR_COUNT_TOKENS_MAX_TEXT_BYTES)");
  if (!simdjson::validate_utf8(text.data(), text.size())) return Status::Error("the text is not UTF-8");
  return {};
}

HttpCall Question(const CountTokensSettings& settings, std::string_view model, std::string_view text) {
  HttpCall request{.method = "POST",
                   .path = "/models/" + EncodePercent(model) + ":countTokens",
                   .timeout = settings.timeout,
                   .max_answer_bytes = settings.max_answer_bytes,
                   .ca_file = settings.ca_file};
  request.body = R"({"contents":[{"parts":[{"text":)";
  AppendJsonString(text, &request.body);
  request.body += "}]}]}";
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
  if (!settings.api_key.empty()) request.headers.emplace_back("x-goog-api-key", settings.api_key);
  return request;
}

// Returns the provider's message on one line, cut to kMaxWords bytes, and with `key` replaced.
std::string Tamed(std::string words, const std::string& key) {
  for (size_t at = 0; !key.empty() && (at = words.find(key, at)) != words.npos; ++at)
    words.replace(at, key.size(), "…");
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  if (words.size() <= kMaxWords) return words;
  size_t end = kMaxWords;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;
  return words.substr(0, end) + "…";
}

Status ErrorOf(const HttpAnswer& response, const std::string& origin, const std::string& key) {
  const std::optional<std::string> words = ErrorMessageIn(response.body);
  const std::string status = origin + " answers " + std::to_string(response.status);
  return Status::Error(!words ? status : status + ": " + Tamed(*words, key));
}

}  // namespace

void Declare(SettingTable& table, CountTokensSettings& s) {
  table.Add("COUNT_TOKENS_URL", &s.url, "address of the server that counts tokens, without /models/…:countTokens");
  table.AddSecret("COUNT_TOKENS_KEY", &s.api_key, "the API key for the token-counting server");
  table.Add("COUNT_TOKENS_CA_FILE", &s.ca_file,
            "file of CA certificates (PEM) that verify the token-counting server's certificate; empty: the system's");
  table.Add("COUNT_TOKENS_TIMEOUT_MS", &s.timeout, {.min = 1, .max = 600'000}, "longest time for a count");
  table.Add("COUNT_TOKENS_MAX_TEXT_BYTES", &s.max_text_bytes, {.min = 1, .max = 1 << 30, .unit = "bytes"},
            "longest text that is sent to be counted");
  table.Add("COUNT_TOKENS_MAX_ANSWER_BYTES", &s.max_answer_bytes, {.min = 1024, .max = 1 << 30, .unit = "bytes"},
            "longest answer that is read");
}

Result<int64_t> CountTokens(const CountTokensSettings& settings, std::string_view model, std::string_view text) {
  if (Status status = CheckName("model", model); !status.ok()) return status;
  if (Status status = CheckText(settings, text); !status.ok()) return status;
  const Result<ServerUrl> url = Endpoint(settings);
  if (!url.ok()) return url.status();
  const HttpAnswer counted = CallHttp(url.value(), Question(settings, model, text));
  if (!counted.ok()) return Status::Error(counted.problem);
  const std::string origin = url.value().Origin();
  if (counted.status != 200) return ErrorOf(counted, origin, settings.api_key);
  dom::parser parser;
  dom::element answer;
  int64_t tokens = -1;
  const bool read = parser.parse(counted.body).get(answer) == simdjson::SUCCESS &&
                    answer["totalTokens"].get(tokens) == simdjson::SUCCESS && tokens >= 0;
  if (!read) return Status::Error("the answer of " + origin + " has no totalTokens");
  return tokens;
}

}  // namespace weir
