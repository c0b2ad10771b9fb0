// weir quota, asking a gate and a store of its own.
#include "relay/limiters/quota/quota_command.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/limiters/quota/quota_verbs.h"
#include "tests/relay/limiters/quota/quota_command_fixture.h"

namespace weir {
namespace {

std::string Text(const std::string& json, std::string_view key) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  std::string_view value;
  const bool good =
      parser.parse(json).get(element) == simdjson::SUCCESS && element[key].get(value) == simdjson::SUCCESS;
  EXPECT_TRUE(good) << json;
  return good ? std::string(value) : "";
}

// The same questions to a gate, and to a store.
class EitherWayTest : public QuotaCommandTest, public testing::WithParamInterface<bool> {
 protected:
  EitherWayTest() {
    if (!GetParam()) {
      where_ = {"--store", "sqlite:" + directory_ / "quota.db"};
      Ask({"set", "unrelated", "--rpm", "1"});  // a command that only looks makes no store
      return;
    }
    Open();
    where_ = {"--gate", "http://" + server_->host_and_port()};
  }

  Ran Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, where_.begin(), where_.end());
    return Command(std::move(arguments));
  }

  std::vector<std::string> where_;
};
INSTANTIATE_TEST_SUITE_P(, EitherWayTest, testing::Bool(),
                         [](const auto& way) { return way.param ? "AskingAGate" : "InItsOwnStore"; });

TEST_P(EitherWayTest, DecidesAndCountsNothing) {
  for (int i = 0; i < 2; ++i) {
    const Ran ended = Ask({"decide", "gpt-4o", "900"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out,
              "allowed: gpt-4o, 900 tokens\n"
              "  requests/min 0 of 500 used\n"
              "  tokens/min   0 of 30000 used\n"
              "  requests/day 0 used, no limit\n");
  }
}

TEST_P(EitherWayTest, ARefusalEndsWithOne) {
  ASSERT_EQ(Ask({"set", "gpt-4o", "--rpm", "1"}).code, 0);
  const Ran first = Ask({"decide", "gpt-4o", "900", "--charge"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(first.out.starts_with("allowed and counted: gpt-4o, 900 tokens\n")) << first.out;
  const Ran second = Ask({"decide", "gpt-4o", "900"});
  EXPECT_EQ(second.code, 1) << second.err;
  EXPECT_TRUE(second.out.starts_with("refused: gpt-4o, 900 tokens: rpm_exceeded\n")) << second.out;
  EXPECT_TRUE(Has(second.out, "; try again in ")) << second.out;
  EXPECT_EQ(Ask({"explain", "gpt-4o", "900"}).code, 1);
}

TEST_P(EitherWayTest, ReservesAndSettles) {
  const Ran reserved = Ask({"reserve", "gpt-4o", "900", "--ttl", "60", "--json"});
  ASSERT_EQ(reserved.code, 0) << reserved.err;
  const std::string id = Text(reserved.out, "reservation");
  const Ran so_far = Ask({"commit", id, "--prompt", "400", "--output", "100", "--partial", "--ttl", "5"});
  EXPECT_EQ(so_far.code, 0) << so_far.err;
  EXPECT_TRUE(so_far.out.starts_with("committed: gpt-4o, 900 tokens were reserved, 500 used so far; it has "))
      << so_far.out;
  const Ran committed = Ask({"commit", id, "--prompt", "400", "--output", "313"});
  EXPECT_EQ(committed.code, 0) << committed.err;
  EXPECT_EQ(committed.out, "committed: gpt-4o, 900 tokens were reserved, 713 used\n");
  const Ran again = Ask({"commit", id, "713"});
  EXPECT_EQ(again.code, 0) << "the same once more: " << again.err;
  EXPECT_EQ(again.out, committed.out);
  const Ran other_figure = Ask({"commit", id, "714"});
  EXPECT_EQ(other_figure.code, 1) << other_figure.out;
  EXPECT_TRUE(other_figure.err.starts_with("weir quota: ")) << other_figure.err;

  const std::string other = Text(Ask({"reserve", "gpt-4o", "100", "--json"}).out, "reservation");
  const Ran refunded = Ask({"refund", other});
  EXPECT_EQ(refunded.code, 0) << refunded.err;
  EXPECT_EQ(refunded.out, "refunded: gpt-4o, 100 tokens were reserved, 0 used\n");
  EXPECT_TRUE(Has(Ask({"stats", "gpt-4o"}).out, "713/30000")) << Ask({"stats", "gpt-4o"}).out;
}

TEST_P(EitherWayTest, RecordsAndShowsAndForgets) {
  EXPECT_TRUE(Ask({"record", "gpt-4o", "600", "300"}).out.starts_with("recorded: gpt-4o, 900 tokens\n"));
  const std::string name = "a/b c%2F?ü";
  EXPECT_EQ(Ask({"record", name, "5", "0"}).code, 0);
  const Ran one = Ask({"stats", name});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("model ")) << one.out;
  EXPECT_TRUE(Has(one.out, name)) << one.out;
  EXPECT_TRUE(Has(Ask({"stats"}).out, "900/30000"));
  EXPECT_TRUE(Has(Ask({"models"}).out, "gpt-4o"));

  const Ran reset = Ask({"reset", "gpt-4o"});
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_EQ(reset.out, "gpt-4o: nothing is used, nothing is reserved\n");
  EXPECT_TRUE(Has(Ask({"stats", "gpt-4o"}).out, " 0/30000"));
  EXPECT_EQ(Ask({"stats", name}).code, 0);
  EXPECT_EQ(Ask({"reset", "--all"}).code, 0);
  const Ran gone = Ask({"stats", name});
  EXPECT_EQ(gone.code, 1) << gone.out;
  EXPECT_NE(gone.err, "");
}

TEST_P(EitherWayTest, SetKeepsTheLimitsThatItDoesNotName) {
  ASSERT_EQ(Ask({"set", "my-model", "--rpm", "10", "--tpm", "1000"}).code, 0);
  const Ran set = Ask({"set", "my-model", "--rpm", "20"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out,
            "model     requests/min  tokens/min  requests/day\n"
            "my-model            20        1000      no limit\n");
}

TEST_P(EitherWayTest, UnsetGoesBackToTheProfile) {
  ASSERT_EQ(Ask({"set", "gpt-4o", "--rpm", "1", "--tpm", "2", "--rpd", "3"}).code, 0);
  const Ran unset = Ask({"unset", "gpt-4o"});
  EXPECT_EQ(unset.code, 0) << unset.err;
  EXPECT_EQ(unset.out,
            "model   requests/min  tokens/min  requests/day\n"
            "gpt-4o           500       30000      no limit\n");
}

TEST_P(EitherWayTest, JsonIsWhatTheApiSays) {
  const Ran decided = Ask({"decide", "gpt-4o", "900", "--json"});
  EXPECT_TRUE(decided.out.starts_with(R"({"allowed":true,"code":"ok")")) << decided.out;
  EXPECT_TRUE(decided.out.ends_with("}\n"));
  const Ran refused = Ask({"decide", "gpt-4o", "999999", "--json"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(refused.out.starts_with(R"({"allowed":false,"code":"too_large")")) << refused.out;
  const Ran wrong = Ask({"decide", "gpt-4o", "900", "--qos", "gold", "--json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.out.starts_with(R"({"error":)")) << wrong.out;
}

TEST_P(EitherWayTest, ARefusalByTheApiIsWrongUse) {
  const std::string long_name(10'000, 'x');
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"decide", long_name, "1"},
                                             {"decide", "a\nb", "1"},
                                             {"decide", "\xff", "1"},
                                             {"decide", "gpt-4o", "1", "--qos", "gold"},
                                             {"set", "a\x01", "--rpm", "1"}}) {
    const Ran ended = Ask(arguments);
    EXPECT_EQ(ended.code, 2) << arguments[1];
    EXPECT_TRUE(ended.err.starts_with("weir quota: ")) << ended.err;
    EXPECT_EQ(ended.out, "");
  }
}

TEST_P(EitherWayTest, WatchesAsOftenAsItIsTold) {
  ASSERT_EQ(Ask({"record", "gpt-4o", "600", "300"}).code, 0);
  const Ran ended = Ask({"watch", "--times", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(Has(ended.out, "Z gpt-4o rpm 1/500 tpm 900/30000 rpd 1 reserved 0\n")) << ended.out;
  const Ran json = Ask({"watch", "--times", "1", "--json"});
  EXPECT_TRUE(json.out.starts_with(R"({"models":[)")) << json.out;
}

TEST_F(QuotaCommandTest, AStoreIsNamedByTheEnvironmentToo) {
  Set("WEIR_QUOTA_STORE", "yaml:" + directory_ / "quota.yaml");
  ASSERT_EQ(Command({"record", "gpt-4o", "600", "300"}).code, 0);
  EXPECT_TRUE(Has(Command({"stats", "gpt-4o"}).out, "900/30000"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "quota.yaml"));
}

TEST_F(QuotaCommandTest, LookingAtAStoreDoesNotUndoWhatWasSet) {
  WriteText(directory_ / "weir.yaml", "quota:\n  models:\n    gpt-4o: {max_rpm: 7}\n    mine: {max_rpm: 8}\n");
  Set("WEIR_CONFIG", directory_ / "weir.yaml");
  Set("WEIR_QUOTA_STORE", "sqlite:" + directory_ / "quota.db");
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "5"}).code, 0);
  EXPECT_TRUE(Has(Command({"stats", "gpt-4o"}).out, " 0/5 "));
  EXPECT_TRUE(Has(Command({"stats", "mine"}).out, " 0/8 "));
}

TEST_F(QuotaCommandTest, LookingMakesNoStore) {
  for (const std::string& store : {"sqlite:" + directory_ / "new.db", "yaml:" + directory_ / "new.yaml"}) {
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"decide", "gpt-4o", "1"},
                                                                                      {"explain", "gpt-4o", "1"},
                                                                                      {"stats"},
                                                                                      {"models"},
                                                                                      {"watch", "--times", "1"},
                                                                                      {"commit", "id@m", "1"},
                                                                                      {"refund", "id@m"},
                                                                                      {"unset", "m"},
                                                                                      {"reset", "--all"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), {"--store", store});
      const Ran ended = Command(arguments);
      EXPECT_EQ(ended.code, 2) << verb[0];
      EXPECT_TRUE(Has(ended.err, "there is no such file")) << ended.err;
      EXPECT_FALSE(std::filesystem::exists(store.substr(store.find(':') + 1))) << verb[0];
    }
    EXPECT_EQ(Command({"decide", "gpt-4o", "1", "--charge", "--store", store}).code, 0);
  }
}

TEST_F(QuotaCommandTest, WrongUseEndsWithTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"nonsense"},
                                             {"decide"},
                                             {"decide", "gpt-4o"},
                                             {"decide", "gpt-4o", "many"},
                                             {"decide", "gpt-4o", "-5"},
                                             {"decide", "gpt-4o", "1.5"},
                                             {"decide", "gpt-4o", "2000000000000000"},
                                             {"decide", "gpt-4o", "1", "--gate", "x", "--store", "memory"},
                                             {"decide", "gpt-4o", "1", "--gate", "127.0.0.1:3335"},
                                             {"decide", "gpt-4o", "1", "--store", "nonsense"},
                                             {"reserve", "gpt-4o", "1", "--ttl", "0"},
                                             {"commit", "id", "--store", "memory"},
                                             {"commit", "id", "1", "--prompt", "1", "--store", "memory"},
                                             {"set", "gpt-4o", "--store", "memory"},
                                             {"set", "gpt-4o", "--rpm", "-1", "--store", "memory"},
                                             {"reset", "--store", "memory"},
                                             {"reset", "gpt-4o", "--all", "--store", "memory"},
                                             {"watch", "--interval", "0"},
                                             {"migrate", "memory"}}) {
    const Ran ended = Command(arguments);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ended.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(ended.err, "") << testing::PrintToString(arguments);
  }
}

TEST_F(QuotaCommandTest, NamesAnUnknownVerbAndTheNearest) {
  EXPECT_EQ(Command({"stat"}).err, "weir quota: there is no verb \"stat\"; did you mean stats?\n");
  EXPECT_TRUE(Command({"frobnicate"}).err.starts_with("weir quota: there is no verb \"frobnicate\"; "));
  EXPECT_EQ(Command({"frobnicate"}).code, 2);
}

TEST_F(QuotaCommandTest, EveryVerbHelps) {
  EXPECT_EQ(Command({"--help"}).code, 0);
  for (const QuotaVerb& verb : QuotaVerbs()) {
    const Ran ended = Command({std::string(verb.name), "--help"});
    EXPECT_EQ(ended.code, 0) << verb.name;
    EXPECT_TRUE(Has(ended.out, "weir quota " + std::string(verb.name))) << ended.out;
    EXPECT_TRUE(Has(ended.out, "Example")) << ended.out;
  }
}

}  // namespace
}  // namespace weir
