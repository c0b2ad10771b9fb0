// Profiles: the quotas that each provider of models gives to all its customers. The quota of a profile applies to a
// model if neither the configuration nor the store has a quota for the model (QuotaConfig::providers).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "throttle/limits/quota/quota.h"

namespace weir {

enum class Provider : uint8_t { kGemini, kOpenAi, kAnthropic, kLocal };
inline constexpr size_t kProviders = 4;
std::string_view NameOf(Provider provider);  // "gemini", "openai", "anthropic", "local"
// Returns the provider with this name, or nothing if there is none.
std::optional<Provider> ProviderNamed(std::string_view name);

struct ProfileEntry {
  std::string_view model;
  ModelQuota quota;
};
// Returns the quotas of a provider's models. Returns none for kLocal, because only the operator knows what the hardware
// can do.
std::span<const ProfileEntry> ProfileOf(Provider provider);

}  // namespace weir
