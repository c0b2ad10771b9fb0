// The directory of envoyproxy/ratelimit's files.
#include "relay/limiters/envoy/envoy_rules.h"

#include <filesystem>

#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

class EnvoyRulesTest : public testing::Test {
 protected:
  // Returns the error of a directory with this one file, or "good".
  std::string ErrorOf(const std::string& text) const {
    directory_.Write("a.yaml", text);
    const auto read = ReadEnvoyRules(directory_.path());
    return read.ok() ? "good" : read.status().message();
  }
  Result<EnvoyRulesRead> Read() const { return ReadEnvoyRules(directory_.path()); }

  TempDirectory directory_;
};

TEST_F(EnvoyRulesTest, ReadsEachFieldOfTheForm) {
  directory_.Write("messaging.yaml",
                   "# a comment\n"
                   "domain: messaging\n"
                   "descriptors:\n"
                   "  - key: message_type\n"
                   "    value: marketing\n"
                   "    descriptors:\n"
                   "      - key: to_number\n"
                   "        rate_limit:\n"
                   "          unit: day\n"
                   "          requests_per_unit: 5\n"
                   "          name: a_number\n"
                   "          replaces:\n"
                   "            - name: other\n"
                   "            - name: another\n"
                   "        shadow_mode: true\n"
                   "        quota_mode: true\n"
                   "  - key: port\n"
                   "    value: 8080\n"
                   "    rate_limit: {unit: WEEK, requests_per_unit: 4294967295}\n"
                   "  - {key: file, value: \"f*\", share_threshold: true, rate_limit: {unlimited: true}}\n"
                   "  - key: nothing\n"
                   "    value:\n"
                   "    rate_limit:\n"
                   "    descriptors:\n");
  directory_.Write("other.yml", "domain: other\n");
  directory_.Write(".hidden.yaml", "not: {read\n");
  directory_.Write("notes.txt", "not: {read\n");
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().summary, "3 limits in 2 domains of 2 files");
  EXPECT_TRUE(read.value().warnings.empty());
  const auto& limits = read.value().rules->limits();
  EXPECT_EQ(limits[0].path, "message_type_marketing.to_number");
  EXPECT_EQ(*limits[0].domain, "messaging");
  EXPECT_EQ(limits[0].limit, (UnitLimit{5, LimitUnit::kPerDay}));
  EXPECT_EQ(limits[0].name, "a_number");
  EXPECT_EQ(limits[0].replaces, (std::vector<std::string>{"other", "another"}));
  EXPECT_TRUE(limits[0].shadow_mode && limits[0].quota_mode);
  EXPECT_EQ(limits[1].path, "port_8080");
  EXPECT_EQ(limits[1].limit, (UnitLimit{4294967295, LimitUnit::kPerWeek}));
  EXPECT_FALSE(limits[1].shadow_mode || limits[1].quota_mode);
  EXPECT_TRUE(limits[2].unlimited);
}

TEST_F(EnvoyRulesTest, WarnsOfWhatItDoesNotFollow) {
  directory_.Write("a.yaml",
                   "domain: a\n"
                   "descriptors:\n"
                   "  - {key: x, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 2}}\n"
                   "  - {key: y, detailed_metric: false, value_to_metric: true}\n"
                   "  - {key: z, metadata: {any: [thing, {at: all}]}}\n"
                   "  - {key: v, metadata: {x: 1}}\n");
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read.value().warnings.size(), 3u);
  EXPECT_TRUE(Has(read.value().warnings[0], "a.yaml: detailed_metric of 1 descriptor changes nothing"));
  EXPECT_TRUE(Has(read.value().warnings[1], "metadata of 2 descriptors"));
  EXPECT_TRUE(Has(read.value().warnings[2], "value_to_metric of 1 descriptor"));
}

TEST_F(EnvoyRulesTest, SaysWhatIsWrongAndWhere) {
  const std::string head = "domain: d\ndescriptors:\n";
  const struct {
    std::string text;
    const char* error;
  } cases[] = {
      {"", "a.yaml:1:1: found no key \"domain\""},
      {"domain: \"\"\n", "a.yaml:1:9: domain: found the text \"\", expected a text"},
      {"descriptors: []\n", "found no key \"domain\""},
      {"domain: d\ndescriptor: []\n",
       "a.yaml:2:1: found the key \"descriptor\", expected one of domain, descriptors; did you"},
      {head + "  - value: x\n", "a.yaml:3:5: descriptors[0]: found no key \"key\""},
      {head + "  - key: a\n  rate_limit: {}\n", "a.yaml:4:3: found what is not YAML"},
      {head + "  - key: a\n    rate_limit:\n    unit: day\n", "a.yaml:5:5: descriptors[0]: found the key \"unit\""},
      {head + "  - key: a\n    rate_limit: {unit: fortnight, requests_per_unit: 1}\n",
       "a.yaml:4:24: descriptors[0].rate_limit.unit: found \"fortnight\", expected one of second, minute, hour, day, "
       "month, year, week"},
      {head + "  - {key: a, rate_limit: {requests_per_unit: 1}}\n", "found no key \"unit\", expected one"},
      {head + "  - {key: a, rate_limit: {unit: day}}\n", "found no key \"requests_per_unit\", expected one"},
      {head + "  - {key: a, rate_limit: {unit: day, requests_per_unit: -1}}\n", "requests_per_unit: found \"-1\""},
      {head + "  - {key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}\n", "requests_per_unit"},
      {head + "  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, shadow_mode: true}}\n",
       "found the key \"shadow_mode\""},
      {head + "  - {key: a, rate_limit: {unlimited: true, unit: day}}\n", "expected none beside unlimited: true"},
      {head + "  - {key: a, shadow_mode: maybe}\n", "shadow_mode: found \"maybe\", expected true or false"},
      {head + "  - {key: a, share_threshold: true}\n",
       "a.yaml:3:5: descriptors[0]: share_threshold is for values with a *"},
      {head + "  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: n, replaces: [{name: n}]}}\n",
       "the limit n replaces itself"},
      {head + "  - {key: a, rate_limit: {unit: day, requests_per_unit: 1, replaces: [n]}}\n",
       "replaces[0]: found \"n\", expected a map"},
      {head + "  - {key: a}\n  - {key: b}\n  - {key: a}\n",
       "a.yaml:5:5: descriptors[2]: the descriptor a is there twice (it stands in line 3)"},
      {head + "  - key: a\n    descriptors:\n      - {key: b, value: x}\n      - {key: b, value: x}\n",
       "a.yaml:6:9: descriptors[0].descriptors[1]: the descriptor a.b_x is there twice (it stands in line 5)"},
      {head + "  - {key: a, value: 10.*}\n  - {key: a, value: 10.0.*}\n",
       "a.yaml:4:5: descriptors[1]: the descriptor a_10.0.* can match nothing: the value 10.* stands before it"},
      {head + "  - {key: a*}\n", "a.yaml:3:5: descriptors[0]: the key a* can match nothing"},
      {"domain: d\n---\ndomain: e\n", "found a second document"},
      {"domain: [d]\n", "domain: found a list, expected a text"},
      {head + "  key: a\n", "descriptors: found a map, expected a list"},
  };
  for (const auto& c : cases) {
    const std::string error = ErrorOf(c.text);
    EXPECT_TRUE(Has(error, c.error)) << c.text << error;
    EXPECT_TRUE(error.starts_with(directory_.path())) << error;
  }
}

TEST_F(EnvoyRulesTest, TellsOfAllMistakesOfAllFiles) {
  directory_.Write("a.yaml",
                   "domain: d\ndescriptors:\n  - {key: x, valeu: y}\n  - {key: x, rate_limit: {unit: days}}\n");
  directory_.Write("b.yaml", "domain: d\n");
  const std::string error = Read().status().message();
  EXPECT_TRUE(Has(error, "a.yaml:3:")) << error;
  EXPECT_TRUE(Has(error, "did you mean \"value\"?")) << error;
  EXPECT_TRUE(Has(error, "a.yaml:4:")) << error;
  EXPECT_TRUE(Has(error, "b.yaml:1:9: domain: the domain d is in " + (directory_ / "a.yaml") + " too")) << error;
}

TEST_F(EnvoyRulesTest, RefusesBombs) {
  std::string deep = "domain: d\n";
  for (size_t level = 0; level < 100; ++level) {
    const std::string indent(level * 4, ' ');
    deep.append(indent).append("descriptors:\n").append(indent).append("  - key: a\n");
  }
  EXPECT_TRUE(Has(ErrorOf(deep), "nested deeper than")) << ErrorOf(deep).substr(0, 300);
  std::string bomb = "domain: d\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int n = 1; n < 12; ++n) {
    const std::string before = "*a" + std::to_string(n - 1);
    bomb += "a" + std::to_string(n) + ": &a" + std::to_string(n) + " [" + before;
    for (int i = 0; i < 9; ++i) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_TRUE(Has(ErrorOf(bomb), "found more than 1000000 values (aliases unfolded)"));
}

TEST_F(EnvoyRulesTest, SaysWhatTheDirectoryLacks) {
  EXPECT_TRUE(Has(Read().status().message(), "found no *.yaml file"));
  EXPECT_TRUE(Has(ReadEnvoyRules(directory_ / "none").status().message(), "No such file or directory"));
  directory_.Write("a.yaml", "domain: a\n");
  EXPECT_TRUE(Has(ReadEnvoyRules(directory_ / "a.yaml").status().message(), "is no directory"));
}

// A ConfigMap: the files are links into ..data, which is a link to a hidden directory.
TEST_F(EnvoyRulesTest, ReadsAConfigMapOfKubernetes) {
  namespace fs = std::filesystem;
  fs::create_directory(directory_ / "..2026_01_01");
  WriteText(directory_ / "..2026_01_01/limits.yaml",
            "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]\n");
  fs::create_directory_symlink("..2026_01_01", directory_ / "..data");
  fs::create_symlink("..data/limits.yaml", directory_ / "limits.yaml");
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().summary, "1 limit in 1 domain of 1 file");
}

TEST_F(EnvoyRulesTest, ReadsTenThousandLimits) {
  std::string text = "domain: d\ndescriptors:\n";
  for (int n = 0; n < 10'000; ++n) {
    const std::string number = std::to_string(n);
    text.append("  - key: user\n    value: \"").append(number).append("\"\n    rate_limit:\n");
    text.append("      unit: minute\n      requests_per_unit: ").append(number).append("\n");
  }
  directory_.Write("a.yaml", text);
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().rules->limits().size(), 10'000u);
}

}  // namespace
}  // namespace weir
