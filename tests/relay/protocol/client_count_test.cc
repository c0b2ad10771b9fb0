// COUNT: exact counts, sketches of the authors, and estimates of what is too much to be counted (NIP-45).

#include "relay/nostr/author_sketch.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

constexpr const char* kLiked = "0123456789abcdef0123456789abcdef70123456789abcdef123456789abcdef";

class ClientCountTest : public ClientTest {
 protected:
  std::string Like(const Signer& by, uint64_t n) const {
    return by.SignedEvent(kNow - n, 7, std::string(R"([["e",")") + kLiked + "\"]]", "+" + std::to_string(n));
  }
  static std::string CountOf(const std::string& filters) { return R"(["COUNT","n",)" + filters + "]"; }
  static std::string Likes() { return CountOf(std::string(R"({"kinds":[7],"#e":[")") + kLiked + R"("]})"); }
  // Stores notes that are too much work to be counted one by one: after these many of them a count gives up.
  void StoreTooMuch(size_t notes, uint64_t counted) {
    Store(Notes(notes));
    store_.SetEventWork(Counting::kMostCounted / counted);
  }
  uint64_t Answered(std::string_view how) const {
    for (const auto& [answer, count] : counters_.AnsweredCounts())
      if (answer == how) return count;
    return 0;
  }
};

TEST_F(ClientCountTest, ACountForOneTagValueHasTheSketchOfItsAuthors) {
  std::vector<std::string> likes;
  const std::vector<Filter> filters = {{.tags = {{'e', {kLiked}}}}};
  AuthorSketch sketch = *AuthorSketch::For(filters);
  const std::string empty = sketch.ToHex();
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, Likes()), R"(["COUNT","n",{"count":0,"hll":")" + empty + R"("}])");
  for (uint64_t n = 0; n < 30; ++n) {
    const Signer author(100 + n % 20);
    likes.push_back(Like(author, n));
    sketch.Add(author.pubkey());
  }
  Store(likes);
  EXPECT_NE(sketch.ToHex(), empty);
  EXPECT_EQ(Ask(client, Likes()), R"(["COUNT","n",{"count":30,"hll":")" + sketch.ToHex() + R"("}])");
  EXPECT_EQ(Ask(client, CountOf(R"({"kinds":[7]})")), R"(["COUNT","n",{"count":30}])");
  EXPECT_EQ(Ask(client, CountOf(R"({"#e":[")" + std::string(kLiked) + R"("]},{"kinds":[0]})")),
            R"(["COUNT","n",{"count":30}])");
  EXPECT_EQ(Answered("exact"), 4U);
  EXPECT_EQ(Answered("estimate"), 0U);
}

TEST_F(ClientCountTest, ASetThatIsTooLargeIsEstimated) {
  StoreTooMuch(4000, 1000);
  Seat& client = Connect();
  const std::string answer = Ask(client, CountOf(R"({"kinds":[1]})"));
  constexpr std::string_view kHead = R"(["COUNT","n",{"count":)";
  ASSERT_TRUE(answer.starts_with(kHead)) << answer;
  EXPECT_TRUE(answer.ends_with(R"(,"approximate":true}])")) << answer;
  const uint64_t count = std::stoull(answer.substr(kHead.size()));
  EXPECT_GE(count, 3800U);
  EXPECT_LE(count, 4200U);
  EXPECT_EQ(Answered("estimate"), 1U);
  EXPECT_EQ(store_.suspensions(), 1U) << "the query keeps no snapshot meanwhile";
  RunUntilAllIsGivenBack();
}

TEST_F(ClientCountTest, AStoreThatCannotBeSampledMakesNoEstimates) {
  StoreTooMuch(300, 100);
  store_.HaveNoGroups();
  Seat& client = Connect();
  EXPECT_TRUE(Ask(client, CountOf(R"({"kinds":[1]})")).starts_with(R"(["CLOSED","n","restricted: this looks at too)"));
}

// A client would merge the sketch of a part with those of other relays.
TEST_F(ClientCountTest, AnEstimateHasNoSketch) {
  std::vector<std::string> likes;
  for (uint64_t n = 0; n < 300; ++n) likes.push_back(Like(signer_, n));
  Store(likes);
  store_.SetEventWork(Counting::kMostCounted / 100);
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, Likes()), R"(["COUNT","n",{"count":300,"approximate":true}])") << "the sample is the store";
}

// Fifty matches are too few for an estimate: the sample has even less of them.
TEST_F(ClientCountTest, ASetThatIsTooLargeAndTooRareToBeEstimatedIsRefused) {
  std::vector<std::string> likes;
  for (uint64_t n = 0; n < 50; ++n) likes.push_back(Like(signer_, 3000 * n));
  Store(likes);
  store_.SetEventWork(Counting::kMostCounted / 10);
  store_.SetMatchWork(Counting::kMostCounted / 20);
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, Likes()),
            R"(["CLOSED","n","restricted: this looks at too much; narrow the filter by ids, authors, tags or time"])");
  EXPECT_EQ(Answered("estimate"), 0U);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientCountTest, AnEstimateHasNoPrivateEventsOfOthers) {
  std::vector<std::string> events = Notes(1000);
  const std::string to = R"([["p",")" + std::string(64, 'b') + R"("]])";
  for (uint64_t n = 0; n < 1000; ++n) events.push_back(signer_.SignedEvent(kNow - n, 4, to, std::to_string(n)));
  Store(events);
  store_.SetEventWork(Counting::kMostCounted / 100);
  Seat& client = Connect();
  client.Say(CountOf(R"({"kinds":[1,4]})"));
  RunUntil([&] { return client->Count(R"(["COUNT")") == 1; });
  const std::string answer = client->last();
  EXPECT_EQ(answer, R"(["COUNT","n",{"count":1000,"approximate":true}])");
}

TEST_F(ClientCountTest, AnEstimateEndsWithItsClient) {
  StoreTooMuch(3000, 10);
  Seat& client = Connect();
  client.Say(CountOf("{}"));
  RunUntil([&] { return store_.suspensions() == 1; });
  End(client);
  RunUntilAllIsGivenBack();
}

// NIP-29 and NIP-43: a relay of a group publishes metadata, and members write with an h tag. This relay has no duty
// for groups, so it keeps and finds all of these like other events.
TEST_F(ClientCountTest, EventsOfGroupsAreKeptFoundAndCounted) {
  const std::string group = R"(["h","pizza-lovers"])";
  const struct {
    uint16_t kind;
    std::string tags;
  } events[] = {
      {9, "[" + group + R"(,["previous","aabbccdd","00112233"]])"},
      {11, "[" + group + "]"},
      {9000, "[" + group + R"(,["p",")" + std::string(64, 'c') + R"(","admin"]])"},
      {9005, "[" + group + R"(,["e",")" + std::string(64, 'd') + R"("]])"},
      {9007, "[" + group + "]"},
      {9021, "[" + group + R"(,["code","invite"]])"},
      {10009, R"([["group","pizza-lovers","wss://groups.example"]])"},
      {39000, R"([["d","pizza-lovers"],["name","Pizza Lovers"],["private"],["closed"]])"},
      {39001, R"([["d","pizza-lovers"],["p",")" + std::string(64, 'c') + R"(","ceo"]])"},
      {39002, R"([["d","pizza-lovers"],["p",")" + std::string(64, 'c') + R"("]])"},
      {39003, R"([["d","pizza-lovers"],["role","ceo"]])"},
      {10010, R"([["relay","wss://members.example"]])"},
  };
  Seat& writer = Connect();
  for (const auto& [kind, tags] : events) {
    const std::string event = signer_.SignedEvent(kNow, kind, tags, "");
    EXPECT_EQ(Ask(writer, Publish(event)), OkFor(event)) << kind;
  }
  Seat& reader = Connect();
  EXPECT_TRUE(Ask(reader, CountOf(R"({"#h":["pizza-lovers"]})")).starts_with(R"(["COUNT","n",{"count":6,"hll":")"));
  EXPECT_TRUE(Ask(reader, CountOf(R"({"#d":["pizza-lovers"]})")).starts_with(R"(["COUNT","n",{"count":4,"hll":")"));
  EXPECT_EQ(Ask(reader, CountOf(R"({"kinds":[10009,10010]})")), R"(["COUNT","n",{"count":2}])");
  // The lists of NIP-43 are protected (NIP-70): only their own author may publish them, here like everywhere.
  const std::string members =
      signer_.SignedEvent(kNow, 13534, R"([["-"],["member",")" + std::string(64, 'c') + R"("]])", "");
  writer.Say(Publish(members));
  RunUntil([&] { return writer->Count("[\"OK\"") == 1; });
  EXPECT_TRUE(writer->last().find("auth-required: ") != std::string::npos) << writer->last();
}

}  // namespace
}  // namespace weir
