#include "throttle/limits/quota/profiles.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<std::string_view, kProviders> kNames = {"gemini", "openai", "anthropic", "local"};

constexpr ModelQuota Quota(int64_t rpm, int64_t tpm, int64_t rpd) {
  return {.max_rpm = rpm, .max_tpm = tpm, .max_rpd = rpd};
}

// The providers' quotas as of February 2026.
constexpr ProfileEntry kGemini[] = {
    {"gemini-3-pro-preview", Quota(150, 1'000'000, 1'000)},
    {"gemini-3-flash-preview", Quota(150, 1'000'000, 1'000)},
    {"gemini-2.5-pro", Quota(150, 1'000'000, 1'000)},
    {"gemini-2.0-flash", Quota(150, 1'000'000, 0)},
    {"gemini-2.0-flash-lite", Quota(0, 0, 0)},
};
constexpr ProfileEntry kOpenAi[] = {
    {"gpt-4o", Quota(500, 30'000, 0)}, {"gpt-4o-mini", Quota(500, 200'000, 0)}, {"gpt-4-turbo", Quota(500, 30'000, 0)},
    {"o1", Quota(500, 30'000, 0)},     {"o1-mini", Quota(500, 200'000, 0)},     {"o3-mini", Quota(500, 200'000, 0)},
};
constexpr ProfileEntry kAnthropic[] = {
    {"claude-opus-4", Quota(50, 40'000, 0)},
    {"claude-sonnet-4", Quota(50, 40'000, 0)},
    {"claude-haiku-3.5", Quota(50, 50'000, 0)},
};

}  // namespace

std::string_view NameOf(Provider provider) { return kNames[static_cast<size_t>(provider)]; }

std::optional<Provider> ProviderNamed(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Provider>(found - kNames.begin());
}

std::span<const ProfileEntry> ProfileOf(Provider provider) {
  switch (provider) {
    case Provider::kGemini:
      return kGemini;
    case Provider::kOpenAi:
      return kOpenAi;
    case Provider::kAnthropic:
      return kAnthropic;
    case Provider::kLocal:
      break;  // only the operator knows what the hardware can do
  }
  return {};
}

}  // namespace weir
