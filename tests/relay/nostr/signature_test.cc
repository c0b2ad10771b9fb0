#include "relay/nostr/signature.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <utility>

#include "relay/nostr/event_parser.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/nostr/random_event.h"

namespace weir {
namespace {

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Verifies a record with no more than a signature needs.
bool Verifies(const std::string& pubkey, const std::string& message, const std::string& signature) {
  std::string record(RecordLayout::kTags, '\0');
  record += "{\"sig\":\"" + LowerCase(signature) + "\"}";
  record[RecordLayout::kSignature] = 8;
  const auto put = [&record](size_t offset, const std::string& hex) {
    Bytes32 bytes;
    EXPECT_TRUE(FromHex(LowerCase(hex), bytes.data(), bytes.size()));
    std::memcpy(record.data() + offset, bytes.data(), bytes.size());
  };
  put(RecordLayout::kId, message);
  put(RecordLayout::kPubkey, pubkey);
  EXPECT_TRUE(EventView::WellFormed(record));
  return VerifySignature(EventView(record));
}

struct Vector {
  const char* what;
  std::string pubkey;
  std::string message;
  std::string signature;
  bool good;
};

const std::string kPubkey = "DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659";
const std::string kMessage = "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89";
const std::string kZeros(63, '0');
const std::string kR = "6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E177769";
const std::string kS = "69E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B";

// The vectors of BIP-340 that are about messages of 32 bytes, in its order.
TEST(VerifySignature, AgreesWithBip340) {
  const std::vector<Vector> vectors = {
      {"vector 0", "F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9", std::string(64, '0'),
       "E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA8215"
       "25F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0",
       true},
      {"vector 1", kPubkey, kMessage,
       "6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE3341"
       "8906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A",
       true},
      {"vector 2", "DD308AFEC5777E13121FA72B9CC1B7CC0139715309B086C960E18FD969774EB8",
       "7E2D58D8B3BCDF1ABADEC7829054F90DDA9805AAB56C77333024B9D0A508B75C",
       "5831AAEED7B44BB74E5EAB94BA9D4294C49BCF2A60728D8B4C200F50DD313C1B"
       "AB745879A5AD954A72C45A91C3A51D3C7ADEA98D82F8481E0E1E03674A6F3FB7",
       true},
      {"vector 3", "25D1DFF95105F5253C4022F628A996AD3A0D95FBF21D468A1B33F8C160D8F517", std::string(64, 'F'),
       "7EB0509757E246F19449885651611CB965ECC1A187DD51B64FDA1EDC9637D5EC"
       "97582B9CB13DB3933705B32BA982AF5AF25FD78881EBB32771FC5922EFC66EA3",
       true},
      {"vector 4", "D69C3509BB99E412E68B0FE8544E72837DFA30746D8BE2AA65975F29D22DC7B9",
       "4DF3C3F68FCC83B27E9D42C90431A72499F17875C81A599B566C9889B9696703",
       "00000000000000000000003B78CE563F89A0ED9414F5AA28AD0D96D6795F9C63"
       "76AFB1548AF603B3EB45C9F8207DEE1060CB71C04E80F593060B07D28308D7F4",
       true},
      {"public key not on the curve", "EEFDEA4CDB677750A420FEE807EACF21EB9898AE79B9768766E4FAA04A2D4A34", kMessage,
       kR + kS, false},
      {"R has an odd y", kPubkey, kMessage,
       "FFF97BD5755EEEA420453A14355235D382F6472F8568A18B2F057A1460297556"
       "3CC27944640AC607CD107AE10923D9EF7A73C643E166BE5EBEAFA34B1AC553E2",
       false},
      {"negated message", kPubkey, kMessage,
       "1FA62E331EDBC21C394792D2AB1100A7B432B013DF3F6FF4F99FCB33E0E1515F"
       "28890B3EDB6E7189B630448B515CE4F8622A954CFE545735AAEA5134FCCDB2BD",
       false},
      {"negated s", kPubkey, kMessage, kR + "961764B3AA9B2FFCB6EF947B6887A226E8D7C93E00C5ED0C1834FF0D0C2E6DA6", false},
      {"sG - eP is infinite, x taken as 0", kPubkey, kMessage,
       kZeros + "0123DDA8328AF9C23A94C1FEECFD123BA4FB73476F0D594DCB65C6425BD186051", false},
      {"sG - eP is infinite, x taken as 1", kPubkey, kMessage,
       kZeros + "17615FBAF5AE28864013C099742DEADB4DBA87F11AC6754F93780D5A1837CF197", false},
      {"r is no x on the curve", kPubkey, kMessage,
       "4A298DACAE57395A15D0795DDBFD1DCB564DA82B0F269BC70A74F8220429BA1D" + kS, false},
      {"r is the field size", kPubkey, kMessage,
       "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F" + kS, false},
      {"s is the curve order", kPubkey, kMessage,
       kR + "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141", false},
      {"public key beyond the field", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC30", kMessage,
       kR + kS, false},
      {"what the broken ones were made of", kPubkey, kMessage, kR + kS, true},
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(Verifies(vector.pubkey, vector.message, vector.signature), vector.good) << vector.what;
  }
}

// Keys are kept in places by their last bytes.
TEST(VerifySignature, KeysThatShareAPlaceAreNotTakenForEachOther) {
  const Bytes32 message = Sha256("message");
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const Signer signer(seed);
    const std::string key = ToHex(signer.pubkey()), text = ToHex(message);
    const Signature bytes = signer.Sign(message);
    const std::string signature = ToHex(bytes.data(), bytes.size());
    EXPECT_TRUE(Verifies(key, text, signature));
    for (const char digit : {'0', '1', '2', '3', '4', '5', '6', '7'}) {
      std::string other = key;
      if (std::exchange(other[5], digit) == digit) continue;
      EXPECT_FALSE(Verifies(other, text, signature)) << other;
      EXPECT_TRUE(Verifies(key, text, signature));
    }
  }
}

TEST(Signer, TheSameSeedGivesTheSameKeyAndSignature) {
  EXPECT_EQ(Signer(7).pubkey(), Signer(7).pubkey());
  EXPECT_NE(Signer(7).pubkey(), Signer(8).pubkey());
  EXPECT_EQ(Signer(7).SignedEvent(1, 1, "[]", "x"), Signer(7).SignedEvent(1, 1, "[]", "x"));
  EXPECT_THROW((void)Signer(7).SignedEvent(1, 1, "[[", "x"), std::invalid_argument);
}

TEST(Signer, WritesTheUsualOrder) {
  const std::string json = Signer(7).SignedEvent(5, 30000, R"([ ["d","\u0061"] ])", "a\nb\x01");
  const std::string pubkey = ToHex(Signer(7).pubkey());
  EXPECT_TRUE(Has(json, "\"pubkey\":\"" + pubkey +
                            R"(","created_at":5,"kind":30000,"tags":[["d","a"]],"content":"a\nb\u0001","sig":")"))
      << json;
}

RC_GTEST_PROP(SignerProperty, SignedEventsAreGoodUntilTouched, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  const Signer signer(random.Below(1000));
  const Result<Event> event =
      EventParser().Parse(signer.SignedEvent(random.Below(1U << 31), 1, R"([["t","x"]])", random.Text(50)));
  RC_ASSERT(event.ok());
  RC_ASSERT(event.value().view().pubkey() == signer.pubkey());
  RC_ASSERT(VerifySignature(event.value().view()));
  std::string record = *event.value().record();
  // Changes any bit of id or public key, or any digit of the signature.
  const size_t json_begin = record.size() - event.value().view().json().size();
  uint32_t place = 0;
  std::memcpy(&place, record.data() + RecordLayout::kSignature, sizeof(place));
  if (random.OneIn(2)) {
    char& byte = record[random.Below(64)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U << random.Below(8));
  } else {
    char& digit = record[json_begin + place + random.Below(128)];
    digit = digit == '0' ? '1' : '0';
  }
  RC_ASSERT(!VerifySignature(EventView(record)));
}

TEST(Sha256, IsSha256) {
  EXPECT_EQ(ToHex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace weir
