// weir stream: the link that it opens in the relay that runs, what it prints, and how it ends.
#include <csignal>

#include "tests/fixtures/has_text.h"
#include "tests/import/links/stream_child.h"
#include "tests/import/links/two_relays.h"

namespace weir {
namespace {

class StreamCommandTest : public TwoRelaysTest {
 protected:
  std::vector<std::string> Here(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--data-dir", here_.configuration.data_dir});
    return arguments;
  }
};

TEST_F(StreamCommandTest, KeepsALinkOpenUntilItIsStopped) {
  OpenThere();
  OpenHere("");
  StreamChild stream(Here({ThereUrl(), "--filter", R"({"kinds":[1]})", "--summary", "json"}));
  ASSERT_TRUE(IsLive()) << stream.err();
  there_.Publish(News(1));
  here_.Publish(News(2));
  here_.Publish(News(3, 7));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 3 && there_.Stored().size() == 2; }));
  EXPECT_TRUE(Eventually([&] { return Shown(8) == "1" && Shown(7) == "1"; }));
  stream.Signal(SIGINT);
  const Ran ran = stream.Wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "\"dir\":\"both\"")) << ran.out;
  EXPECT_EQ(LiveTableOf(*router_, "links").rows.size(), 0U) << "the link ended with the command";
}

TEST_F(StreamCommandTest, GoesOnAfterARestartOfTheRelay) {
  OpenThere();
  OpenHere("");
  StreamChild stream(Here({ThereUrl()}));
  ASSERT_TRUE(IsLive()) << stream.err();
  CloseHere();
  OpenHere("");
  ASSERT_TRUE(IsLive()) << stream.err();
  stream.Signal(SIGTERM);
  EXPECT_EQ(stream.Wait().code, 0);
}

// Each knows its own link by its id, though the relay that has opened it is gone.
TEST_F(StreamCommandTest, TwoGoOnAfterARestartOfTheRelay) {
  OpenThere();
  OpenHere("");
  StreamChild one(Here({ThereUrl(), "--dir", "down"}));
  StreamChild two(Here({ThereUrl(), "--dir", "up"}));
  const auto both = [this] { return LiveTableOf(*router_, "links").rows.size() == 2; };
  ASSERT_TRUE(Eventually(both));
  CloseHere();
  OpenHere("");
  EXPECT_TRUE(Eventually(both)) << one.err() << two.err();
  one.Signal(SIGINT);
  EXPECT_EQ(one.Wait().code, 0);
  EXPECT_TRUE(Eventually([&] { return LiveTableOf(*router_, "links").rows.size() == 1; }));
  EXPECT_EQ(Shown(2), "up");
  two.Signal(SIGINT);
  EXPECT_EQ(two.Wait().code, 0);
}

TEST_F(StreamCommandTest, SaysWhatIsWrong) {
  OpenHere("");
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* part_of_error;
  } cases[] = {
      {{}, 2, "URL"},
      {{"http://a.example"}, 2, "must begin with ws:// or wss://"},
      {{"ws://a.example", "--dir", "round"}, 2, "--dir"},
      {{"ws://a.example", "--catch-up", "soon"}, 2, "neither all, nor none, nor an age such as 7d"},
      {{"ws://a.example", "--filter", R"({"limit":1})"}, 2, "a filter cannot have a limit here"},
  };
  for (const auto& [arguments, code, part] : cases) {
    const Ran ran = StreamChild(Here(arguments)).Wait();
    EXPECT_EQ(ran.code, code) << part;
    EXPECT_TRUE(Has(ran.err, part)) << ran.err;
  }
  CloseHere();
  const Ran ran = StreamChild(Here({"ws://a.example"})).Wait();
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(Has(ran.err, "relay")) << ran.err;
}

}  // namespace
}  // namespace weir
