#include "config/config_command.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "config/settings_format.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

struct Sample {
  double setpoint = 0.85;
  uint64_t port = 3334;
  bool enabled = true;
  std::string data_dir = "./data";
};

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunConfig(SettingTable& table, std::vector<std::string> flags, const Environment& environment) {
  flags.insert(flags.begin(), "weir config");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  argv.push_back(nullptr);
  std::ostringstream out, err;
  const int code = ConfigCommand(static_cast<int>(flags.size()), argv.data(), table, environment, out, err);
  return {code, out.str(), err.str()};
}

Outcome RunConfig(const std::vector<std::string>& flags, const Environment& environment) {
  Sample sample;
  SettingTable table;
  table.Add("SETPOINT", &sample.setpoint, {0.05, 1, "fraction"}, "level to hold");
  table.Add("PORT", &sample.port, {1, 65535}, "port to listen on");
  table.Add("ENABLED", &sample.enabled, "whether it acts");
  table.Add("DATA_DIR", &sample.data_dir, "where the data is");
  return RunConfig(table, flags, environment);
}

TEST(ConfigCommand, Table) {
  const Outcome outcome = RunConfig({}, {{"WEIR_PORT", "80"}, {"ORLY_SETPOINT", "0.7"}});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "SETTING        VALUE   UNIT      RANGE       FROM           MEANING\n"
            "WEIR_SETPOINT  0.7     fraction  0.05..1     ORLY_SETPOINT  level to hold\n"
            "WEIR_PORT      80                1..65535    environment    port to listen on\n"
            "WEIR_ENABLED   true              true|false  default        whether it acts\n"
            "WEIR_DATA_DIR  ./data                        default        where the data is\n");
}

TEST(ConfigCommand, Env) {
  const Outcome outcome = RunConfig({"--format=env"}, {{"WEIR_DATA_DIR", "/a b"}});
  EXPECT_EQ(outcome.out,
            "# level to hold (fraction; 0.05..1; the default)\n"
            "WEIR_SETPOINT=0.85\n"
            "# port to listen on (1..65535; the default)\n"
            "WEIR_PORT=3334\n"
            "# whether it acts (true|false; the default)\n"
            "WEIR_ENABLED=true\n"
            "# where the data is (default ./data)\n"
            "WEIR_DATA_DIR=\"/a b\"\n");
}

TEST(ConfigCommand, SecretsAreNotShown) {
  std::string token;
  std::string store = "memory";
  std::string unset;
  SettingTable table;
  table.AddSecret("TOKEN", &token, "secret");
  table.AddSecret("STORE", &store, "with a password in it",
                  [](std::string_view text) { return text == "a:pw@b" ? "a:***@b" : std::string(text); });
  table.AddSecret("UNSET", &unset, "none");
  const Environment environment = {{"WEIR_TOKEN", "hush"}, {"WEIR_STORE", "a:pw@b"}};
  for (const char* format : {"table", "env", "json", "markdown"}) {
    const Outcome shown = RunConfig(table, {"--format", format}, environment);
    ASSERT_EQ(shown.code, 0) << shown.err;
    EXPECT_EQ(shown.out.find("hush"), std::string::npos) << shown.out;
    EXPECT_EQ(shown.out.find("pw"), std::string::npos) << shown.out;
    if (std::string(format) != "env") continue;
    EXPECT_NE(shown.out.find("\n# WEIR_TOKEN=\"***\"\n"), std::string::npos) << shown.out << "not to be set to that";
    EXPECT_NE(shown.out.find("\nWEIR_UNSET=\n"), std::string::npos) << shown.out;
  }
  EXPECT_EQ(token, "hush");
  EXPECT_EQ(store, "a:pw@b");
}

TEST(ConfigCommand, EnvIsReadBackByTheShell) {
  const std::string awkward = "it's \"$HOME\" `id` \\n \\\nsecond line # ; & * ~ é";
  const TempDirectory directory;
  const std::string path = directory / "env";
  WriteText(path, RunConfig({"--format=env"}, {{"WEIR_DATA_DIR", awkward}}).out);
  std::FILE* shell = popen(("sh -c '. " + path + "; printf %s \"$WEIR_DATA_DIR\"'").c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string said(1000, '\0');
  said.resize(fread(said.data(), 1, said.size(), shell));
  EXPECT_EQ(pclose(shell), 0);
  EXPECT_EQ(said, awkward);
}

TEST(ConfigCommand, Json) {
  const Outcome outcome = RunConfig({"--format", "json"}, {{"WEIR_DATA_DIR", "a\"b\\c\n\xff\xed\xa0\x80 é"}});
  EXPECT_EQ(outcome.out.substr(0, 126),
            "[\n  {\"name\": \"WEIR_SETPOINT\", \"value\": \"0.85\", \"default\": \"0.85\", \"source\": \"default\", "
            "\"unit\": \"fraction\", \"range\": \"0.05..1\",");
  EXPECT_NE(outcome.out.find("\"value\": \"a\\\"b\\\\c\\n\\ufffd\\ufffd\\ufffd\\ufffd é\""), std::string::npos);
  EXPECT_TRUE(outcome.out.ends_with("}\n]\n"));
}

TEST(ConfigCommand, MarkdownShowsTheDefaultsInAnyEnvironment) {
  const Outcome outcome = RunConfig({"--format=markdown"}, {{"WEIR_PORT", "bad"}, {"WEIR_NONE", "1"}});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "| Setting | Default | Unit | Range | Meaning |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| `WEIR_SETPOINT` | `0.85` | fraction | `0.05..1` | level to hold |\n"
            "| `WEIR_PORT` | `3334` | | `1..65535` | port to listen on |\n"
            "| `WEIR_ENABLED` | `true` | | `true\\|false` | whether it acts |\n"
            "| `WEIR_DATA_DIR` | `./data` | | | where the data is |\n");
}

TEST(ConfigCommand, SettingsForEmbeddingProgramsStandApart) {
  uint64_t batch = 10;
  bool enabled = true;
  SettingTable table;
  table.Add("BATCH", &batch, {1, 100}, "operations taken together");
  table.Add("ENABLED", &enabled, "whether it acts");
  table.ForEmbedding("BATCH");
  EXPECT_THROW(table.ForEmbedding("NONE"), std::logic_error);
  const std::string line = "Settings for programs that embed weir; they change nothing in weir's own programs:";
  EXPECT_EQ(SettingsAsTable(table.rows()),
            "SETTING       VALUE  UNIT  RANGE       FROM     MEANING\n"
            "WEIR_ENABLED  true         true|false  default  whether it acts\n"
            "\n" +
                line +
                "\n\n"
                "SETTING     VALUE  UNIT  RANGE   FROM     MEANING\n"
                "WEIR_BATCH  10           1..100  default  operations taken together\n");
  EXPECT_NE(SettingsAsEnv(table.rows()).find("WEIR_ENABLED=true\n\n# " + line + "\n\n# operations"), std::string::npos);
  EXPECT_NE(SettingsAsMarkdown(table.rows()).find("acts |\n\n" + line + "\n\n| Setting |"), std::string::npos);
  EXPECT_NE(SettingsAsJson(table.rows()).find("together\", \"for\": \"programs that embed weir\"}"), std::string::npos);
  EXPECT_NE(SettingsAsJson(table.rows()).find("acts\", \"for\": \"weir\"}"), std::string::npos);
}

TEST(ConfigCommand, ABadEnvironmentIsListedAndExitsWith2) {
  const Outcome outcome = RunConfig({}, {{"WEIR_PORT", "0"}, {"WEIR_SETPOINT", "85"}, {"WEIR_PROT", "1"}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err,
            "warning: WEIR_PROT is not a setting; did you mean WEIR_PORT?\n"
            "WEIR_SETPOINT=85: not within 0.05..1 (fraction)\n"
            "WEIR_PORT=0: not within 1..65535\n");
}

TEST(ConfigCommand, WrongFlagsExitWith2) {
  EXPECT_EQ(RunConfig({"--format=xml"}, {}).code, 2);
  EXPECT_NE(RunConfig({"--format=xml"}, {}).err.find("xml"), std::string::npos);
  EXPECT_EQ(RunConfig({"--nonsense"}, {}).code, 2);
  const Outcome help = RunConfig({"--help"}, {});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("--format"), std::string::npos);
}

}  // namespace
}  // namespace weir
