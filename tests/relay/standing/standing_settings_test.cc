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

TEST(StandingSettings, TrustsTheAdministratorsOfOrly) {
  StandingSettings settings;
  EXPECT_EQ(ErrorOf({{"ORLY_ADMINS", Author(1)}}, &settings), "");
  EXPECT_EQ(TrustFrom(settings), std::vector{ToBytes(Author(1))});
  EXPECT_EQ(ErrorOf({{"ORLY_ADMINS", Author(1)}, {"WEIR_TRUST_FROM", Author(2)}}, &settings), "");
  EXPECT_EQ(TrustFrom(settings), std::vector{ToBytes(Author(2))});
  EXPECT_EQ(ErrorOf({{"ORLY_ADMINS", Author(1)}, {"WEIR_LADDER", "off"}}), "");
}

TEST(StandingSettings, ASizeWithoutTheLadderIsAnError) {
  const std::pair<std::string, std::string> authors = {"WEIR_LADDER_AUTHORS", "5000"};
  EXPECT_EQ(ErrorOf({{"WEIR_LADDER", "off"}}), "");
  EXPECT_TRUE(Has(ErrorOf({{"WEIR_LADDER", "off"}, authors}), "WEIR_LADDER_AUTHORS is set, but has no effect"));
  EXPECT_EQ(ErrorOf({{"WEIR_LADDER", "on"}, authors}), "");
  EXPECT_EQ(ErrorOf({authors}), "");
}

}  // namespace
}  // namespace weir
