#include "relay/standing/standing_settings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "relay/nostr/npub.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

std::string ErrorOf(const Environment& environment, StandingSettings* settings) {
  SettingTable table;
  Declare(table, *settings);
  const Status loaded = table.Load(environment);
  return loaded.ok() ? Check(*settings).message() : loaded.message();
}
std::string ErrorOf(const Environment& environment) {
  StandingSettings settings;
  return ErrorOf(environment, &settings);
}

TEST(StandingSettings, ReadsTheOperatorsOwnList) {
  const std::string npub = ToNpub(ToBytes(Author(1)));
  StandingSettings settings;
  EXPECT_EQ(ErrorOf({{"WEIR_TRUST_FROM", npub + ", " + Author(2) + "\n " + Author(1)}}, &settings), "");
  std::vector<PublicKey> expected = {ToBytes(Author(1)), ToBytes(Author(2))};
  std::ranges::sort(expected);
  EXPECT_EQ(TrustFrom(settings), expected);
  EXPECT_TRUE(TrustFrom({}).empty());
  EXPECT_TRUE(TrustFrom({.trust_from = " , "}).empty());
}

TEST(StandingSettings, NamesAKeyThatIsNone) {
  const std::string error = ErrorOf({{"WEIR_TRUST_FROM", Author(1) + ",npub1x"}});
  EXPECT_TRUE(Has(error, "WEIR_TRUST_FROM: npub1x is not a public key")) << error;
}

TEST(StandingSettings, ASettingWithoutTheLadderIsAnError) {
  EXPECT_EQ(ErrorOf({{"WEIR_LADDER", "off"}}), "");
  for (const auto& [name, value] : {std::pair{"WEIR_TRUST_FROM", Author(1)}, {"WEIR_LADDER_AUTHORS", "5000"}}) {
    EXPECT_TRUE(
        Has(ErrorOf({{"WEIR_LADDER", "off"}, {name, value}}), std::string(name) + " is set, but has no effect"));
    EXPECT_EQ(ErrorOf({{"WEIR_LADDER", "on"}, {name, value}}), "");
    EXPECT_EQ(ErrorOf({{name, value}}), "");
  }
}

}  // namespace
}  // namespace weir
