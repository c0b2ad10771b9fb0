// Asks a model's provider how many tokens a text has, by the Gemini API's call models/{model}:countTokens.
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
  // The base URL. If it begins with http://, which sends the key in the clear, its host must be a loopback address.
  std::string url = "https://generativelanguage.googleapis.com/v1beta";
  std::string api_key;                       // empty: no key is sent
  std::string ca_file;                       // empty: the system's certificates
  std::chrono::milliseconds timeout{10000};  // for the whole call
  uint64_t max_text_bytes = 4 << 20;         // a longer text is an error
  uint64_t max_answer_bytes = 64 << 10;      // a longer answer is an error
};
void Declare(SettingTable& table, CountTokensSettings& settings);  // WEIR_COUNT_TOKENS_…

// Returns the number of tokens of `text`. Blocks for at most `timeout`. An error says which argument is wrong or which
// step failed: resolving the name, connecting, TLS, the status (with the provider's message) or the answer. It never
// contains the key.
Result<int64_t> CountTokens(const CountTokensSettings& settings, std::string_view model, std::string_view text);

}  // namespace weir
