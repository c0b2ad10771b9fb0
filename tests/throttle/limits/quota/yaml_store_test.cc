#include "throttle/limits/quota/yaml_store.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "config/text/rfc3339.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/file_size_limit.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// 2026-02-20T14:32:01.123456789Z
constexpr WallTime kThen{1'771'597'921'123'456'789ns};

constexpr const char* kPublished = R"(quotas:
  gemini-3-pro-preview:
    max_rpm: 150
    max_tpm: 1000000
    max_rpd: 1000
state:
  gemini-3-pro-preview:
    requests: [2026-02-20T14:32:01.123456789Z]
    tokens: [{time: 2026-02-20T14:32:01.123456789Z, count: 1500}]
    day_start: 2026-02-20T00:00:00Z
    day_count: 42
)";

std::unique_ptr<YamlQuotaStore> MustOpenYaml(const std::string& path, const WallClock& clock,
                                             const YamlStoreOptions& options = {.persist_every = 0s}) {
  Result<std::unique_ptr<YamlQuotaStore>> store = YamlQuotaStore::Open(path, options, clock);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(store).value() : nullptr;
}

StoreUnderTest OpenYaml(const WallClock& clock, const StoreBounds& bounds) {
  const auto directory = std::make_shared<TempDirectory>();
  const YamlStoreOptions options{.memory = {.max_models = bounds.max_models,
                                            .max_tier_keys = bounds.max_tier_keys,
                                            .max_named_ended = bounds.max_named_ended},
                                 .persist_every = 1ms};
  return {.keep = directory, .store = MustOpenYaml(*directory / "quota.yaml", clock, options)};
}

INSTANTIATE_TEST_SUITE_P(Yaml, QuotaStoreSuite,
                         testing::Values(StoreKind{.name = "yaml", .open = OpenYaml, .property_rounds = 20}),
                         NameOfKind);

QuotaState MustRead(const std::string& text) {
  Result<QuotaState> state = ReadQuotaYaml(text, "quota.yaml");
  EXPECT_TRUE(state.ok()) << state.status().message();
  return state.ok() ? state.value() : QuotaState{};
}

TEST(QuotaYaml, ThePublishedFormatIsReadAndWrittenBackTheSame) {
  const QuotaState state = MustRead(kPublished);
  const ModelState expected{.quota = ModelQuota{.max_rpm = 150, .max_tpm = 1'000'000, .max_rpd = 1000},
                            .requests = {{kThen, 1}},
                            .tokens = {{kThen, 1500}},
                            .day_start = WallTime(std::chrono::sys_days(std::chrono::year(2026) / 2 / 20)),
                            .day_count = 42};
  EXPECT_EQ(state, (QuotaState{{"gemini-3-pro-preview", expected}}));
  EXPECT_EQ(WriteQuotaYaml(state), kPublished);
}

// The published program writes it like this: blocks, local times, a zero time if no day has begun.
TEST(QuotaYaml, BlocksOffsetsAndZeroTimesAreRead) {
  const QuotaState state = MustRead(R"(quotas:
    o1: {max_rpm: 5}
state:
    o1:
        requests:
            - 2026-02-20T15:32:01.123456789+01:00
            - "2026-02-20T09:02:01.5-05:30"
        tokens: []
        day_start: 0001-01-01T00:00:00Z
        day_count: 0
    o3-mini: {}
)");
  EXPECT_EQ(state.at("o1").requests, (std::vector<ModelState::Entry>{{kThen, 1}, {kThen + 376'543'211ns, 1}}));
  EXPECT_EQ(state.at("o1").day_start, WallTime{});
  EXPECT_EQ(state.at("o3-mini"), ModelState{});
}

TEST(QuotaYaml, AnEmptyTextIsAnEmptyState) {
  for (const char* text : {"# nothing\n", "quotas:\nstate:\n", "quotas: {}\nstate: {}\n"})
    EXPECT_EQ(MustRead(text), QuotaState{}) << text;
  EXPECT_EQ(WriteQuotaYaml({}), "quotas: {}\nstate: {}\n");
}

TEST(QuotaYaml, ErrorsNameTheirPosition) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::vector<Case> cases = {
      {"quotas:\n  o1: {max_rpm: -1}\n",
       "quota.yaml:2:17: quotas.o1.max_rpm: found \"-1\", expected a whole number within 0..9.3e+18"},
      {"quotas:\n  o1: {max_rps: 1}\n",
       "quota.yaml:2:8: quotas.o1: found the key \"max_rps\", expected one of max_rpm, max_tpm, max_rpd; did you mean "
       "\"max_rpm\"?"},
      {"version: 2\n",
       "quota.yaml:1:1: found the key \"version\", expected one of quotas, state, stated_by_configuration"},
      {"state:\n  o1:\n    requests: [yesterday]\n",
       "quota.yaml:3:16: state.o1.requests[0]: found \"yesterday\", expected a time such as "
       "2026-02-20T14:32:01.123456789Z"},
      {"state:\n  o1:\n    tokens: [{count: 3}]\n",
       "quota.yaml:3:14: state.o1.tokens[0]: found no key \"time\", expected one"},
      {"state:\n  o1:\n    tokens: [2026-02-20T14:32:01Z]\n",
       "quota.yaml:3:14: state.o1.tokens[0]: found \"2026-02-20T14:32:01Z\", expected a map"},
      {"state:\n  \"a\\x07\": {}\n",
       "quota.yaml:2:12: state.a\\x07: the model's name: has a control character at byte 1"},
  };
  for (const Case& each : cases) {
    const Result<QuotaState> state = ReadQuotaYaml(each.text, "quota.yaml");
    ASSERT_FALSE(state.ok()) << each.text;
    EXPECT_EQ(state.status().message(), each.error);
  }
}

TEST(QuotaYaml, TimesThatThereAreNotAreRefused) {
  for (const char* time : {"2026-02-30T00:00:00Z", "2026-02-20T24:00:00Z", "2026-02-20T00:00:00", "2026-02-20",
                           "2026-02-20T00:00:00.Z", "2026-02-20T00:00:00.1234567890Z", "1066-10-14T09:00:00Z",
                           "2026-02-20T00:00:00+1:00", "2026-02-20T00:00:00ZZ"}) {
    const std::string text = "state: {o1: {requests: ['" + std::string(time) + "']}}";
    EXPECT_FALSE(ReadQuotaYaml(text, "quota.yaml").ok()) << time;
  }
}

// Names as odd as CheckName allows.
rc::Gen<std::string> AnyName() {
  const auto pieces = rc::gen::elementOf(std::vector<std::string>{
      "a",  "7", " ", ":", "#", "\"", "\\", "'",    "{",  "}",    "[", ",",  "&",
      "*",  "!", "|", "%", "@", "-",  "~",  "true", "no", "null", "é", "模", "\xF0\x9F\x98\x80",
      "<<", "?", "=", "."});
  return rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(pieces)),
                      [](const std::vector<std::string>& parts) {
                        std::string name;
                        for (const std::string& part : parts) {
                          if (name.size() + part.size() <= kMaxNameBytes) name += part;
                        }
                        return name;
                      });
}

ModelState AnyModel() {
  const auto amount = [] { return *rc::gen::inRange<int64_t>(1, 5000); };
  const auto entries = [&] {
    std::vector<ModelState::Entry> list;
    WallTime time = kThen;
    for (int left = *rc::gen::inRange(0, 9); left > 0; --left) {
      time += Duration(*rc::gen::inRange<int64_t>(0, 3'000'000'000));
      list.push_back({time, *rc::gen::arbitrary<bool>() ? 1 : amount()});
    }
    return list;
  };
  ModelState state{.requests = entries(), .tokens = entries()};
  if (*rc::gen::arbitrary<bool>()) state.quota = ModelQuota{.max_rpm = amount(), .max_tpm = amount(), .max_rpd = 0};
  if (*rc::gen::arbitrary<bool>()) {
    state.day_start = kThen - 1h;
    state.day_count = amount();
  }
  return state;
}

RC_GTEST_PROP(QuotaYaml, AWrittenStateIsReadBackAndWrittenTheSame, ()) {
  QuotaState state;
  for (int left = *rc::gen::inRange(0, 5); left > 0; --left) {
    ModelState model = AnyModel();
    if (model != ModelState{}) state.emplace(*AnyName(), std::move(model));
  }
  const std::string text = WriteQuotaYaml(state);
  const Result<QuotaState> read = ReadQuotaYaml(text, "quota.yaml");
  RC_ASSERT(read.status().message() == "");
  RC_ASSERT(read.value() == state);
  RC_ASSERT(WriteQuotaYaml(read.value()) == text);
}

TEST(QuotaYaml, TenThousandModelsAreReadBack) {
  QuotaState state;
  for (int i = 0; i < 10'000; ++i) {
    state["model-" + std::to_string(i)] = {.quota = ModelQuota{.max_rpm = i},
                                           .requests = {{kThen, 1}, {kThen + 1s, 1}},
                                           .tokens = {{kThen, 10}, {kThen + 1s, 20}},
                                           .day_start = kThen,
                                           .day_count = 2};
  }
  EXPECT_TRUE(MustRead(WriteQuotaYaml(state)) == state);
}

class YamlStore : public testing::Test {
 protected:
  std::unique_ptr<YamlQuotaStore> Open() { return MustOpenYaml(path_, clock_); }
  std::string ErrorOfOpening() {
    const auto store = YamlQuotaStore::Open(path_, {.persist_every = 0s}, clock_);
    EXPECT_FALSE(store.ok());
    return store.status().message();
  }
  static ChargeAnswer Take(QuotaStore& store, int64_t tokens) {
    return store.Run(Charge{.model = "o1", .mode = Charge::Mode::kTake, .tokens = tokens});
  }

  TempDirectory directory_;
  std::string path_ = directory_ / "quota.yaml";
  ManualWallClock clock_{kThen};
};

TEST_F(YamlStore, AMissingFileIsAnEmptyStateAndItsDirectoryIsMade) {
  path_ = directory_ / "a/b/quota.yaml";
  auto store = Open();
  EXPECT_EQ(store->name(), "yaml:" + path_);
  EXPECT_TRUE(store->Models().value().empty());
  store.reset();
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing changed, nothing is to be written";
  (void)Take(*Open(), 900);
  EXPECT_EQ(TextOf(path_),
            "quotas: {}\nstate:\n  o1:\n    requests: [2026-02-20T14:32:01.123456789Z]\n"
            "    tokens: [{time: 2026-02-20T14:32:01.123456789Z, count: 900}]\n"
            "    day_start: 2026-02-20T14:32:01.123456789Z\n    day_count: 1\n");
}

TEST_F(YamlStore, GoesOnWithThePublishedFileAndWritesItBackTheSame) {
  WriteText(path_, kPublished);
  clock_.Advance(1s);
  const auto store = Open();
  const ChargeAnswer answer = store->Run(Charge{.model = "gemini-3-pro-preview", .requests = 0});
  EXPECT_EQ(answer.usage.rpm, 1);
  EXPECT_EQ(answer.usage.tpm, 1500);
  EXPECT_EQ(answer.usage.rpd, 42);
  ASSERT_TRUE(store->Persist().ok());
  EXPECT_EQ(TextOf(path_), kPublished);
}

// The file does not say that the models have a quota, because that of a profile comes with each charge.
TEST_F(YamlStore, ReadsBackMoreModelsOfAProfileThanMaxModels) {
  const YamlStoreOptions options{.memory = {.max_models = 1}, .persist_every = 0s};
  const auto take = [](QuotaStore& store, std::string_view model, std::optional<ModelQuota> quota) {
    return store.Run(Charge{.model = model, .mode = Charge::Mode::kTake, .default_quota = quota});
  };
  const std::vector<std::string> models = {"gpt-4o", "o1", "o3"};
  for (const int64_t rpm : {1, 2, 3}) {
    const auto store = MustOpenYaml(path_, clock_, options);
    ASSERT_NE(store, nullptr);
    for (const std::string& model : models) EXPECT_EQ(take(*store, model, ModelQuota{.max_rpm = 3}).usage.rpm, rpm);
    EXPECT_TRUE(take(*store, "unknown", {}).fits());
    EXPECT_EQ(take(*store, "another", {}).code, QuotaCode::kTooManyNames);
  }
}

TEST_F(YamlStore, AFileThatCannotBeReadStaysAsItIs) {
  const std::string text = "quotas:\n  o1:\n    max_rpm: many\n";
  WriteText(path_, text);
  EXPECT_EQ(ErrorOfOpening(),
            path_ + ":3:14: quotas.o1.max_rpm: found \"many\", expected a whole number within 0..9.3e+18");
  EXPECT_EQ(TextOf(path_), text);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(ErrorOfOpening(), path_ + ": cannot be read: Is a directory");
}

// The store would overwrite the file, and its quotas would be lost.
TEST_F(YamlStore, AFileOf0BytesIsNoEmptyState) {
  WriteText(path_, "");
  EXPECT_EQ(ErrorOfOpening(), path_ +
                                  ": is empty (0 bytes), it must have been cut off; restore it from a copy, or delete "
                                  "it to begin anew");
  EXPECT_TRUE(std::filesystem::exists(path_));
  std::filesystem::remove(path_);
  EXPECT_NE(Open(), nullptr);
}

TEST_F(YamlStore, ASecondStoreIsToldTheHolderOfTheFile) {
  auto store = Open();
  EXPECT_EQ(ErrorOfOpening(), path_ + " is in use by process " + std::to_string(getpid()) +
                                  "; stop it, name another file, or share a SQLite file (sqlite:PATH)");
  store.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(YamlStore, KeepsTheOriginOfAQuota) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->StateQuota("of a file: yes", {.max_rpm = 5}).ok());
    ASSERT_TRUE(store->SetQuota("by hand", ModelQuota{.max_rpm = 6}).ok());
  }
  EXPECT_EQ(Open()->StatedByConfiguration().value(), std::vector<std::string>{"of a file: yes"});
}

TEST_F(YamlStore, IsWrittenByItselfAfterAChange) {
  const auto store = MustOpenYaml(path_, clock_, {.persist_every = 1ms});
  ASSERT_TRUE(Take(*store, 900).fits());
  EXPECT_TRUE(Eventually([&] { return TextOf(path_).find("count: 900") != std::string::npos; }));
}

TEST_F(YamlStore, IsNotWrittenWithoutAChange) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->SetQuota("gpt-4o", ModelQuota{.max_tpm = 100}).ok());
    ASSERT_TRUE(store->Persist().ok());
    ASSERT_TRUE(std::filesystem::remove(path_));
    const Charge too_large{.model = "gpt-4o", .mode = Charge::Mode::kTake, .tokens = 900};
    EXPECT_FALSE(store->Run(too_large).fits());
    EXPECT_EQ(store->Run(Settlement{.reservation = "x", .tokens = 1}).code, SettlementAnswer::Code::kUnknown);
    EXPECT_FALSE(store->SetQuota("gpt-4o", ModelQuota{.max_tpm = -1}).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(YamlStore, ACounterAtTheEndOf64BitsIsCutDown) {
  WriteText(path_, "quotas:\n  gpt-4o: {max_rpm: 9223372036854775807}\nstate:\n  gpt-4o:\n    day_start: " +
                       FormatTime(clock_.Now()) + "\n    day_count: 9223372036854775807\n");
  const ChargeAnswer answer = Open()->Run(Charge{.model = "gpt-4o", .requests = 0});
  EXPECT_EQ(answer.usage.rpd, kMostAmount);
  EXPECT_EQ(answer.quota, ModelQuota{.max_rpm = kMostAmount});
}

TEST_F(YamlStore, ALinkAndThePermissionsOfTheFileStay) {
  const std::string target = directory_ / "target.yaml";
  WriteText(target, "quotas: {}\n");
  ASSERT_EQ(chmod(target.c_str(), 0600), 0);
  std::filesystem::create_symlink(target, path_);
  (void)Take(*Open(), 900);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_NE(TextOf(target).find("count: 900"), std::string::npos);
  struct stat status {};
  ASSERT_EQ(stat(target.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(YamlStore, OpenReservationsAreWrittenAsUsed) {
  auto store = Open();
  const ChargeAnswer held =
      store->Run(Charge{.model = "o1", .mode = Charge::Mode::kHold, .tokens = 70, .hold_for = 10s});
  ASSERT_TRUE(held.fits());
  store.reset();
  store = Open();
  for (const Settlement& end :
       {Settlement{.reservation = held.reservation, .tokens = 50}, Settlement{.reservation = held.reservation},
        Settlement{.reservation = held.reservation, .extend = 60s}})
    EXPECT_EQ(store->Run(end).code, SettlementAnswer::Code::kUnknown);
  EXPECT_EQ(store->Run(Charge{.model = "o1", .requests = 0}).usage.tpm, 70);
}

// The file was written before their deadline, and counts them as used.
TEST_F(YamlStore, ExpiredReservationsDoNotCountAfterACleanRestart) {
  constexpr int kHeld = 2500;  // more than one call gives back
  const ModelQuota quota{.max_rpd = kHeld};
  for (const bool somebody_looked : {true, false}) {
    auto store = Open();
    for (int i = 0; i < kHeld; ++i)
      ASSERT_TRUE(
          store->Run(Charge{.model = "o1", .mode = Charge::Mode::kHold, .default_quota = quota, .hold_for = 10s})
              .fits());
    ASSERT_TRUE(store->Persist().ok());
    clock_.Advance(10s);
    for (int i = 0; somebody_looked && i < 3; ++i) (void)store->Run(Charge{.model = "o1"});
    store.reset();
    EXPECT_EQ(Open()->Run(Charge{.model = "o1", .requests = 0}).usage, ModelUsage{}) << somebody_looked;
  }
}

// Persists while files may not grow beyond some bytes, as on a full disk. Returns 0 if all checks hold.
int PersistWithoutRoom(YamlQuotaStore& store, const std::string& path) {
  const std::string before = TextOf(path);
  std::optional<FileSizeLimit> full_disk(10);
  const Status status = store.Persist();
  const std::string expected =
      path + ": cannot be written: File too large; the file from before stands, and writing is tried again";
  const bool told = status.message() == expected && store.Health().problem == expected;
  const bool stands = TextOf(path) == before && !std::filesystem::exists(path + ".new");
  full_disk.reset();
  const bool later = store.Persist().ok() && store.Health().problem.empty() && TextOf(path) != before;
  std::fprintf(stderr, "told %d stands %d later %d: %s\n", told, stands, later, status.message().c_str());
  return told && stands && later ? 0 : 1;
}

TEST_F(YamlStore, WithoutRoomTheFormerFileStandsAndIsReplacedLater) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto store = Open();
        (void)Take(*store, 900);
        (void)store->Persist();
        (void)Take(*store, 70);
        std::_Exit(PersistWithoutRoom(*store, path_));
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir
