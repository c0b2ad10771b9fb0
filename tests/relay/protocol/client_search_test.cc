// Searches (NIP-50): what is refused, and what comes live. tests/relay/store/store_suite_search.cc tests the stored
// answers.
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientSearchTest : public ClientTest {
 protected:
  void SearchKinds(const std::string& kinds) { settings_.search_kinds = kinds; }
};

TEST_F(ClientSearchTest, WithoutSearchedKindsTheFieldIsUnknown) {
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["REQ","s",{"search":"weir"}])"),
            R"(["CLOSED","s","unsupported: filter 1: unknown field \"search\""])");
}

TEST_F(ClientSearchTest, SearchesThatCannotBeAnsweredAreRefusedWithASentence) {
  SearchKinds("1");
  Seat& client = Connect();
  std::string many;
  for (int n = 0; n < 33; ++n) many += "w" + std::to_string(n) + " ";
  const struct {
    std::string request;
    const char* refusal;
  } cases[] = {
      {R"(["REQ","s",{"search":"a"}])", "invalid: a search needs at least one word of 2 to 40 letters"},
      {R"(["REQ","s",{"search":""}])", "invalid: a search needs at least one word of 2 to 40 letters"},
      {R"(["REQ","s",{"search":7}])", "invalid: filter 1: search must be a string, not 7"},
      {R"(["REQ","s",{"search":")" + many + "\"}]", "invalid: a search must have at most 32 words, not more"},
      {R"(["REQ","s",{"search":")" + std::string(60000, 'x') + "\"}]",
       "invalid: the text of a search must have at most 1024 bytes, not 60000"},
      {R"(["REQ","s",{"search":"aa"},{"search":"bb"},{"search":"cc"},{"search":"dd"},{"search":"ee"}])",
       "invalid: at most 4 filters of a request may have a search"},
      {R"(["COUNT","s",{"search":"aa"},{"kinds":[1]}])",
       "unsupported: a COUNT with a search must have no other filter"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Ask(client, c.request), std::string(R"(["CLOSED","s",")") + c.refusal + "\"]") << c.request.substr(0, 80);
}

TEST_F(ClientSearchTest, OnlySearchedKindsAreAskedFor) {
  SearchKinds("1");
  Store({signer_.SignedEvent(kNow, 7, "[]", "weir")});
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["REQ","s",{"search":"weir"}])"), R"(["EOSE","s"])");
  EXPECT_EQ(Ask(client, R"(["REQ","s",{"search":"weir","kinds":[7]}])"), R"(["EOSE","s"])");
}

TEST_F(ClientSearchTest, ASearchIsCounted) {
  SearchKinds("1");
  Store({signer_.SignedEvent(kNow, 7, "[]", "weir"), signer_.SignedEvent(kNow, 1, "[]", "weir")});
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["COUNT","s",{"search":"weir"}])"), R"(["COUNT","s",{"count":1}])");
}

TEST_F(ClientSearchTest, ACountOfASearchIsNotEstimated) {
  SearchKinds("1");
  Store(Notes(100));
  store_.SetEventWork(Counting::kMostCounted / 10);
  Seat& client = Connect();
  EXPECT_TRUE(
      Ask(client, R"(["COUNT","s",{"search":"note"}])").starts_with(R"(["CLOSED","s","restricted: this looks)"));
}

TEST_F(ClientSearchTest, NewEventsComeLiveIfTheyHaveAllWords) {
  SearchKinds("1");
  Seat& client = Connect();
  Ask(client, R"(["REQ","s",{"search":"Wéir MILL language:en"}])");
  const std::string note = signer_.SignedEvent(kNow, 1, "[]", "the mill at the weir");
  const auto batch = std::make_shared<LiveBatch>(*budget_);
  EventParser parser;
  uint64_t serial = 0;
  for (const std::string& json :
       {signer_.SignedEvent(kNow, 1, "[]", "a weir alone"), signer_.SignedEvent(kNow, 7, "[]", "weir mill"),
        signer_.SignedEvent(kNow, 1, "[]", ""), note})
    batch->events.push_back({parser.Parse(json).value(), {.number = ++serial}, clock_.Now()});
  delivery_->Deliver({}, batch);
  EXPECT_EQ(Hear(client)[0], R"(["EVENT","s",)" + note + "]");
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty());
}

}  // namespace
}  // namespace weir
