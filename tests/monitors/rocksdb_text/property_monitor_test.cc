#include "monitors/rocksdb_text/property_monitor.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/fixtures/has_text.h"
#include "tests/monitors/rocksdb_monitor_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

class PropertyMonitorTest : public RocksDbMonitorTest {
 protected:
  bool Read(const std::string& family, const std::string& property, std::string* text) {
    ++calls_;
    if (const auto planted = planted_.find(property); planted != planted_.end()) {
      if (planted->second == "throw") throw std::runtime_error("the reader fails");
      *text = planted->second;
      return *text != "none";
    }
    for (auto* handle : test_.handles())
      if (handle->GetName() == family && family != dropped_) return test_.db()->GetProperty(handle, property, text);
    return false;
  }
  PropertyReader Reader() {
    return [this](const std::string& family, const char* property, std::string* text) {
      return Read(family, property, text);
    };
  }
  PropertyMonitorSettings Settings() {
    PropertyMonitorSettings settings;
    settings.memory_target_bytes = kTarget;
    settings.options = [this] { return ReadNewestOptions(test_.path()); };
    settings.on_event = [this](const std::string& event) { events_.push_back(event); };
    return settings;
  }
  // RocksDB would empty L0, and does not brake while it does not compact.
  PropertyMonitorSettings SettingsAsIfCompacting() {
    PropertyMonitorSettings settings = Settings();
    settings.options = [this] {
      Result<OptionsText> options = ReadNewestOptions(test_.path());
      if (options.ok()) options.value().families[0].options.disable_auto_compactions = false;
      return options;
    };
    return settings;
  }
  std::unique_ptr<PropertyMonitor> Attach(const PropertyMonitorSettings& settings) {
    auto monitor = PropertyMonitor::Attach(Reader(), settings, clock_);
    EXPECT_TRUE(monitor.ok()) << monitor.status().message();
    return monitor.ok() ? std::move(monitor).value() : nullptr;
  }

  std::map<std::string, std::string> planted_;  // by property: what the reader answers; "none" for no answer, "throw"
  std::string dropped_;                         // a family that does not answer any more
  int calls_ = 0;
  std::vector<std::string> events_;
};

// With compactions switched off, both monitors see the same files.
TEST_F(PropertyMonitorTest, HasTheSignalsOfAMonitorThatCallsTheDatabase) {
  for (const auto style : {rocksdb::kCompactionStyleLevel, rocksdb::kCompactionStyleUniversal}) {
    rocksdb::Options options = WithoutCompactions();
    options.compaction_style = style;
    options.write_buffer_size = 2 << 20;  // the texts are rounded, so the bytes must be many
    test_.Open(options);
    rocksdb::Options compacting = options;
    compacting.disable_auto_compactions = false;
    RocksDbMonitor direct(test_.db(), {}, WithGeometryOf(compacting, {"default"}), {}, clock_);
    const auto by_texts = Attach(SettingsAsIfCompacting());
    ASSERT_NE(by_texts, nullptr);
    ASSERT_TRUE(direct.SampleOnce().ok());
    for (int files = 0; files < 10; ++files) {
      test_.Write(1600 << 10);
      ASSERT_TRUE(test_.db()->Flush({}).ok());
      const LoadSample wanted = Sense(direct, seconds(1)), sample = Sense(*by_texts, Duration::zero());
      for (const char* name : {"memtables", "l0", "debt"}) {
        ASSERT_NE(sample.Find(name), nullptr) << name;
        EXPECT_NEAR(sample.LevelOf(name), wanted.LevelOf(name), 0.05) << name << " with " << files << " files";
      }
      EXPECT_EQ(sample.write_burst_bytes, wanted.write_burst_bytes);
    }
    EXPECT_GT(by_texts->Sample().LevelOf("l0"), 0.3) << "the test shows something";
    test_.Close();
  }
}

TEST_F(PropertyMonitorTest, FollowsOptionsThatChange) {
  test_.Open(WithoutCompactions());
  const auto monitor = Attach(SettingsAsIfCompacting());
  ASSERT_TRUE(test_.db()->SetOptions({{"level0_slowdown_writes_trigger", "6"}}).ok());
  for (int files = 0; files < 7; ++files) test_.WriteFile();
  const double before = Sense(*monitor).LevelOf("l0");
  EXPECT_GT(Sense(*monitor, seconds(10)).LevelOf("l0"), 2 * before) << "fewer files are the level 1.0 now";
  std::filesystem::remove_all(test_.path());
  EXPECT_GT(Sense(*monitor, seconds(10)).LevelOf("l0"), 2 * before) << "options that are gone stay as they were";
}

TEST_F(PropertyMonitorTest, MovesTheBrakesUntilTheProgramSetsThem) {
  test_.Open(SmallEngine());
  PropertyMonitorSettings settings = Settings();
  settings.set_options = [this](const std::string&, const OptionValues& values) {
    return test_.db()->SetOptions({values.begin(), values.end()}).ok();
  };
  const auto slowdown = [this] { return test_.db()->GetOptions().level0_slowdown_writes_trigger; };
  const auto monitor = Attach(settings);
  EXPECT_EQ(slowdown(), 12);
  ASSERT_TRUE(monitor->MoveBrakes().ok());
  EXPECT_EQ(slowdown(), 28);
  Sense(*monitor, seconds(10));  // reads the options again, and knows its own
  ASSERT_TRUE(monitor->GiveBrakesBack().ok());
  EXPECT_EQ(slowdown(), 12);
  const auto stop = [this] { return test_.db()->GetOptions().level0_stop_writes_trigger; };
  for (const bool is_noticed : {false, true}) {
    ASSERT_TRUE(monitor->MoveBrakes().ok());
    ASSERT_TRUE(test_.db()->SetOptions({{"level0_slowdown_writes_trigger", "17"}}).ok());
    if (is_noticed) Sense(*monitor, seconds(10));
    ASSERT_TRUE(monitor->GiveBrakesBack().ok());
    EXPECT_EQ(slowdown(), 17) << "the program has set it since";
    EXPECT_EQ(stop(), 20) << "and has not set this one";
    ASSERT_TRUE(test_.db()->SetOptions({{"level0_slowdown_writes_trigger", "12"}}).ok());
  }
  ASSERT_TRUE(monitor->MoveBrakes().ok());
  ASSERT_TRUE(test_.db()->SetOptions({{"level0_file_num_compaction_trigger", "8"}}).ok());
  Sense(*monitor, seconds(10));
  Sense(*monitor, seconds(10));
  ASSERT_TRUE(monitor->GiveBrakesBack().ok());
  EXPECT_EQ(slowdown(), 12) << "another trigger moves no brake";
}

TEST_F(PropertyMonitorTest, GoesOnWithoutAFamilyThatIsDropped) {
  test_.Open(SmallEngine(), {"tags"});
  PropertyMonitorSettings settings = Settings();
  settings.families = {"default", "tags"};
  const auto monitor = Attach(settings);
  ASSERT_TRUE(test_.db()->DropColumnFamily(test_.handles()[1]).ok());
  dropped_ = "tags";
  clock_.Advance(seconds(1));
  EXPECT_FALSE(monitor->SampleOnce().ok()) << "it does not answer";
  Sense(*monitor, seconds(1));
  Sense(*monitor, seconds(10));
}

TEST_F(PropertyMonitorTest, WatchesTheFamiliesThatAreNamed) {
  test_.Open(SmallEngine(), {"tags", "other"});
  PropertyMonitorSettings settings = Settings();
  settings.families = {"default", "tags"};
  const auto monitor = Attach(settings);
  ASSERT_TRUE(test_.db()->PauseBackgroundWork().ok());
  const double before = Sense(*monitor).LevelOf("memtables");
  test_.Write(600 << 10, 2);
  EXPECT_EQ(Sense(*monitor).LevelOf("memtables"), before) << "that of a family that is not watched";
  test_.Write(600 << 10, 1);
  EXPECT_GT(Sense(*monitor).LevelOf("memtables"), before);
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

TEST_F(PropertyMonitorTest, TellsOfABrakeOfRocksDbs) {
  test_.Open(SmallEngine());
  const auto monitor = Attach(Settings());
  Sense(*monitor);
  EXPECT_TRUE(events_.empty());
  WriteUntilRocksDbBrakes();
  EXPECT_EQ(Sense(*monitor).escapes, 1U);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_TRUE(Has(events_[0], "RocksDB slows down writes by itself although they are limited"));
  ASSERT_TRUE(test_.db()->ContinueBackgroundWork().ok());
}

TEST_F(PropertyMonitorTest, AReaderThatFailsMakesTheSampleFail) {
  test_.Open(SmallEngine());
  const auto monitor = Attach(Settings());
  const auto error_with = [&](const std::string& property, const std::string& answer) {
    planted_ = {{property, answer}};
    clock_.Advance(seconds(1));
    const Status sampled = monitor->SampleOnce();
    planted_.clear();
    return sampled.message();
  };
  EXPECT_TRUE(Has(error_with("rocksdb.num-files-at-level0", "none"), "does not answer rocksdb.num-files-at-level0"));
  EXPECT_TRUE(Has(error_with("rocksdb.compaction-pending", "soon"), "is \"soon\", not a number of bytes or files"));
  EXPECT_TRUE(Has(error_with("rocksdb.num-running-flushes", "-1"), "is \"-1\", not a number of bytes or files"));
  EXPECT_FALSE(error_with("rocksdb.is-write-stopped", "throw").empty());
  EXPECT_EQ(error_with("rocksdb.base-level", "99"), "") << "a level that does not exist has nothing";
  EXPECT_EQ(error_with("rocksdb.cfstats", std::string(100000, '\xff')), "") << "counters that are missing are 0";
  Sense(*monitor);
}

TEST_F(PropertyMonitorTest, CallsNothingAfterDetach) {
  test_.Open(SmallEngine());
  const auto monitor = Attach(Settings());
  monitor->Detach();
  monitor->Detach();
  test_.Close();
  const int before = calls_;
  clock_.Advance(seconds(20));
  EXPECT_EQ(monitor->SampleOnce().message(), "detached");
  EXPECT_EQ(calls_, before);
}

TEST_F(PropertyMonitorTest, RefusesWhatItCannotMeasure) {
  rocksdb::Options options = SmallEngine();
  options.compaction_style = rocksdb::kCompactionStyleNone;
  test_.Open(options);
  const auto error_of = [&](const PropertyReader& reader, const PropertyMonitorSettings& settings) {
    return PropertyMonitor::Attach(reader, settings, clock_).status().message();
  };
  EXPECT_TRUE(Has(error_of(Reader(), Settings()), "has no compaction"));
  EXPECT_TRUE(Has(error_of(nullptr, Settings()), "is missing"));
  PropertyMonitorSettings settings = Settings();
  settings.options = nullptr;
  EXPECT_TRUE(Has(error_of(Reader(), settings), "is missing"));
  settings = Settings();
  settings.options = [] { return Result<OptionsText>(Status::Error("no options today")); };
  EXPECT_EQ(error_of(Reader(), settings), "no options today");
  settings = Settings();
  settings.families = {"more"};
  EXPECT_TRUE(Has(error_of(Reader(), settings), "have no column family more"));
  settings.families.clear();
  EXPECT_TRUE(Has(error_of(Reader(), settings), "no column family is named"));
  settings = Settings();
  settings.memory_target_bytes = 0;
  EXPECT_TRUE(Has(error_of(Reader(), settings), "memory target"));
  settings = Settings();
  settings.monitor.sample_interval = std::chrono::milliseconds(0);
  EXPECT_TRUE(Has(error_of(Reader(), settings), "sample_interval"));
}

}  // namespace
}  // namespace weir
