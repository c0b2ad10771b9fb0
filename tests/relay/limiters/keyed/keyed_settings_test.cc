// The `keyed` section of weir.yaml.
#include "relay/limiters/keyed/keyed_settings.h"

#include "tests/relay/limiters/gate_server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

class KeyedSettingsTest : public testing::Test {
 protected:
  Result<KeyedRulesRead> Read(const std::string& text) const {
    return ReadKeyedRules(directory_.Write("weir.yaml", text));
  }
  KeyedLimits Of(const std::string& text, const std::string& key) const {
    const auto read = Read(text);
    EXPECT_TRUE(read.ok()) << read.status().message();
    return read.ok() ? read.value().rules->Of(key) : KeyedLimits{};
  }

  TempDirectory directory_;
};

TEST_F(KeyedSettingsTest, WithoutAFileOrASectionTheDefaultsHold) {
  const auto none = ReadKeyedRules("");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none.value().has_section);
  EXPECT_EQ(none.value().rules->Of("a"), KeyedLimits{});
  const auto other = Read("quota: {shadow: true}\n");
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_FALSE(other.value().has_section);
  const auto empty = Read("keyed: {}\n");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty.value().has_section);
  EXPECT_EQ(empty.value().rules->Of("a"), KeyedLimits{});
}

TEST_F(KeyedSettingsTest, KeysComeBeforePatternsAndTakeTheRestFromTheDefault) {
  const std::string text =
      "keyed:\n"
      "  default: {window_millis: 2000, max_requests: 10, max_requests_in_queue: 0, window: sliding}\n"
      "  keys:\n"
      "    team-a: {max_requests: 3}\n"
      "    \"a/b c\": {window: fixed}\n"
      "  patterns:\n"
      "    - {pattern: \"team-.\", max_requests: 4}\n"
      "    - {pattern: \"team-.*\", window_millis: 60000}\n";
  const KeyedLimits others{
      .window = milliseconds(2000), .max_requests = 10, .max_waiting = 0, .kind = WindowKind::kSliding};
  const auto with = [&others](auto change) {
    KeyedLimits limits = others;
    change(limits);
    return limits;
  };
  EXPECT_EQ(Of(text, "x"), others);
  EXPECT_EQ(Of(text, "team-a"), with([](KeyedLimits& l) { l.max_requests = 3; }));
  EXPECT_EQ(Of(text, "team-b"), with([](KeyedLimits& l) { l.max_requests = 4; }));
  EXPECT_EQ(Of(text, "team-long"), with([](KeyedLimits& l) { l.window = milliseconds(60000); }));
  EXPECT_EQ(Of(text, "my team-b"), others) << "the whole key";
  EXPECT_EQ(Of(text, "a/b c"), with([](KeyedLimits& l) { l.kind = WindowKind::kFixed; }));
  EXPECT_EQ(Read(text).value().summary,
            "10 requests in 2 s for every key but 2 keys and 2 patterns with limits of their own");
}

TEST_F(KeyedSettingsTest, WarnsOfAStarInAKey) {
  const auto read = Read(
      "keyed:\n  keys:\n    \"user-*\": {max_requests: 3}\n    user-1: {}\n    \"*\": {}\n  patterns:\n    - {pattern: "
      "\"team-.*\"}\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().warnings,
            std::vector<std::string>{"the key user-* (and 1 more) has a *, which is an ordinary character in "
                                     "keyed.keys; keyed.patterns has limits for many keys"});
  EXPECT_EQ(read.value().rules->Of("user-*").max_requests, 3u);
  EXPECT_EQ(read.value().rules->Of("user-2").max_requests, 100u);
}

TEST_F(KeyedSettingsTest, SaysWhatIsWrongAndWhere) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"keyd: {}\n", "did you mean \"keyed\"?"},
      {"keyed:\n  defaults: {}\n", "weir.yaml:2:3: keyed: found the key \"defaults\""},
      {"keyed:\n  default: {max_request: 1}\n", "did you mean \"max_requests\"?"},
      {"keyed:\n  default: {max_requests: -1}\n", "weir.yaml:2:27: keyed.default.max_requests"},
      {"keyed:\n  default: {max_requests: 1.5}\n", "keyed.default.max_requests"},
      {"keyed:\n  default: {window_millis: 0}\n", "window_millis: found \"0\", expected"},
      {"keyed:\n  default: {window_millis: 99999999999}\n", "window_millis"},
      {"keyed:\n  default: {max_requests_in_queue: 1000001}\n", "max_requests_in_queue"},
      {"keyed:\n  default: {window: hopping}\n",
       "keyed.default.window: found \"hopping\", expected one of fixed, sliding"},
      {"keyed:\n  keys:\n    a: {max_requests: many}\n", "weir.yaml:3:"},
      {"keyed:\n  keys: [a]\n", "keyed.keys"},
      {"keyed:\n  keys:\n    a: {}\n    a: {}\n", "weir.yaml:4:"},
      {"keyed:\n  patterns:\n    - {max_requests: 1}\n", "pattern"},
      {"keyed:\n  patterns:\n    - {pattern: \"a(\", max_requests: 1}\n", "weir.yaml:3:"},
      {"keyed:\n  patterns:\n    - {pattern: \"a\"}\n    - {pattern: \"(((((a{100}){100}){100}){100}){100})\"}\n",
       "weir.yaml:4:"},
      {"keyed:\n  patterns:\n    - {pattern: \"a/.*\"}\n    - {pattern: \"a/.*\", max_requests: 1}\n",
       "weir.yaml:4:7: keyed.patterns[1]: found the pattern a/.* again, expected it once (it stands in line 3)"},
      {"keyed:\n default: {}\n  keys: {}\n", "weir.yaml:"},
      {"keyed: 7\n", "keyed"},
  };
  for (const auto& c : cases) {
    const auto read = Read(c.text);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_TRUE(Has(read.status().message(), c.error)) << c.text << read.status().message();
  }
  const struct {
    const char* text;
    const char* error;
  } of_shared[] = {
      {"keyed:\n  default: {window: sliding}\n", "weir.yaml:2:12: keyed.default: a sliding window cannot be shared"},
      {"keyed:\n  keys:\n    a: {window_millis: 99}\n", "weir.yaml:3:8: keyed.keys.a: a window below 0.1 s cannot"},
      {"keyed:\n  patterns:\n    - {pattern: a, window: sliding, shared: true}\n", "say shared: false"},
  };
  for (const auto& c : of_shared) {
    const std::string file = directory_.Write("weir.yaml", c.text);
    EXPECT_TRUE(ReadKeyedRules(file).ok()) << c.text;
    const auto read = ReadKeyedRules(file, true);
    ASSERT_FALSE(read.ok()) << c.text;
    EXPECT_TRUE(Has(read.status().message(), c.error)) << c.text << read.status().message();
  }
  EXPECT_FALSE(Read("keyed: {keys: {" + std::string(513, 'x') + ": {}}}\n").ok());
  EXPECT_TRUE(Has(ReadKeyedRules(directory_ / "none.yaml").status().message(), "none.yaml"));
}

TEST_F(KeyedSettingsTest, ReadsWhichKeysAreNotShared) {
  const std::string file = directory_.Write(
      "weir.yaml",
      "keyed:\n  default: {window: sliding, shared: false}\n  keys:\n    a: {window: fixed, shared: true}\n");
  const auto read = ReadKeyedRules(file, true);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE(read.value().rules->Of("b").shared);
  EXPECT_TRUE(read.value().rules->Of("a").shared);
}

TEST_F(KeyedSettingsTest, TheStoreIsTheMemoryOrARedis) {
  for (const char* store : {"memory", "redis://a", "rediss-cluster://u:p@a:1,b:2"})
    EXPECT_TRUE(CheckKeyedStoreName(store).ok()) << store;
  for (const char* store : {"", "sqlite:x", "redis:", "redis://u:secret@a:x"}) {
    const Status status = CheckKeyedStoreName(store);
    ASSERT_FALSE(status.ok()) << store;
    EXPECT_TRUE(Has(status.message(), "WEIR_KEYED_STORE")) << status.message();
    EXPECT_FALSE(Has(status.message(), "secret")) << status.message();
  }
}

}  // namespace
}  // namespace weir
