#include "relay/negentropy/reconciler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "tests/fixtures/must.h"
#include "tests/relay/negentropy/sync_items.h"

namespace weir {
namespace {

constexpr size_t kNoBound = 64 << 20;

// Returns the answer of one side, made in pieces of `most` work.
std::string AnswerTo(const SyncSet& set, const std::string& message, size_t frame_bytes, Work most = UINT64_MAX / 2,
                     SyncDifferences* found = nullptr) {
  Reconciler side(set, message, frame_bytes, found);
  while (true) {
    const Result<bool> done = side.Next(most);
    Must(done.ok(), done.status().message());
    if (done.value()) return side.Take();
  }
}
std::string ErrorOf(const SyncSet& set, const std::string& message, SyncDifferences* found = nullptr) {
  return Reconciler(set, message, kNoBound, found).Next(kTurnWork).status().message();
}

// A dialogue of a client and a relay to its end.
struct Dialogue {
  Dialogue(const SyncSet& client, const SyncSet& relay, size_t client_bytes = kNoBound, size_t relay_bytes = kNoBound,
           Work most = UINT64_MAX / 2) {
    std::string message = Reconciler::FirstMessage(client, client_bytes);
    while (!message.empty()) {
      Must(++rounds < 10'000, "it ends");
      Must(message.size() <= client_bytes, "the client's frame");
      bytes += message.size();
      const std::string answer = AnswerTo(relay, message, relay_bytes, most);
      Must(answer.size() <= relay_bytes, "the relay's frame");
      bytes += answer.size();
      message = AnswerTo(client, answer, client_bytes, most, &found);
    }
    for (std::vector<EventId>* ids : {&found.have, &found.need}) {
      std::sort(ids->begin(), ids->end());
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
  }

  SyncDifferences found;
  size_t rounds = 0;
  size_t bytes = 0;
};

std::vector<EventId> IdsOnlyIn(const std::vector<SyncItem>& these, const std::vector<SyncItem>& others) {
  const auto ids_of = [](const std::vector<SyncItem>& items) {
    std::vector<EventId> ids;
    for (const SyncItem& item : items) ids.push_back(item.id);
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  const std::vector<EventId> a = ids_of(these);
  const std::vector<EventId> b = ids_of(others);
  std::vector<EventId> only;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
  return only;
}

// Two sets that have most of their items in common.
struct TwoSets {
  TwoSets(uint32_t seed, size_t count, double common, uint64_t seconds) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> chance(0, 1);
    for (size_t n = 0; n < count; ++n) {
      SyncItem item{.created_at = random() % seconds};
      for (size_t at = 0; at < item.id.size(); ++at) item.id[at] = static_cast<uint8_t>(random());
      const double where = chance(random);
      if (where < common || where < (1 + common) / 2) client.push_back(item);
      if (where < common || where >= (1 + common) / 2) relay.push_back(item);
    }
  }
  size_t differences() const { return IdsOnlyIn(client, relay).size() + IdsOnlyIn(relay, client).size(); }

  std::vector<SyncItem> client;
  std::vector<SyncItem> relay;
};

void CheckDialogue(const TwoSets& sets, size_t client_bytes, size_t relay_bytes, Work most) {
  const Dialogue dialogue(SealedSetOf(sets.client), SealedSetOf(sets.relay), client_bytes, relay_bytes, most);
  Must(dialogue.found.have == IdsOnlyIn(sets.client, sets.relay), "have");
  Must(dialogue.found.need == IdsOnlyIn(sets.relay, sets.client), "need");
}

// Messages of the program of the protocol's author, on both sides.
TEST(Reconciler, SaysWhatOtherProgramsSay) {
  const SyncSet few = SetOfNumbers(0, 3);
  const std::string first =
      "61000002035beeaf427ee0bfcd1a7b6f63010f2745110cf23ae088b859275cd0aad369561b7f1ee17eb6d4b1815c8c0580dfb7ca0d3d5c3c"
      "de523da817ef7d3b1e96f6d5b8fb378474af5953bec611fcb2602c5b61271c1f233b60c0adba76d5d6f47a50c4";
  EXPECT_EQ(ToHex(Reconciler::FirstMessage(few, kNoBound)), first);
  EXPECT_EQ(ToHex(AnswerTo(SetOfNumbers(1, 5), BytesOfHex(first), kNoBound)),
            "61000002047f1ee17eb6d4b1815c8c0580dfb7ca0d3d5c3cde523da817ef7d3b1e96f6d5b8fb378474af5953bec611fcb2602c5b61"
            "271c1f233b60c0adba76d5d6f47a50c42d245d477b973c0895afc098b46762967f728e5aec8555d81ceaf1996d4c33e06c5cd6775e"
            "b412207f7f71f11f09047f1475b2b7526063195b777a230fe4c2a6");
  const std::string hundred =
      "6186aacfe203018d015e7408d6c0ca68a6e09fd0e848755faa0301ee01416ce3ff63cb9de39676b3ff41f872d104000182ceb142f8ad3300"
      "02a393fd68e0a3ef0301be01ec4dee5ead71dd90b9cc97abb9de72f30301a201d38dc62c3eeb2134954c675397b294fa03012b01442d9e51"
      "39ab3de6bb04d5331c2fa7360301e501c66271d786779c18ae074105b4571f7c03015201cd01ddabdcde3a8a8f4615eca3760d7903014d01"
      "3d84e592af726bf531f02548c49d004803018f01188f73644c4a2dd4945081e9c2cfaed503010701c6577d001ff92ef92140ecd8b31c8102"
      "030157015a835c587c4ed8f0f59bce28e894967803011801a8daad7d6cf508791fddab5b98246dc203019e010458de0ede3f4f53e936abc4"
      "0698c2ed03016a0129daac138a4fce9e9ba6ede632b7855e0000010e5e41520464fa796bb85db7dc4634ef";
  EXPECT_EQ(ToHex(Reconciler::FirstMessage(SetOfNumbers(0, 100), kNoBound)), hundred);
  EXPECT_EQ(ToHex(AnswerTo(SetOfNumbers(10, 103), BytesOfHex(hundred), kNoBound)),
            "6186aacfe203018d02000301ee0204ca78c85c1c6ee3b949376fdb51c7b376593b81d51e2dfc4daafd478c63eb80cce6dc47352b81"
            "cf5c8f2db31127be4b20174a6b6e210bb0d86a95fbd3b50ecd4208e5476c1316c8db1bb6f3d643fca478a5890e1b773151e32d87da"
            "b096f9b64759f3dc9345b5146d24378802174ed81c76cc69ea0c96275316a04cf5f76c86811c016a00000002096a4177570b67c5a0"
            "1fa63c8b9c4bb174c25c43ad9d530bec74d012bacedf4b28ec27ac0ed6c22e03d6ae379ddfeaded5845e645da8d4b847569a8f94d6"
            "552a1e265d46e6286d3d52b5c67b659f2e4cb7a585676785c48ca355b4c59b2aa199f737df80a82d8574cd382bac37de286557bb73"
            "c07426b669ee2b4bd500dca75cecef6a1f3768612d786d3bc9c5c4c3ee011c1916f9ccd9feb5db89695160a09fca3f7cbecc2e1f2e"
            "2cf76c0650a9f7531f867a791cba29d12137a9e8c8eefa9d4150917f7b097c0e4f8133d4a168d27c8e13b5356739aac7764e466e1d"
            "e7c2ac5452cb4e0d92a5fc59b2861f361bb6d4c174ec7552d38eb0c9cbe8bbd881ad5d2ca8159cc5cba926e74d82895c2fa461f2ff"
            "da86af604ea9eceeb7eed11e14f72d");
}

RC_GTEST_PROP(ReconcilerProperty, BothEndsAgree, ()) {
  const auto count = *rc::gen::element<size_t>(0, 1, 2, 31, 33, 500, 3000);
  const auto common = *rc::gen::element(0.0, 0.5, 0.99, 1.0);
  const auto seconds = *rc::gen::element<uint64_t>(1, 10, 1'000'000'000);
  const TwoSets sets(*rc::gen::arbitrary<uint32_t>(), count, common, seconds);
  const auto client_bytes =
      *rc::gen::element<size_t>(size_t{Reconciler::kLeastFrameBytes}, size_t{10'000}, size_t{kNoBound});
  const auto relay_bytes =
      *rc::gen::element<size_t>(size_t{Reconciler::kLeastFrameBytes}, size_t{10'000}, size_t{kNoBound});
  CheckDialogue(sets, client_bytes, relay_bytes, *rc::gen::element<Work>(Work{1}, Work{10'000}, Work{UINT64_MAX / 2}));
}

// A level of the tree of ranges has sixteen times as many ranges as the one above, and a range of fewer than 32 items
// is a leaf, so the rounds grow with the logarithm. A difference costs at most the split ranges that lead to it.
TEST(Reconciler, HundredThousandItemsTakeFewRoundsAndBytes) {
  for (const double common : {1.0, 0.9999, 0.99}) {
    for (const uint64_t seconds : {uint64_t{20}, uint64_t{1} << 40}) {
      const TwoSets sets(1, 100'000, common, seconds);
      const Dialogue dialogue(SealedSetOf(sets.client), SealedSetOf(sets.relay));
      EXPECT_TRUE(dialogue.found.have == IdsOnlyIn(sets.client, sets.relay));
      EXPECT_TRUE(dialogue.found.need == IdsOnlyIn(sets.relay, sets.client));
      EXPECT_LE(dialogue.rounds, 4U);
      EXPECT_LE(dialogue.bytes, 500 + sets.differences() * (4 * 16 * 30 + 64 * 32)) << common;
    }
  }
}

TEST(Reconciler, FullFramesOnlyTakeMoreRounds) {
  const TwoSets sets(2, 20'000, 0.5, 1000);
  const size_t id_bytes = sets.differences() * 32;
  const Dialogue dialogue(SealedSetOf(sets.client), SealedSetOf(sets.relay), 60'000, 5'000);
  EXPECT_TRUE(dialogue.found.have == IdsOnlyIn(sets.client, sets.relay));
  EXPECT_TRUE(dialogue.found.need == IdsOnlyIn(sets.relay, sets.client));
  EXPECT_LE(dialogue.rounds, 8 * id_bytes / 5'000);
}

TEST(Reconciler, EqualSetsEndAtOnce) {
  const SyncSet set = SetOfNumbers(0, 1000);
  const Dialogue dialogue(set, set);
  EXPECT_EQ(dialogue.rounds, 1U);
  EXPECT_TRUE(dialogue.found.have.empty());
  EXPECT_TRUE(dialogue.found.need.empty());
  EXPECT_EQ(AnswerTo(set, Reconciler::FirstMessage(set, kNoBound), kNoBound), "a");
}

TEST(Reconciler, PiecesAreOfAboutTheAllowedWork) {
  const SyncSet set = SetOfNumbers(0, 5000);
  std::string message(1, kNegentropyVersion);
  for (int n = 0; n < 10'000; ++n) message += BytesOfHex("020001") + std::string(16, 'x');
  Reconciler side(set, message, kNoBound);
  size_t pieces = 0;
  while (true) {
    const Work before = side.work();
    const Result<bool> done = side.Next(100'000);
    ASSERT_TRUE(done.ok());
    EXPECT_LE(side.work() - before, 100'000U + 45'000U);
    ++pieces;
    if (done.value()) break;
  }
  EXPECT_GE(pieces, 10'000 * 3'600 / 145'000U);
}

TEST(Reconciler, ARelayNamesItsVersionForOneThatItDoesNotKnow) {
  const SyncSet set = SetOfNumbers(0, 3);
  EXPECT_EQ(AnswerTo(set, BytesOfHex("62aabbccddeeff"), kNoBound), "a");
  SyncDifferences found;
  EXPECT_EQ(ErrorOf(set, BytesOfHex("60"), &found), "the relay does not know this version of negentropy, 61");
}

TEST(Reconciler, RefusesWhatIsNoMessage) {
  const SyncSet set = SetOfNumbers(0, 3);
  const std::string no_version = "the message must begin with the version of the protocol, 61";
  EXPECT_EQ(ErrorOf(set, ""), no_version);
  EXPECT_EQ(ErrorOf(set, BytesOfHex("7fff")), no_version);
  EXPECT_EQ(ErrorOf(set, BytesOfHex("61060003")), "a range has the mode 3, not 0, 1 or 2");
  SyncDifferences found;
  EXPECT_EQ(ErrorOf(set, BytesOfHex("6106000201"), &found), "the list of ids of a range is cut off");
  EXPECT_TRUE(found.need.empty());
}

// The id that comes twice, and ids that no event has, are the client's to bear.
TEST(Reconciler, ARelayThatLiesCannotHurtTheClient) {
  const SyncSet set = SetOfNumbers(0, 3);
  SyncDifferences found;
  const std::string id(32, 'q');
  EXPECT_EQ(AnswerTo(set, BytesOfHex("6100000203") + id + id + id, kNoBound, kTurnWork, &found), "");
  EXPECT_EQ(found.have.size(), 3U);
  EXPECT_EQ(found.need.size(), 3U);
}

}  // namespace
}  // namespace weir
