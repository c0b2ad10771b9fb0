#include "throttle/limits/quota/profiles.h"

#include <gtest/gtest.h>

#include <map>

namespace weir {
namespace {

TEST(Profiles, AreAsPublished) {
  const std::map<Provider, std::map<std::string_view, ModelQuota>> published = {
      {Provider::kGemini,
       {{"gemini-3-pro-preview", {150, 1'000'000, 1'000}},
        {"gemini-3-flash-preview", {150, 1'000'000, 1'000}},
        {"gemini-2.5-pro", {150, 1'000'000, 1'000}},
        {"gemini-2.0-flash", {150, 1'000'000, 0}},
        {"gemini-2.0-flash-lite", {0, 0, 0}}}},
      {Provider::kOpenAi,
       {{"gpt-4o", {500, 30'000, 0}},
        {"gpt-4-turbo", {500, 30'000, 0}},
        {"o1", {500, 30'000, 0}},
        {"gpt-4o-mini", {500, 200'000, 0}},
        {"o1-mini", {500, 200'000, 0}},
        {"o3-mini", {500, 200'000, 0}}}},
      {Provider::kAnthropic,
       {{"claude-opus-4", {50, 40'000, 0}},
        {"claude-sonnet-4", {50, 40'000, 0}},
        {"claude-haiku-3.5", {50, 50'000, 0}}}},
      {Provider::kLocal, {}},
  };
  ASSERT_EQ(published.size(), kProviders);
  for (const auto& [provider, models] : published) {
    std::map<std::string_view, ModelQuota> found;
    for (const ProfileEntry& entry : ProfileOf(provider)) {
      EXPECT_TRUE(CheckName("model", entry.model).ok());
      EXPECT_TRUE(found.emplace(entry.model, entry.quota).second) << entry.model;
    }
    EXPECT_EQ(found, models) << NameOf(provider);
  }
}

TEST(Profiles, ProvidersHaveNames) {
  for (const Provider provider : {Provider::kGemini, Provider::kOpenAi, Provider::kAnthropic, Provider::kLocal})
    EXPECT_EQ(ProviderNamed(NameOf(provider)), provider);
  EXPECT_EQ(NameOf(Provider::kOpenAi), "openai");
  EXPECT_EQ(ProviderNamed("OpenAI"), std::nullopt);
  EXPECT_EQ(ProviderNamed(""), std::nullopt);
}

}  // namespace
}  // namespace weir
