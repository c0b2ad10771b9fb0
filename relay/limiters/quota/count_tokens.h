// Counts the tokens of a text for a model, as the provider counts: asks the Gemini API's models/{model}:countTokens.
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
  std::string url = "https://generativelanguage.googleapis.com/v1beta";  // http only for loopback: the key goes with it
  std::string api_key;
  std::string ca_file;                       // empty: the system's certificates
  std::chrono::milliseconds timeout{10000};  // for the whole call
  uint64_t max_text_bytes = 4 << 20;
  uint64_t max_answer_bytes = 64 << 10;
};
void Declare(SettingTable& table, CountTokensSettings& settings);  // WEIR_COUNT_TOKENS_…

// The error says which of resolving, connecting, TLS, the status (with the provider's message) or the answer failed; it
// never contains the key.
Result<int64_t> CountTokens(const CountTokensSettings& settings, std::string_view model, std::string_view text);

}  // namespace weir
