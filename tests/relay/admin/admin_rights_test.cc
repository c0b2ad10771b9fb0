// Several administrators, and what each may do.
#include "relay/admin/admin_rights.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "relay/operator/admin_keys.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/admin/admin_fixture.h"

namespace weir {
namespace {

std::string NamesIn(const AdminRights& rights) {
  std::string names;
  for (size_t i = 0; i < kAdminRightNames.size(); ++i)
    if (rights.Has(static_cast<AdminRight>(i))) names.append(names.empty() ? "" : " ").append(kAdminRightNames[i]);
  return names;
}

TEST(AdminRights, EveryRightIncludesReadAndAllIncludesEveryRight) {
  const struct {
    const char* words;
    const char* has;
  } cases[] = {{"read", "read"},
               {"moderate", "read moderate"},
               {"settings", "read settings"},
               {"moderate+settings", "read moderate settings"},
               {"read + moderate", "read moderate"},
               {"all", "read moderate settings all"}};
  for (const auto& c : cases) {
    const Result<AdminRights> rights = AdminRights::Parse(c.words);
    ASSERT_TRUE(rights.ok()) << c.words;
    EXPECT_EQ(NamesIn(rights.value()), c.has) << c.words;
  }
  EXPECT_EQ(NamesIn(AdminRights()), "");
  for (const char* wrong : {"", "+", "read+", "write", "Read", "read moderate", "moderate,read"})
    EXPECT_FALSE(AdminRights::Parse(wrong).ok()) << wrong;
}

TEST(AdminKeys, AreReadInBothFormsWithTheirRights) {
  const std::string hex(64, '2');
  const std::string npub = ToNpub(Signer(3).pubkey());
  const auto keys =
      AdminKeysOf({.admin_pubkey = hex, .admins = " " + npub + " : moderate , " + std::string(64, '3') + ":read"});
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  ASSERT_EQ(keys.value().size(), 3u);
  EXPECT_EQ(keys.value()[0].hex, hex);
  EXPECT_EQ(NamesIn(keys.value()[0].rights), "read moderate settings all");
  EXPECT_EQ(keys.value()[1].npub, npub);
  EXPECT_EQ(NamesIn(keys.value()[1].rights), "read moderate");
  EXPECT_EQ(NamesIn(keys.value()[2].rights), "read");
  EXPECT_TRUE(AdminKeysOf({}).value().empty());
}

TEST(AdminKeys, AWrongEntryIsNamed) {
  const std::string hex(64, '2');
  const struct {
    std::string operators;
    std::string others;
    const char* part_of_error;
  } cases[] = {
      {"npub1x", "", "WEIR_RELAY_ADMIN_PUBKEY: npub1x is not a public key"},
      {hex + ",,", "", "WEIR_RELAY_ADMIN_PUBKEY:  is not a public key"},
      {hex + ":read", "", "is not a public key"},
      {"", hex, "has no rights: write a colon"},
      {"", hex + ":ban", "WEIR_RELAY_ADMINS: ban is not a right"},
      {"", hex + ":", "is not a right"},
      {hex, hex + ":read", "is an administrator already"},
      {hex + "," + hex, "", "is an administrator already"},
  };
  for (const auto& c : cases) {
    const auto keys = AdminKeysOf({.admin_pubkey = c.operators, .admins = c.others});
    ASSERT_FALSE(keys.ok()) << c.operators << " " << c.others;
    EXPECT_TRUE(Has(keys.status().message(), c.part_of_error)) << keys.status().message();
  }
}

TEST_F(AdminTest, AnAdministratorMayDoWhatTheSettingSays) {
  admins_ = Npub() + ":moderate";
  key_ = std::string(64, '2');
  const Admin admin = MakeAdmin();
  const auto status = [&](AdminRight needed, const char* content) {
    std::string_view by;
    const auto refusal = admin.Refusal(
        FromElsewhere("Nostr " + Base64(signer_.SignedEvent(kAdminNow, 27235, Tags(), content))), needed, &by);
    EXPECT_EQ(by, refusal ? "" : Npub());
    EXPECT_TRUE(!refusal || Has(refusal->body, Npub() + " does not have the right \"" + std::string(NameOf(needed))));
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status(AdminRight::kRead, "a"), 0);
  EXPECT_EQ(status(AdminRight::kModerate, "b"), 0);
  EXPECT_EQ(status(AdminRight::kSettings, "c"), 403);
  EXPECT_EQ(status(AdminRight::kAll, "d"), 403);
}

TEST_F(AdminTest, TheTokenHasAllRights) {
  token_ = std::string(64, 'a');
  const auto recognised = MakeAdmin().Recognise(FromElsewhere("Bearer " + token_));
  ASSERT_TRUE(std::holds_alternative<Administrator>(recognised));
  EXPECT_TRUE(std::get<Administrator>(recognised).rights.Has(AdminRight::kAll));
}

TEST_F(AdminTest, AProofForManagementNamesTheBodyAndMayNameTheRelay) {
  const std::string hash(64, 'a');
  const auto tags = [](const std::string& url, const std::string& payload) {
    return R"([["u",")" + url + R"("],["method","POST"],["payload",")" + payload + "\"]]";
  };
  const struct {
    std::string tags;
    const char* part_of_why;  // null: the proof is good
  } cases[] = {
      {tags("https://relay.example", hash), nullptr},
      {tags("wss://relay.example/", hash), nullptr},
      {tags("https://relay.example/api/import", hash), nullptr},
      {tags("https://relay.example/other", hash), "u tag must be"},
      {tags("https://evil.example", hash), "u tag must be"},
      {tags("https://relay.example", std::string(64, 'A')), "payload tag must be"},
      {tags("https://relay.example", "aa"), "payload tag must be"},
      {Tags("https://relay.example"), "payload tag must be"},
  };
  for (const auto& c : cases) {
    const auto judged = MakeAdmin().RecogniseProof(FromElsewhere(Proof(c.tags)), ProofUse::kManagement);
    const auto* const refusal = std::get_if<HttpResponse>(&judged);
    ASSERT_EQ(refusal == nullptr, c.part_of_why == nullptr) << c.tags;
    if (refusal == nullptr) {
      EXPECT_EQ(std::get<Administrator>(judged).payload, hash);
    } else {
      EXPECT_EQ(refusal->status, 401);
      EXPECT_TRUE(Has(refusal->body, c.part_of_why)) << refusal->body;
    }
  }
}

TEST_F(AdminTest, ManagementByAKeyTakesNoOtherProof) {
  token_ = std::string(64, 'a');
  trust_ = AdminFromLoopback::kTrue;
  for (const HttpRequest& request : {FromHere(), FromElsewhere(), FromElsewhere("Bearer " + token_)}) {
    const auto judged = MakeAdmin().RecogniseProof(request, ProofUse::kManagement);
    ASSERT_TRUE(std::holds_alternative<HttpResponse>(judged));
    EXPECT_EQ(std::get<HttpResponse>(judged).status, 401);
  }
}

}  // namespace
}  // namespace weir
