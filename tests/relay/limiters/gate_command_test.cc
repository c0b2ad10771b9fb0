// weir gate as an operator uses it.
#include "relay/limiters/gate_command.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/relay/limiters/gate_child.h"
#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

TEST(GateCommand, RunsUntilItIsToldToStop) {
  GateChild child({"--port", "0"});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  EXPECT_EQ(AskPort(port, "POST", "/v1/decide", R"({"model":"gpt-4o","tokens":900})").status, 200);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0) << child.err();
  EXPECT_TRUE(Has(child.err(), "quotas: profiles of gemini, openai, anthropic")) << child.err();
  EXPECT_TRUE(Has(child.err(), "quotas: kept in memory; no configuration file")) << child.err();
  EXPECT_TRUE(Has(child.err(), "SIGTERM: stopping"));
  EXPECT_TRUE(Has(child.err(), "stopped\n"));
}

TEST(GateCommand, AHangUpReadsTheConfigurationAgain) {
  const TempDirectory directory;
  const std::string config = directory.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 100}\n");
  GateChild child({"--port", "0", "--config", config});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  child.Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "weir.yaml was read: "); })) << child.err();
  directory.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: x}\n");
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "weir.yaml:3:"); })) << child.err();
  EXPECT_EQ(AskPort(port, "POST", "/v1/decide", R"({"model":"mine","tokens":101})").status, 413);
  child.Signal(SIGINT);
  EXPECT_EQ(child.Wait().code, 0);
}

TEST(GateCommand, AHangUpWithoutAConfigurationSaysSo) {
  GateChild child({"--port", "0"});
  ASSERT_NE(child.Port(), 0) << child.err();
  child.Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "WEIR_CONFIG is not set"); })) << child.err();
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0);
}

TEST(GateCommand, TellsHowItIsWhenItIsAsked) {
  GateChild child({"--port", "0"});
  ASSERT_NE(child.Port(), 0) << child.err();
  for (size_t times = 1; times <= 2; ++times) {
    child.Signal(SIGUSR1);
    EXPECT_TRUE(Eventually([&] {
      const std::string said = child.err();
      size_t pages = 0;
      for (size_t at = 0; (at = said.find("weir_quota_config_good 1", at)) != said.npos; ++at) ++pages;
      return pages == times;
    })) << child.err();
  }
  EXPECT_TRUE(Has(child.err(), "state, asked for by SIGUSR1: ready\n")) << child.err();
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0);
}

TEST(GateCommand, AHangUpNamesModelsThatWereChangedThroughTheApi) {
  const TempDirectory directory;
  const std::string config = directory.Write("weir.yaml", "quota:\n  models:\n    mine: {max_tpm: 100}\n");
  GateChild child({"--port", "0", "--config", config}, {{"WEIR_ADMIN_TOKEN", "secret"}});
  const uint16_t port = child.Port();
  ASSERT_NE(port, 0) << child.err();
  const std::string quota = R"({"max_rpm":7,"max_tpm":8,"max_rpd":9})";
  EXPECT_EQ(AskPort(port, "PUT", "/v1/models/mine/quota", quota, "Authorization: Bearer secret\r\n").status, 200);
  child.Signal(SIGHUP);
  EXPECT_TRUE(Eventually([&] { return Has(child.err(), "mine: max_rpm 7, max_tpm 8, max_rpd 9 apply"); }))
      << child.err();
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0);
}

TEST(GateCommand, SaysHowToUseIt) {
  GateChild child({"--help"});
  EXPECT_EQ(child.Wait().code, 0);
  for (const char* part : {"quotas of LLM models, limits by key, endpoints that queue and Envoy's rate limits",
                           "--store", "--config", "curl -X POST", "redis://", "SIGHUP", "Exit status"})
    EXPECT_TRUE(Has(child.out(), part)) << part;
}

TEST(GateCommand, ReportsWrongArgumentsSettingsAndFiles) {
  const TempDirectory directory;
  const std::string bad = directory.Write("bad.yaml", "quota:\n  models:\n    m: {max_tpm: -1}\n");
  directory.Write("notes.txt", "not a database, and long enough to be looked at as one");
  const struct {
    std::vector<std::string> arguments;
    Environment settings;
    int code;
    std::string part_of_error;
  } cases[] = {
      {{"--prot", "1"}, {}, 2, "--prot"},
      {{"--port", "70000"}, {}, 2, "70000"},
      {{}, {{"WEIR_PORT", "x"}}, 2, "WEIR_PORT"},
      {{}, {{"WEIR_QUOTA_WHEN_STORE_AWAY", "panic"}}, 2, "refuse"},
      {{"--config", bad}, {}, 2, "bad.yaml:3:"},
      {{"--config", directory / "none.yaml"}, {}, 2, "none.yaml"},
      {{"--port", "0", "--store", "paper:notes"}, {}, 2, "paper"},
      {{"--port", "0", "--store", "sqlite:" + (directory / "notes.txt")}, {}, 1, "notes.txt"},
      {{"--port", "0", "--store", "yaml:" + (directory / "notes.txt")}, {}, 1, "notes.txt"},
      {{"--listen", "192.0.2.1", "--port", "0"}, {}, 1, "192.0.2.1"},
  };
  for (const auto& c : cases) {
    GateChild child(c.arguments, c.settings);
    EXPECT_EQ(child.Wait().code, c.code) << c.part_of_error << "\n" << child.err();
    EXPECT_TRUE(Has(child.err(), c.part_of_error)) << c.part_of_error << "\n" << child.err();
  }
  EXPECT_EQ(TextOf(directory / "notes.txt"), "not a database, and long enough to be looked at as one");
}

TEST(GateCommand, WarnsOfUnknownSettings) {
  GateChild child({"--port", "0"}, {{"WEIR_QUOTA_STOER", "memory"},
                                    {"WEIR_RELAY_NAME", "a relay's"},
                                    {"WEIR_GATE", "http://127.0.0.1:3335"},
                                    {"WEIR_QUOTA_API_KEY", "sk-of-the-test"}});
  ASSERT_NE(child.Port(), 0) << child.err();
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().code, 0);
  EXPECT_TRUE(Has(child.err(), "did you mean WEIR_QUOTA_STORE?")) << child.err();
  for (const char* known : {"WEIR_RELAY_NAME", "WEIR_GATE", "WEIR_QUOTA_API_KEY", "sk-of-the-test"})
    EXPECT_FALSE(Has(child.err(), known)) << known;
}

}  // namespace
}  // namespace weir
