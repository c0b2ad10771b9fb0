// Quotas that the providers give to all their customers, by model. They apply unless others are stated.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "throttle/quota/quota.h"

namespace weir {

enum class Provider : uint8_t { kGemini, kOpenAi, kAnthropic, kLocal };
inline constexpr size_t kProviders = 4;
std::string_view NameOf(Provider provider);  // "gemini", "openai", "anthropic", "local"
std::optional<Provider> ProviderNamed(std::string_view name);

struct ProfileEntry {
  std::string_view model;
  ModelQuota quota;
};
std::span<const ProfileEntry> ProfileOf(Provider provider);

}  // namespace weir
