// Counts the tokens of a text for a model by asking the provider: the Gemini API's models/{model}:countTokens.
//
//   auto tokens = CountTokens(settings, "gemini-2.5-pro", prompt);   // blocks
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "config/status.h"

namespace weir {

struct CountTokensSettings {
  // The base URL. With http, which would show the key, its host must be a loopback address.
  std::string url = "https://generativelanguage.googleapis.com/v1beta";
  std::string api_key;                       // empty: no key is sent
  std::string ca_file;                       // empty: the system's certificates
  std::chrono::milliseconds timeout{10000};  // for the whole call
  uint64_t max_text_bytes = 4 << 20;         // a longer text is not sent
  uint64_t max_answer_bytes = 64 << 10;      // a longer answer is not read
};
void Declare(SettingTable& table, CountTokensSettings& settings);  // WEIR_COUNT_TOKENS_…

// Returns the number of tokens. Blocks, for at most `timeout`. The error says what is wrong with the arguments, or
// which step failed: resolving the name, connecting, TLS, the status (with the provider's message) or the answer. It
// never contains the key.
Result<int64_t> CountTokens(const CountTokensSettings& settings, std::string_view model, std::string_view text);

}  // namespace weir
