// Messages between parties (kinds 4, 1059 and 21059) on every way out of a connection: by any filter, stored, counted,
// live and held, to clients that are no party, and to the parties.
//
// A stranger who sends a whole message again is told "duplicate:". That tells him nothing new: its id is the hash of
// all that it says, so a client that can ask has it already.
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class PrivateEventsTest : public ClientTest {
 protected:
  PrivateEventsTest() { settings_.url = "wss://relay.example"; }

  std::string Letter(uint16_t kind, const std::string& content = "secret") const {
    return alice_.SignedEvent(kNow - 30 + kind / 1000, kind, R"([["p",")" + ToHex(bob_.pubkey()) + R"("]])", content);
  }
  // Null: not authenticated.
  Seat& ConnectAs(const Signer* person) {
    Seat& seat = Connect();
    if (person == nullptr) return seat;
    const std::string auth = Ask(seat, R"(["REQ","dm",{"kinds":[4]}])");
    Hear(seat);
    const std::string challenge = auth.substr(9, auth.size() - 11);
    const std::string event =
        person->SignedEvent(kNow, 22242, R"([["relay","wss://relay.example"],["challenge",")" + challenge + "\"]]", "");
    EXPECT_EQ(Ask(seat, "[\"AUTH\"," + event + "]"), OkFor(event));
    return seat;
  }
  // Returns all filters that could match the letter.
  std::vector<std::string> FiltersFor(const std::string& letter, uint16_t kind) const {
    const std::string alice = "\"" + ToHex(alice_.pubkey()) + "\"";
    const std::string bob = "\"" + ToHex(bob_.pubkey()) + "\"";
    const std::string own_kind = std::to_string(kind);
    return {"{}",
            R"({"ids":[")" + IdOf(letter) + "\"]}",
            R"({"authors":[)" + alice + "]}",
            R"({"#p":[)" + bob + "]}",
            R"({"authors":[)" + alice + R"(],"#p":[)" + bob + "]}",
            R"({"kinds":[1,)" + own_kind + "]}",
            R"({"kinds":[)" + own_kind + R"(]},{"kinds":[1]})",
            R"({"kinds":[1]},{"ids":[")" + IdOf(letter) + R"("],"limit":1})",
            R"({"since":1,"limit":1})"};
  }
  std::vector<std::string> AllThatIsSaid(Seat& seat, const std::string& message, const std::string& end) {
    seat.Say(message);
    RunUntil([&] { return seat->Count("[\"" + end) > 0; });
    std::vector<std::string> said(seat->said.begin(), seat->said.end());
    seat->said.clear();
    return said;
  }

  const Signer alice_{1};
  const Signer bob_{2};
  const Signer eve_{3};
  const struct {
    const char* name;
    const Signer* person;
    bool is_party;
  } readers_[4] = {{"nobody", nullptr, false}, {"eve", &eve_, false}, {"alice", &alice_, true}, {"bob", &bob_, true}};
};

bool Mentions(const std::vector<std::string>& said, const std::string& what) {
  return std::ranges::any_of(said, [&](const std::string& text) { return text.find(what) != std::string::npos; });
}

TEST_F(PrivateEventsTest, StoredOnesAreSentAndCountedForTheirPartiesAlone) {
  for (const uint16_t kind : {4, 1059}) {
    const std::string letter = Letter(kind, "of kind " + std::to_string(kind));
    Store({letter});
    for (const auto& reader : readers_) {
      for (const std::string& filters : FiltersFor(letter, kind)) {
        Seat& seat = ConnectAs(reader.person);
        const std::string what = std::string(reader.name) + " " + filters;
        EXPECT_EQ(Mentions(AllThatIsSaid(seat, R"(["REQ","s",)" + filters + "]", "EOSE"), IdOf(letter)),
                  reader.is_party)
            << what;
        const std::vector<std::string> counted = AllThatIsSaid(seat, R"(["COUNT","c",)" + filters + "]", "COUNT");
        const std::string no_author = R"({"count":0,"hll":")" + std::string(512, '0') + "\"}";
        EXPECT_EQ(Mentions(counted, R"({"count":0})") || Mentions(counted, no_author), !reader.is_party) << what;
      }
    }
  }
}

TEST_F(PrivateEventsTest, LiveOnesGoToTheirPartiesAlone) {
  for (const uint16_t kind : {4, 1059, 21059}) {
    const std::string letter = Letter(kind, "live " + std::to_string(kind));
    std::vector<std::pair<Seat*, bool>> seats;
    for (const auto& reader : readers_) {
      Seat& seat = ConnectAs(reader.person);
      seats.emplace_back(&seat, reader.is_party);
      int n = 0;
      for (const std::string& filters : FiltersFor(letter, kind))
        AllThatIsSaid(seat, "[\"REQ\",\"" + std::to_string(++n) + "\"," + filters + "]", "EOSE");
    }
    Seat& writer = Connect();
    EXPECT_EQ(Ask(writer, Publish(letter)), OkFor(letter));
    // A note that every client gets comes behind it.
    const std::string note = Note("public " + std::to_string(kind));
    EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note));
    const size_t filters = FiltersFor(letter, kind).size();
    for (const auto& [seat, is_party] : seats) {
      const size_t heard = 5 + (is_party ? filters : 0);
      RunUntil([&, s = seat] { return (*s)->Count("[\"EVENT\"") == heard; });
      EXPECT_EQ(Mentions({(*seat)->said.begin(), (*seat)->said.end()}, IdOf(letter)), is_party) << kind;
      End(*seat);
    }
  }
}

// A stranger's question about a message is answered as if there were none.
TEST_F(PrivateEventsTest, AnswersToAStrangerDoNotDependOnPrivateEvents) {
  settings_.eose_completeness = true;
  const std::string letter = Letter(4);
  const auto answers = [&] {
    std::vector<std::vector<std::string>> all;
    for (const std::string& filters : FiltersFor(letter, 4)) {
      Seat& seat = Connect();
      all.push_back(AllThatIsSaid(seat, R"(["REQ","s",)" + filters + "]", "EOSE"));
      for (std::string& text : all.back()) text = text.starts_with("[\"AUTH\"") ? "AUTH" : text;
    }
    return all;
  };
  const auto deletion = [&](const std::string& id) {
    const std::string request = eve_.SignedEvent(kNow, 5, R"([["e",")" + id + R"("]])", "");
    EXPECT_EQ(Ask(Connect(), Publish(request)), OkFor(request));
  };
  const auto without = answers();
  Store({letter});
  EXPECT_EQ(answers(), without);
  deletion(IdOf(letter));
  deletion(IdOf(Letter(4, "never sent")));
}

TEST_F(PrivateEventsTest, AMixedRequestIsChallengedOnceAndServedPublicEvents) {
  const std::string letter = Letter(4);
  const std::string note = Note("public");
  Store({letter, note});
  for (const std::string& filter :
       {std::string(R"({"kinds":[1,4]})"), R"({"kinds":[1,1059],"#p":[")" + ToHex(bob_.pubkey()) + "\"]}"}) {
    Seat& seat = Connect();
    const auto first = AllThatIsSaid(seat, R"(["REQ","s",)" + filter + "]", "EOSE");
    EXPECT_TRUE(first.front().starts_with("[\"AUTH\",\"")) << filter;
    EXPECT_EQ(first.back(), R"(["EOSE","s"])");
    EXPECT_FALSE(Mentions(first, IdOf(letter)));
    EXPECT_EQ(Mentions(first, IdOf(note)), filter.find("#p") == std::string::npos);
    EXPECT_FALSE(AllThatIsSaid(seat, R"(["REQ","t",)" + filter + "]", "EOSE").front().starts_with("[\"AUTH\""));
  }
  for (const std::string& filter :
       {std::string(R"({"kinds":[1]})"), std::string("{}"), R"({"#p":[")" + ToHex(bob_.pubkey()) + "\"]}",
        R"({"authors":[")" + ToHex(alice_.pubkey()) + "\"]}", R"({"ids":[")" + IdOf(letter) + "\"]}"}) {
    Seat& seat = Connect();
    EXPECT_FALSE(Mentions(AllThatIsSaid(seat, R"(["REQ","s",)" + filter + "]", "EOSE"), "[\"AUTH\"")) << filter;
  }
}

}  // namespace
}  // namespace weir
