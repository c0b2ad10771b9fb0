// weir quota, asking a gate and a store of its own: what it prints and how it ends.
#include "relay/gate/quota_command.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "relay/gate/gate_server.h"
#include "relay/gate/quota_verbs.h"
#include "tests/gate/tls_server.h"

namespace weir {
namespace {

struct Ended {
  int code;
  std::string out;
  std::string err;
};

Ended Command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weir quota");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = QuotaCommand(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::string Text(const std::string& json, std::string_view key) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  std::string_view value;
  const bool good =
      parser.parse(json).get(element) == simdjson::SUCCESS && element[key].get(value) == simdjson::SUCCESS;
  EXPECT_TRUE(good) << json;
  return good ? std::string(value) : "";
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class QuotaCommandTest : public testing::Test {
 protected:
  QuotaCommandTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-quota-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~QuotaCommandTest() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::filesystem::remove_all(directory_);
  }

  // Before any thread is there.
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  std::string directory_;
  std::vector<std::string> set_;
};

// The same questions to a gate, and to a store.
class EitherWayTest : public QuotaCommandTest, public testing::WithParamInterface<bool> {
 protected:
  EitherWayTest() {
    if (!GetParam()) {
      where_ = {"--store", "sqlite:" + directory_ + "/quota.db"};
      Ask({"set", "unrelated", "--rpm", "1"});  // whoever only looks makes no store
      return;
    }
    GateConfiguration configuration;
    configuration.server.port = 0;
    configuration.server.io_threads = 1;
    configuration.log_level = LogLevel::kError;
    auto server = GateServer::Open(configuration);
    if (!server.ok()) throw std::runtime_error(server.status().message());
    server_ = std::move(server).value();
    server_->Accept();
    where_ = {"--gate", "http://" + server_->host_and_port()};
  }

  Ended Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, where_.begin(), where_.end());
    return Command(std::move(arguments));
  }

  std::unique_ptr<GateServer> server_;
  std::vector<std::string> where_;
};
INSTANTIATE_TEST_SUITE_P(, EitherWayTest, testing::Bool(),
                         [](const auto& way) { return way.param ? "AskingAGate" : "InItsOwnStore"; });

TEST_P(EitherWayTest, DecidesAndCountsNothing) {
  for (int i = 0; i < 2; ++i) {
    const Ended ended = Ask({"decide", "gpt-4o", "900"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out,
              "allowed: gpt-4o, 900 tokens\n"
              "  requests/min 0 of 500 used\n"
              "  tokens/min   0 of 30000 used\n"
              "  requests/day 0 used, no limit\n");
  }
}

TEST_P(EitherWayTest, ARefusalIsOne) {
  ASSERT_EQ(Ask({"set", "gpt-4o", "--rpm", "1"}).code, 0);
  const Ended first = Ask({"decide", "gpt-4o", "900", "--charge"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(first.out.starts_with("allowed and counted: gpt-4o, 900 tokens\n")) << first.out;
  const Ended second = Ask({"decide", "gpt-4o", "900"});
  EXPECT_EQ(second.code, 1) << second.err;
  EXPECT_TRUE(second.out.starts_with("refused: gpt-4o, 900 tokens: rpm_exceeded\n")) << second.out;
  EXPECT_TRUE(Contains(second.out, "  try again in ")) << second.out;
  EXPECT_EQ(Ask({"explain", "gpt-4o", "900"}).code, 1);
}

TEST_P(EitherWayTest, ReservesAndSettles) {
  const Ended reserved = Ask({"reserve", "gpt-4o", "900", "--ttl", "60", "--json"});
  ASSERT_EQ(reserved.code, 0) << reserved.err;
  const std::string id = Text(reserved.out, "reservation");
  const Ended committed = Ask({"commit", id, "--prompt", "400", "--output", "313"});
  EXPECT_EQ(committed.code, 0) << committed.err;
  EXPECT_EQ(committed.out, "committed: gpt-4o, 900 tokens were reserved, 713 used\n");
  const Ended again = Ask({"commit", id, "713"});
  EXPECT_EQ(again.code, 1);
  EXPECT_TRUE(again.err.starts_with("weir quota: ")) << again.err;

  const std::string other = Text(Ask({"reserve", "gpt-4o", "100", "--json"}).out, "reservation");
  const Ended refunded = Ask({"refund", other});
  EXPECT_EQ(refunded.code, 0) << refunded.err;
  EXPECT_EQ(refunded.out, "refunded: gpt-4o, 100 tokens were reserved, 0 used\n");
  EXPECT_TRUE(Contains(Ask({"stats", "gpt-4o"}).out, "713/30000")) << Ask({"stats", "gpt-4o"}).out;
}

TEST_P(EitherWayTest, RecordsAndShowsAndForgets) {
  EXPECT_TRUE(Ask({"record", "gpt-4o", "600", "300"}).out.starts_with("recorded: gpt-4o, 900 tokens\n"));
  const std::string name = "a/b c%2F?ü";
  EXPECT_EQ(Ask({"record", name, "5", "0"}).code, 0);
  const Ended one = Ask({"stats", name});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("model ")) << one.out;
  EXPECT_TRUE(Contains(one.out, name)) << one.out;
  EXPECT_TRUE(Contains(Ask({"stats"}).out, "900/30000"));
  EXPECT_TRUE(Contains(Ask({"models"}).out, "gpt-4o"));

  const Ended reset = Ask({"reset", "gpt-4o"});
  EXPECT_EQ(reset.code, 0) << reset.err;
  EXPECT_EQ(reset.out, "gpt-4o: nothing is used, nothing is reserved\n");
  EXPECT_TRUE(Contains(Ask({"stats", "gpt-4o"}).out, " 0/30000"));
  EXPECT_EQ(Ask({"stats", name}).code, 0);
  EXPECT_EQ(Ask({"reset", "--all"}).code, 0);
  const Ended gone = Ask({"stats", name});
  EXPECT_EQ(gone.code, 1) << gone.out;
  EXPECT_NE(gone.err, "");
}

TEST_P(EitherWayTest, WhatIsNotSetStays) {
  ASSERT_EQ(Ask({"set", "my-model", "--rpm", "10", "--tpm", "1000"}).code, 0);
  const Ended set = Ask({"set", "my-model", "--rpm", "20"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_EQ(set.out,
            "model     requests/min  tokens/min  requests/day\n"
            "my-model            20        1000      no limit\n");
}

TEST_P(EitherWayTest, UnsetGoesBackToTheProfile) {
  ASSERT_EQ(Ask({"set", "gpt-4o", "--rpm", "1", "--tpm", "2", "--rpd", "3"}).code, 0);
  const Ended unset = Ask({"unset", "gpt-4o"});
  EXPECT_EQ(unset.code, 0) << unset.err;
  EXPECT_EQ(unset.out,
            "model   requests/min  tokens/min  requests/day\n"
            "gpt-4o           500       30000      no limit\n");
}

TEST_P(EitherWayTest, JsonIsWhatTheApiSays) {
  const Ended decided = Ask({"decide", "gpt-4o", "900", "--json"});
  EXPECT_TRUE(decided.out.starts_with(R"({"allowed":true,"code":"ok")")) << decided.out;
  EXPECT_TRUE(decided.out.ends_with("}\n"));
  const Ended refused = Ask({"decide", "gpt-4o", "999999", "--json"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(refused.out.starts_with(R"({"allowed":false,"code":"too_large")")) << refused.out;
  const Ended wrong = Ask({"decide", "gpt-4o", "900", "--qos", "gold", "--json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(wrong.out.starts_with(R"({"error":)")) << wrong.out;
}

TEST_P(EitherWayTest, WhatTheApiRefusesIsWrongUse) {
  const std::string long_name(10'000, 'x');
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"decide", long_name, "1"},
                                             {"decide", "a\nb", "1"},
                                             {"decide", "\xff", "1"},
                                             {"decide", "gpt-4o", "1", "--qos", "gold"},
                                             {"set", "a\x01", "--rpm", "1"}}) {
    const Ended ended = Ask(arguments);
    EXPECT_EQ(ended.code, 2) << arguments[1];
    EXPECT_TRUE(ended.err.starts_with("weir quota: ")) << ended.err;
    EXPECT_EQ(ended.out, "");
  }
}

TEST_P(EitherWayTest, WatchesAsOftenAsItIsTold) {
  ASSERT_EQ(Ask({"record", "gpt-4o", "600", "300"}).code, 0);
  const Ended ended = Ask({"watch", "--times", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(Contains(ended.out, "Z gpt-4o rpm 1/500 tpm 900/30000 rpd 1 reserved 0\n")) << ended.out;
  const Ended json = Ask({"watch", "--times", "1", "--json"});
  EXPECT_TRUE(json.out.starts_with(R"({"models":[)")) << json.out;
}

TEST_F(QuotaCommandTest, AStoreIsNamedByTheEnvironmentToo) {
  Set("WEIR_QUOTA_STORE", "yaml:" + directory_ + "/quota.yaml");
  ASSERT_EQ(Command({"record", "gpt-4o", "600", "300"}).code, 0);
  EXPECT_TRUE(Contains(Command({"stats", "gpt-4o"}).out, "900/30000"));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/quota.yaml"));
}

TEST_F(QuotaCommandTest, LookingAtAStoreDoesNotUndoWhatWasSet) {
  std::ofstream(directory_ + "/weir.yaml") << "quota:\n  models:\n    gpt-4o: {max_rpm: 7}\n    mine: {max_rpm: 8}\n";
  Set("WEIR_CONFIG", directory_ + "/weir.yaml");
  Set("WEIR_QUOTA_STORE", "sqlite:" + directory_ + "/quota.db");
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "5"}).code, 0);
  EXPECT_TRUE(Contains(Command({"stats", "gpt-4o"}).out, " 0/5 "));
  EXPECT_TRUE(Contains(Command({"stats", "mine"}).out, " 0/8 "));
}

TEST_F(QuotaCommandTest, SaysWhereNobodyAnswers) {
  std::string url;
  {
    const TlsServer server({.tls = false});
    url = "http://127.0.0.1:" + std::to_string(server.port());
  }
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{{"stats"}, {"watch"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--gate", url});
    const Ended ended = Command(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.err.starts_with("weir quota: nothing answers at " + url + " (")) << ended.err;
    EXPECT_TRUE(ended.err.ends_with("; start `weir gate`, or name a store with --store\n")) << ended.err;
  }
}

TEST_F(QuotaCommandTest, SaysThatAGateIsTooSlow) {
  const TlsServer server({.tls = false, .silent = true});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  const Ended ended = Command({"stats", "--gate", url, "--timeout", "0.2"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "weir quota: no answer from " + url + " within 0.2 s\n");
}

TEST_F(QuotaCommandTest, SaysThatAnotherServerIsThere) {
  for (const int status : {200, 204, 404, 500}) {
    const TlsServer server({.tls = false, .status = status, .body = status == 204 ? "" : "<html>\n<body>"});
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"stats", "--gate", url}, {"decide", "m", "1", "--gate", url}}) {
      const Ended ended = Command(arguments);
      EXPECT_EQ(ended.code, 2) << status;
      EXPECT_TRUE(ended.err.starts_with("weir quota: " + url)) << ended.err;
    }
  }
}

TEST_F(QuotaCommandTest, AdministratorsShowTheirToken) {
  GateConfiguration configuration;
  configuration.server.port = 0;
  configuration.server.io_threads = 1;
  configuration.log_level = LogLevel::kError;
  configuration.admin.admin_token = "the-token-of-the-test";
  configuration.admin_from_loopback = AdminFromLoopback::kFalse;
  for (const bool right : {false, true}) {
    Set("WEIR_ADMIN_TOKEN", right ? "the-token-of-the-test" : "another");
    auto server = GateServer::Open(configuration);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server.value()->Accept();
    const Ended ended = Command({"set", "m", "--rpm", "1", "--gate", "http://" + server.value()->host_and_port()});
    EXPECT_EQ(ended.code, right ? 0 : 2) << ended.err;
    EXPECT_EQ(Contains(ended.err, "is WEIR_ADMIN_TOKEN set to the gate's token?"), !right) << ended.err;
    EXPECT_FALSE(Contains(ended.err, "another")) << ended.err;
  }
}

TEST_F(QuotaCommandTest, MigratesFromStoreToStore) {
  const std::string yaml = "yaml:" + directory_ + "/quota.yaml";
  const std::string sqlite = "sqlite:" + directory_ + "/quota.db";
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  ASSERT_EQ(Command({"record", "gpt-4o", "600", "300", "--store", yaml}).code, 0);
  ASSERT_EQ(Command({"record", "other", "1", "2", "--store", yaml}).code, 0);
  const std::string moved = yaml + " → " + sqlite + ": 1 quotas, usage of 2 models\n";
  for (int i = 0; i < 2; ++i) {
    const Ended ended = Command({"migrate", yaml, sqlite});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, moved);
  }
  EXPECT_TRUE(Contains(Command({"stats", "gpt-4o", "--store", sqlite}).out, " 1/17 "))
      << Command({"stats", "--store", sqlite}).out;
  EXPECT_TRUE(Command({"migrate", sqlite, "yaml:" + directory_ + "/b.yaml", "--json"})
                  .out.ends_with(R"("quotas":1,"models":2})"
                                 "\n"));
}

TEST_F(QuotaCommandTest, MigratesOnlyWhatStays) {
  const std::string yaml = "yaml:" + directory_ + "/quota.yaml";
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  std::ofstream(directory_ + "/no-directory") << "a file\n";
  std::filesystem::create_symlink(directory_ + "/quota.yaml", directory_ + "/link.yaml");
  for (const auto& [from, to, problem] : std::vector<std::array<std::string, 3>>{
           {"memory", yaml, "memory is gone with this process"},
           {yaml, "memory", "memory is gone with this process"},
           {yaml, yaml, "cannot be migrated to itself"},
           {yaml, "yaml:" + directory_ + "/../" + std::filesystem::path(directory_).filename().string() + "/quota.yaml",
            "cannot be migrated to itself"},
           {yaml, "yaml:" + directory_ + "/link.yaml", "cannot be migrated to itself"},
           {"yaml:" + directory_ + "/missing.yaml", yaml, "there is no such file"},
           {"quota.yaml", yaml, "quota.yaml"},
           {yaml, "sqlite:" + directory_ + "/no-directory/quota.db", "no-directory"}}) {
    const Ended ended = Command({"migrate", from, to});
    EXPECT_EQ(ended.code, 2) << from << " " << to;
    EXPECT_TRUE(Contains(ended.err, problem)) << ended.err;
  }
  EXPECT_TRUE(Contains(Command({"models", "--store", yaml}).out, "17"));
}

TEST_F(QuotaCommandTest, AnEmptyStoreReplacesAnotherOnlyByForce) {
  const std::string empty = "sqlite:" + directory_ + "/empty.db";
  const std::string yaml = "yaml:" + directory_ + "/quota.yaml";
  ASSERT_EQ(Command({"record", "mine", "1", "2", "--store", empty}).code, 0);
  ASSERT_EQ(Command({"reset", "--all", "--store", empty}).code, 0);
  ASSERT_EQ(Command({"set", "gpt-4o", "--rpm", "17", "--store", yaml}).code, 0);
  const Ended refused = Command({"migrate", empty, yaml});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Contains(refused.err, "holds nothing")) << refused.err;
  EXPECT_TRUE(Contains(Command({"models", "--store", yaml}).out, "17"));
  EXPECT_EQ(Command({"migrate", empty, yaml, "--force"}).code, 0);
  EXPECT_FALSE(Contains(Command({"models", "--store", yaml}).out, "17"));
}

TEST_F(QuotaCommandTest, LookingMakesNoStore) {
  for (const std::string& store : {"sqlite:" + directory_ + "/new.db", "yaml:" + directory_ + "/new.yaml"}) {
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
      const Ended ended = Command(arguments);
      EXPECT_EQ(ended.code, 2) << verb[0];
      EXPECT_TRUE(Contains(ended.err, "there is no such file")) << ended.err;
      EXPECT_FALSE(std::filesystem::exists(store.substr(store.find(':') + 1))) << verb[0];
    }
    EXPECT_EQ(Command({"decide", "gpt-4o", "1", "--charge", "--store", store}).code, 0);
  }
}

TEST_F(QuotaCommandTest, TheTokenGoesOnlyWithWhatIsForAdministrators) {
  Set("WEIR_ADMIN_TOKEN", "the-token-of-the-test");
  const TlsServer server({.tls = false, .status = 403, .body = R"({"error":{"code":"forbidden","message":"no"}})"});
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  Command({"stats", "--gate", url});
  Command({"decide", "gpt-4o", "1", "--gate", url});
  Command({"unset", "gpt-4o", "--gate", url});
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_FALSE(Contains(requests[0].all, "the-token-of-the-test"));
  EXPECT_FALSE(Contains(requests[1].all, "the-token-of-the-test"));
  EXPECT_TRUE(Contains(requests[2].all, "Authorization: Bearer the-token-of-the-test"));
  const Ended ended = Command({"unset", "gpt-4o", "--gate", "http://gate.invalid"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(Contains(ended.err, "WEIR_ADMIN_TOKEN is not sent to http://gate.invalid")) << ended.err;
}

TEST_F(QuotaCommandTest, TheVariablesNameTheGate) {
  const TlsServer server({.tls = false, .body = R"({"models":[{"model":"of-the-gate"}]})"});
  Set("WEIR_QUOTA_STORE", "memory");
  Set("WEIR_PORT", std::to_string(server.port()));
  EXPECT_TRUE(Contains(Command({"models"}).out, "of-the-gate"));
  Set("WEIR_PORT", "1");
  Set("WEIR_GATE", "http://127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(Contains(Command({"models"}).out, "of-the-gate"));
  const Ended memory = Command({"models", "--store", "memory"});
  EXPECT_EQ(memory.code, 2);
  EXPECT_TRUE(Contains(memory.err, "memory is gone with this process")) << memory.err;
}

TEST_F(QuotaCommandTest, AKeyNeedNotStandOnTheCommandLine) {
  const TlsServer server({.tls = false, .body = "{}"});
  Set("WEIR_QUOTA_API_KEY", "sk-of-the-test");
  Command({"decide", "gpt-4o", "1", "--gate", "http://127.0.0.1:" + std::to_string(server.port())});
  EXPECT_TRUE(Contains(server.requests().at(0).body, "\"sk-of-the-test\"")) << server.requests().at(0).body;
}

TEST_F(QuotaCommandTest, AStoreThatIsAwayIsTwo) {
  for (const char* body :
       {R"({"allowed":false,"code":"store_unavailable","model":"m","tokens":1,"usage":{}})",
        R"({"error":{"code":"store_unavailable","message":"the store of the quotas does not answer"}})"}) {
    const TlsServer server({.tls = false, .status = 503, .body = body});
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
    EXPECT_EQ(Command({"decide", "m", "1", "--gate", url}).code, 2);
    EXPECT_EQ(Command({"explain", "m", "1", "--gate", url, "--json"}).code, 2);
  }
}

TEST_F(QuotaCommandTest, CountsTokensAsTheProviderDoes) {
  const TlsServer server({.tls = false, .body = R"({"totalTokens": 31})"});
  Set("WEIR_COUNT_TOKENS_URL", "http://127.0.0.1:" + std::to_string(server.port()));
  Set("WEIR_COUNT_TOKENS_KEY", "a-key");
  const Ended ended = Command({"count", "gemini-2.5-pro", "some text"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "31\n");
  EXPECT_EQ(Command({"count", "gemini-2.5-pro", "some text", "--json"}).out, R"({"model":"gemini-2.5-pro","tokens":31})"
                                                                             "\n");
  EXPECT_EQ(server.requests().front().key, "a-key");
  EXPECT_TRUE(Contains(server.requests().front().body, "some text"));
}

TEST_F(QuotaCommandTest, WrongUseIsTwo) {
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
    const Ended ended = Command(arguments);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(ended.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(ended.err, "") << testing::PrintToString(arguments);
  }
}

TEST_F(QuotaCommandTest, EveryVerbHelps) {
  EXPECT_EQ(Command({"--help"}).code, 0);
  for (const QuotaVerb& verb : QuotaVerbs()) {
    const Ended ended = Command({std::string(verb.name), "--help"});
    EXPECT_EQ(ended.code, 0) << verb.name;
    EXPECT_TRUE(Contains(ended.out, "weir quota " + std::string(verb.name))) << ended.out;
    EXPECT_TRUE(Contains(ended.out, "Example")) << ended.out;
  }
}

}  // namespace
}  // namespace weir
