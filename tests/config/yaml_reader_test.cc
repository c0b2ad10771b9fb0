#include "config/yaml_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "config/yaml_tree.h"
#include "tests/config/yaml_check.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

enum class OnFault { kHold, kOpen };

struct Endpoint {
  std::string name;
  double rate = 10;
  int64_t priority = 0;
  uint64_t burst = 1;
  Duration timeout = 5s;
  bool enabled = true;
  OnFault on_fault = OnFault::kHold;
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, uint64_t>> quotas;
};

auto EndpointsInto(std::vector<Endpoint>* endpoints) {
  return [endpoints](YamlMap& root) {
    root.Required("endpoints").List([endpoints](YamlValue item) {
      Endpoint& e = endpoints->emplace_back();
      item.Map([&](YamlMap& map) {
        map.Required("name").Read(&e.name);
        map.Optional("rate").Read(&e.rate, {0.001, 1000, "requests/s"});
        map.Optional("priority").Read(&e.priority, {-10, 10});
        map.Optional("burst").Read(&e.burst, {1, 100});
        map.Optional("timeout").ReadSeconds(&e.timeout, {.min = 0.001, .max = 3600});
        map.Optional("enabled").Read(&e.enabled);
        map.Optional("on_fault").Read(&e.on_fault, {{"hold", OnFault::kHold}, {"open", OnFault::kOpen}});
        map.Optional("keys").List([&](YamlValue key) { key.Read(&e.keys.emplace_back()); });
        map.Optional("quotas").Entries([&](std::string_view model, YamlValue value) {
          uint64_t quota = 0;
          value.Read(&quota, {0, 1e6});
          if (quota == 13) value.Error("found 13, expected a lucky number");
          e.quotas.emplace_back(model, quota);
        });
      });
    });
  };
}

Status Read(std::string_view text, std::vector<Endpoint>* endpoints) {
  return ReadYaml(text, "w.yaml", EndpointsInto(endpoints));
}

std::string ErrorOf(std::string_view text) {
  std::vector<Endpoint> endpoints;
  return Read(text, &endpoints).message();
}

TEST(YamlReader, EveryKindOfValue) {
  std::vector<Endpoint> endpoints;
  const Status status = Read(R"(# limits
endpoints:
  - name: first
    rate: 2.5
    priority: -3
    burst: 7
    timeout: 0.3
    enabled: no
    on_fault: open
    keys: [a, "b c", 17]
    quotas: {gpt-4o: 100, "claude: 3": 0}
  - name: 'second'
    keys:
)",
                             &endpoints);
  ASSERT_EQ(status.message(), "");
  ASSERT_EQ(endpoints.size(), 2U);
  const Endpoint& e = endpoints[0];
  EXPECT_EQ(e.name, "first");
  EXPECT_EQ(e.rate, 2.5);
  EXPECT_EQ(e.priority, -3);
  EXPECT_EQ(e.burst, 7U);
  EXPECT_EQ(e.timeout, 300ms);
  EXPECT_FALSE(e.enabled);
  EXPECT_EQ(e.on_fault, OnFault::kOpen);
  EXPECT_EQ(e.keys, (std::vector<std::string>{"a", "b c", "17"}));
  EXPECT_EQ(e.quotas, (std::vector<std::pair<std::string, uint64_t>>{{"gpt-4o", 100}, {"claude: 3", 0}}));
  EXPECT_EQ(endpoints[1].name, "second");
  EXPECT_EQ(endpoints[1].timeout, 5s);
  EXPECT_TRUE(endpoints[1].keys.empty());
}

struct Case {
  std::string_view text;
  std::string_view error;
};

class YamlReaderErrors : public testing::TestWithParam<Case> {};

TEST_P(YamlReaderErrors, NameThePositionTheFindingAndTheExpectation) {
  EXPECT_EQ(ErrorOf(GetParam().text), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Values, YamlReaderErrors,
    testing::Values(
        Case{"endpoints:\n  - name: a\n    rate: fast\n",
             "w.yaml:3:11: endpoints[0].rate: found \"fast\", expected a number within 0.001..1000 (requests/s)"},
        Case{"endpoints:\n  - name: a\n    rate: 0\n",
             "w.yaml:3:11: endpoints[0].rate: found \"0\", expected a number within 0.001..1000 (requests/s)"},
        Case{"endpoints:\n  - name: a\n    rate: .nan\n",
             "w.yaml:3:11: endpoints[0].rate: found \".nan\", expected a number within 0.001..1000 (requests/s)"},
        Case{"endpoints:\n  - name: a\n    rate: \"5\"\n",
             "w.yaml:3:11: endpoints[0].rate: found the text \"5\", expected a number within 0.001..1000 (requests/s)"},
        Case{"endpoints: [{name: a, burst: 1.5}]\n",
             "w.yaml:1:30: endpoints[0].burst: found \"1.5\", expected a whole number within 1..100"},
        Case{"endpoints: [{name: a, priority: [1]}]\n",
             "w.yaml:1:33: endpoints[0].priority: found a list, expected a whole number within -10..10"},
        Case{"endpoints: [{name: a, timeout: 1h}]\n",
             "w.yaml:1:32: endpoints[0].timeout: found \"1h\", expected a number within 0.001..3600 (s)"},
        Case{"endpoints: [{name: a, enabled: maybe}]\n",
             "w.yaml:1:32: endpoints[0].enabled: found \"maybe\", expected true or false"},
        Case{"endpoints: [{name: a, on_fault: fail}]\n",
             "w.yaml:1:33: endpoints[0].on_fault: found \"fail\", expected one of hold, open"},
        Case{"endpoints: [{name: {a: b}}]\n", "w.yaml:1:20: endpoints[0].name: found a map, expected a text"},
        Case{"endpoints: [{name: \"\"}]\n", "w.yaml:1:20: endpoints[0].name: found the text \"\", expected a text"},
        Case{"endpoints: [{name: a, keys: b}]\n", "w.yaml:1:29: endpoints[0].keys: found \"b\", expected a list"},
        Case{"endpoints: [{name: a, quotas: [b]}]\n", "w.yaml:1:31: endpoints[0].quotas: found a list, expected a map"},
        Case{"endpoints: [{name: a, quotas: {x: -1}}]\n",
             "w.yaml:1:35: endpoints[0].quotas.x: found \"-1\", expected a whole number within 0..1000000"},
        Case{"endpoints: [{name: a, quotas: {x: 13}}]\n",
             "w.yaml:1:35: endpoints[0].quotas.x: found 13, expected a lucky number"}));

INSTANTIATE_TEST_SUITE_P(
    Structure, YamlReaderErrors,
    testing::Values(
        Case{"", "w.yaml:1:1: found no key \"endpoints\", expected one"},
        Case{"# nothing but a comment\n", "w.yaml:1:1: found no key \"endpoints\", expected one"},
        Case{"endpoints:\n", "w.yaml:1:1: endpoints: found nothing, expected a list"},
        Case{"endpoints: ~\n", "w.yaml:1:1: endpoints: found nothing, expected a list"},
        Case{"- a\n", "w.yaml:1:1: found a list, expected a map"},
        Case{"just text\n", "w.yaml:1:1: found \"just text\", expected a map"},
        Case{"endpoints:\n  - rate: 1\n", "w.yaml:2:5: endpoints[0]: found no key \"name\", expected one"},
        Case{"endpoints: []\nendpoint: []\n",
             "w.yaml:2:1: found the key \"endpoint\", expected endpoints; did you mean \"endpoints\"?"},
        Case{
            "endpoints:\n  - name: a\n    zzzzzz: 1\n",
            "w.yaml:3:5: endpoints[0]: found the key \"zzzzzz\", expected one of name, rate, priority, burst, timeout, "
            "enabled, on_fault, keys, quotas"},
        Case{"endpoints:\n  - name: a\n    name: b\n",
             "w.yaml:3:5: endpoints[0]: found the key \"name\" again, expected it once (it stands in line 2)"},
        Case{"endpoints:\n  - name: a\n    quotas: {x: 1, x: 2}\n",
             "w.yaml:3:20: endpoints[0].quotas: found the key \"x\" again, expected it once (it stands in line 3)"},
        Case{"endpoints: []\n? [a]\n: 1\n", "w.yaml:2:3: found a list as a key, expected a text"},
        Case{
            "endpoints:\n  - {rate: 0, name: a, brust: 1}\n  - {}\n",
            "w.yaml:2:12: endpoints[0].rate: found \"0\", expected a number within 0.001..1000 (requests/s)\n"
            "w.yaml:2:24: endpoints[0]: found the key \"brust\", expected one of name, rate, priority, burst, timeout, "
            "enabled, on_fault, keys, quotas; did you mean \"burst\"?\n"
            "w.yaml:3:5: endpoints[1]: found no key \"name\", expected one"}));

INSTANTIATE_TEST_SUITE_P(Refused, YamlReaderErrors,
                         testing::Values(Case{"a: 1\n---\nb: 2\n", "w.yaml:2:1: found a second document, expected one"},
                                         Case{"a: !ruby/object b\n",
                                              "w.yaml:1:4: found the tag !ruby/object, expected none"},
                                         Case{"a: &x [*x]\n", "w.yaml:1:8: found an alias within what it stands for"}));

// The words after the position come from the parser.
TEST(YamlReader, RefusesInvalidYamlWithItsPosition) {
  for (const auto& [text, error] : std::vector<Case>{{"endpoints: [a\n", "w.yaml:2:1: found what is not YAML: "},
                                                     {"endpoints:\n\t- a\n", "w.yaml:2:2: found what is not YAML: "},
                                                     {"a: *none\n", "w.yaml:1:4: found what is not YAML: "},
                                                     {"a: 'b\n", "w.yaml:2:1: found what is not YAML: "},
                                                     {"a: \"b\nc: d", "w.yaml:3:1: found what is not YAML: "}}) {
    EXPECT_EQ(ErrorOf(text).substr(0, error.size()), error);
  }
}

TEST(YamlReader, AdvisesOnUnquotedStarsAndTabs) {
  for (const std::string text : {"a:\n  *: 1\n", "a:\n  *.example: 1\n", "a: *\n", "a: [*, b]\n", "a: {\n\tb: *x}\n"})
    EXPECT_TRUE(ErrorOf(text).ends_with("; a name that begins with * needs quotes, unless it stands for an &anchor"))
        << text << ErrorOf(text);
  for (const std::string text :
       {"\ta: 1\n", "a:\n\tb: 1\n", "a:\n\t- b\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  b: 1\n  \tc: 2\nd: 3\n"})
    EXPECT_TRUE(ErrorOf(text).ends_with("; YAML is indented by spaces, not by tabs")) << text << ErrorOf(text);
  for (const std::string text : {"a: b: c\n", "a:\tb: c\n", "\n\n- a\nb: [\n", "a: 'b\n"})
    EXPECT_FALSE(Has(ErrorOf(text), ";")) << text << ErrorOf(text);
}

TEST(YamlReader, ShowsTheFirst20Errors) {
  std::string text = "endpoints:\n";
  for (int i = 0; i < 30; ++i) text += "  - name: a\n    rate: x\n";
  const std::string error = ErrorOf(text);
  EXPECT_EQ(std::ranges::count(error, '\n'), 20);
  EXPECT_TRUE(error.starts_with("w.yaml:3:11: ")) << error;
  EXPECT_TRUE(error.ends_with("\nand 10 more")) << error;
}

TEST(YamlReader, TheEndOfTheDocumentMayBeMarked) {
  for (const std::string_view end : {"", "\n", "\n...", "\n...\n", "\n...\n...\n", "\n# comment", "\n\n \n"}) {
    std::string a;
    const Status status =
        ReadYaml("---\na: b" + std::string(end), "w.yaml", [&](YamlMap& root) { root.Required("a").Read(&a); });
    EXPECT_EQ(status.message(), "") << end;
    EXPECT_EQ(a, "b") << end;
  }
}

TEST(YamlReader, AliasesStandForTheirAnchors) {
  std::vector<Endpoint> endpoints;
  ASSERT_EQ(Read("endpoints:\n  - &first {name: a, rate: 3}\n  - *first\n", &endpoints).message(), "");
  ASSERT_EQ(endpoints.size(), 2U);
  EXPECT_EQ(endpoints[1].rate, 3);
}

TEST(YamlReader, RefusesAliasesThatUnfoldToTooMuch) {
  std::string text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 10; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_EQ(ErrorOf(text), "w.yaml:5:55: found more than 100000 values (aliases unfolded), expected fewer");

  std::string deep = "x0: &x0 [1]\n";
  for (int i = 1; i < 40; ++i)
    deep += "x" + std::to_string(i) + ": &x" + std::to_string(i) + " [*x" + std::to_string(i - 1) + "]\n";
  EXPECT_NE(ErrorOf(deep).find("found lists and maps nested deeper than 32, expected fewer"), std::string::npos);
}

TEST(YamlReader, HugeInputIsRefused) {
  EXPECT_EQ(ErrorOf("a: " + std::string(33, '[') + std::string(33, ']')),
            "w.yaml:1:35: found lists and maps nested deeper than 32, expected fewer");
  EXPECT_NE(ErrorOf(std::string(1'000'000, '[')), "");
  EXPECT_NE(ErrorOf(std::string(100'000, '{')), "");
  EXPECT_EQ(ErrorOf("a: " + std::string(kMaxYamlScalarBytes + 1, 'x')),
            "w.yaml:1:4: found a text of 65537 bytes, expected at most 65536");
  EXPECT_EQ(ErrorOf(std::string(YamlBounds{}.file_bytes + 1, '#')),
            "w.yaml:1:1: found more than 4194304 bytes, expected fewer");
  std::string many = "a:\n";
  for (size_t i = 0; i < YamlBounds{}.values; ++i) many += "- 1\n";
  EXPECT_EQ(ErrorOf(many), "w.yaml:99999:3: found more than 100000 values (aliases unfolded), expected fewer");
}

TEST(YamlReader, Files) {
  const auto nothing = [](YamlMap&) {};
  EXPECT_EQ(ReadYamlFile("/nonexistent/w.yaml", nothing).message(),
            "/nonexistent/w.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(ReadYamlFile("/", nothing).message(), "/: cannot be read: Is a directory");
  EXPECT_EQ(ReadYamlFile("/dev/zero", nothing).message(),
            "/dev/zero:1:1: found more than 4194304 bytes, expected fewer");
  const TempDirectory directory;
  const std::string path = directory / "w.yaml";
  WriteText(path, "port: 80\n");
  uint64_t port = 0;
  EXPECT_TRUE(ReadYamlFile(path, [&](YamlMap& root) { root.Required("port").Read(&port, {1, 65535}); }).ok());
  EXPECT_EQ(port, 80U);
}

// Any bytes give a value or an error, never an exception or a crash.
RC_GTEST_PROP(YamlReader, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("endpoints:name \n\t-[]{}?,&*!|>'\"%@`#~01.a\\\xc3\xa9\xff")));
  std::vector<Endpoint> endpoints;
  CheckYaml(text, EndpointsInto(&endpoints));
}

RC_GTEST_PROP(YamlReader, WholeNumbersOfARangeAreReadExactly, (int64_t number)) {
  int64_t read = 0;
  const Status status = ReadYaml("n: " + std::to_string(number), "w.yaml", [&](YamlMap& root) {
    root.Required("n").Read(&read, {-9.3e18, 9.3e18});
  });
  RC_ASSERT(status.ok());
  RC_ASSERT(read == number);
}

}  // namespace
}  // namespace weir
