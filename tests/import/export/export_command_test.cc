// `weir export` as a user calls it: flags, files, exit codes, and what it says.
#include "import/export/export_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "config/clock.h"
#include "config/text/readable.h"
#include "import/export/exporter.h"
#include "import/run/import_command.h"
#include "relay/store/store_compare.h"
#include "tests/fixtures/called_command.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class ExportCommandTest : public testing::Test {
 protected:
  // Ten notes a day from 2026-01-28 on, at noon.
  static constexpr uint64_t kNoon = 1769601600;
  static constexpr uint64_t kDay = 86'400;

  ExportCommandTest() {
    std::filesystem::create_directory(data_dir());
    const auto store = MustOpen(SmallStore(data_dir() + "/events"));
    for (uint64_t i = 0; i < 60; ++i) {
      // Later events have earlier dates.
      events_.push_back(Plain(Author(i % 3), kNoon + (5 - i / 10) * kDay, i % 2 == 0 ? 1 : 7, {}, std::to_string(i)));
    }
    SaveAll(*store, events_);
  }

  std::string data_dir() const { return directory_ / "data"; }

  Ran Export(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"weir export", "--data-dir", data_dir()});
    return CallCommand(ExportCommand, std::move(arguments));
  }

  // Returns the lines of the wanted events, in this order.
  std::string Lines(const std::function<bool(const PlainEvent&)>& wanted, ExportOrder order = ExportOrder::kArrival) {
    std::vector<PlainEvent> events = events_;
    if (order != ExportOrder::kArrival) {
      std::ranges::sort(events, [](const PlainEvent& a, const PlainEvent& b) {
        return a.created_at != b.created_at ? a.created_at > b.created_at : a.id < b.id;
      });
    }
    if (order == ExportOrder::kOldest) std::ranges::reverse(events);
    std::string lines;
    for (const PlainEvent& event : events)
      if (wanted(event)) lines += std::string(ToEvent(event).view().json()) + "\n";
    return lines;
  }
  static bool All(const PlainEvent&) { return true; }

  TempDirectory directory_;
  std::vector<PlainEvent> events_;
};

TEST_F(ExportCommandTest, WritesEverythingToStandardOutput) {
  const Ran run = Export({});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, Lines(All));
  EXPECT_EQ(run.err, "exported 60 events, " + ReadableBytes(run.out.size()) +
                         "; a later export goes on with --since-serial 60\n");
}

TEST_F(ExportCommandTest, TakesFiltersTimesAndOrders) {
  const struct {
    std::vector<std::string> arguments;
    std::function<bool(const PlainEvent&)> wanted;
    ExportOrder order = ExportOrder::kArrival;
  } kCases[] = {
      {{"--order", "newest"}, All, ExportOrder::kNewest},
      {{"--order", "oldest"}, All, ExportOrder::kOldest},
      {{"--order=arrival"}, All},
      {{"--filter", R"({"kinds":[1]})"}, [](const PlainEvent& e) { return e.kind == 1; }},
      {{"--filter", R"({"kinds":[1]})", "--filter", R"({"kinds":[7],"since":1769947200})"},
       [](const PlainEvent& e) { return e.kind == 1 || e.created_at >= 1769947200; }},
      {{"--since", "2026-01-30", "--until", "2026-01-31", "--order", "oldest"},
       [](const PlainEvent& e) { return e.created_at == kNoon + 2 * kDay || e.created_at == kNoon + 3 * kDay; },
       ExportOrder::kOldest},
      {{"--since", "2026-02-02T12:00:01Z"}, [](const PlainEvent&) { return false; }},
      {{"--until", std::to_string(kNoon)}, [](const PlainEvent& e) { return e.created_at == kNoon; }},
  };
  for (const auto& [arguments, wanted, order] : kCases) {
    const Ran run = Export(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out, Lines(wanted, order)) << testing::PrintToString(arguments);
  }
  const Ran limited = Export({"--order", "newest", "--filter", R"({"limit":3})"});
  EXPECT_EQ(std::ranges::count(limited.out, '\n'), 3);
}

TEST_F(ExportCommandTest, WritesAFileWhenItIsWhole) {
  const std::string path = directory_ / "all.jsonl";
  const Ran run = Export({"-o", path, "--quiet"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(TextOf(path), Lines(All));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST_F(ExportCommandTest, LeavesNoFileWhereTheDiskIsFull) {
  const std::string path = directory_ / "all.jsonl";
  // No FileSizeLimit: the command itself must ignore SIGXFSZ.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{1000, before.rlim_max};
  // The captures of both streams write less than this.
  setrlimit(RLIMIT_FSIZE, &little);
  const Ran run = Export({"-o", path});
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "weir export: cannot write " + path + ".part: File too large\n");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  const Ran full = Export({"-o", "/dev/full"});
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.err, "weir export: cannot write /dev/full: No space left on device\n");
}

TEST_F(ExportCommandTest, FailsWhereTheOutputCannotBeMade) {
  const Ran run = Export({"-o", "/nowhere/a.jsonl"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "weir export: cannot write /nowhere/a.jsonl.part: No such file or directory\n");
}

TEST_F(ExportCommandTest, IsSilentWhenItsReaderHasGone) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const int before = dup(STDOUT_FILENO);
  testing::internal::CaptureStderr();
  ASSERT_GE(dup2(ends[1], STDOUT_FILENO), 0);
  std::string arguments[] = {"weir export", "--data-dir", data_dir()};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  const int code = ExportCommand(3, argv);
  dup2(before, STDOUT_FILENO);
  close(before);
  close(ends[1]);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(code, 1);
}

TEST_F(ExportCommandTest, RefusesWrongArgumentsWithAReason) {
  const struct {
    std::vector<std::string> arguments;
    std::string_view error;
  } kCases[] = {
      {{"--filter", "{"}, "the filter { is wrong"},
      {{"--filter", R"({"kinds":[1],"limit":5})"}, "it needs the order newest"},
      {{"--order", "random"}, "--order: no order \"random\""},
      {{"--since", "soon"}, "--since: \"soon\" is no moment"},
      {{"--until", "2026-02-30"}, "--until: \"2026-02-30\" is no moment"},
      {{"--since", "2026-02-01", "--until", "2026-01-01"}, "since is after until"},
      {{"--colour"}, "--colour"},
      {{"all"}, "all"},
  };
  for (const auto& [arguments, error] : kCases) {
    const Ran run = Export(arguments);
    EXPECT_EQ(run.code, 2) << testing::PrintToString(arguments);
    EXPECT_NE(run.err.find(error), std::string::npos) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST_F(ExportCommandTest, HelpsWithExamples) {
  const Ran run = Export({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.out.find("Examples:"), std::string::npos);
}

void MustRun(int (*command)(int, char**), std::vector<std::string> words) {
  const Ran ran = CallCommand(command, std::move(words));
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

// The databases have deletions and replaced events. In the order of arrival: a mark of deletion depends on what came
// first.
TEST(ExportCommand, ExportThenImportIsTheSameDatabase) {
  for (const auto& [seed, name] :
       {std::pair(1, "all.jsonl"), std::pair(2, "all.jsonl.gz"), std::pair(3, "all.jsonl.zst")}) {
    SCOPED_TRACE(name);
    const TempDirectory directory;
    const std::string from = directory / "from";
    const std::string to = directory / "to";
    std::filesystem::create_directory(from);
    const auto open = [](const std::string& data_dir) {
      StoreOptions options = SmallStore(data_dir + "/events");
      options.own_urls.clear();
      return MustOpen(options);
    };
    const uint64_t now = WallClock::System().NowSeconds();
    std::vector<PlainEvent> events = RandomNostr(static_cast<uint64_t>(seed), 400).events();
    std::map<std::string, std::string> author_of;
    for (const PlainEvent& event : events) author_of[event.id] = event.pubkey;
    // No relay takes events of the future. An author who vanishes takes along his deletions, whose marks stay; and
    // whether a stranger's request leaves a mark depends on whether its target, replaced since, was there.
    std::erase_if(events, [&](const PlainEvent& event) {
      const bool of_a_stranger = std::ranges::any_of(event.tags, [&](const Tag& tag) {
        return tag.size() > 1 && author_of.contains(tag[1]) && author_of[tag[1]] != event.pubkey;
      });
      return event.created_at > now || event.kind == 62 || (event.kind == 5 && of_a_stranger);
    });
    SaveAll(*open(from), events, now);
    const std::string file = directory / name;
    MustRun(ExportCommand, {"weir export", "--data-dir", from, "-o", file});
    MustRun(ImportCommand, {"weir import", "--quiet", "--no-verify", "--data-dir", to, file});
    const auto first = open(from);
    const auto second = open(to);
    const Result<CheckReport> report = CompareStores(*first, *second);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(report.value().clean()) << ToText(report.value());
    EXPECT_GT(report.value().events, 50u);
  }
}

TEST(ExportCommand, NeedsADatabase) {
  const TempDirectory directory;
  const Ran run =
      CallCommand(ExportCommand, {"weir export", "--data-dir", directory / "none", "-o", directory / "a.jsonl"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find(directory / "none"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Increments of a store, one after the other, are together what an export of all has.
TEST_F(ExportCommandTest, GoesOnWhereAnEarlierExportEnded) {
  const std::string at = directory_ / "at";
  const Ran first = Export({"--since-serial", "0", "--serial-to", at});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, Export({}).out);
  EXPECT_EQ(TextOf(at), "60\n");
  EXPECT_TRUE(first.err.ends_with("; a later export goes on with --since-serial 60\n")) << first.err;
  EXPECT_EQ(Export({"--since-serial", "60", "--serial-to", at}).out, "") << "nothing is new";
  EXPECT_EQ(TextOf(at), "60\n");

  const PlainEvent late = Plain(Author(1), kNoon - 100 * kDay, 1, {}, "old, but saved last");
  SaveAll(*MustOpen(SmallStore(data_dir() + "/events")), {late});
  const Ran second = Export({"--since-serial", "60", "--serial-to", at});
  EXPECT_EQ(second.out, JsonOf(late) + "\n");
  EXPECT_EQ(TextOf(at), "61\n");
}

TEST_F(ExportCommandTest, SaysWhyItCannotGoOn) {
  const struct {
    std::vector<std::string> arguments;
    int code;
    std::string error;
  } cases[] = {
      {{"--since-serial", "sixty"}, 2, "--since-serial: \"sixty\" is no number that an export has printed"},
      {{"--since-serial", "61"}, 2, "--since-serial 61 is beyond the last event of this store, 60"},
      {{"--since-serial", "5", "--order", "newest"}, 2, "it needs the order arrival"},
      {{"--serial-to", directory_ / "at", "--order", "oldest"}, 2, "--serial-to needs --order arrival"},
      {{"--serial-to", directory_ / "none/at"}, 1, "none/at: No such file or directory"},
  };
  for (const auto& c : cases) {
    const Ran ran = Export(c.arguments);
    EXPECT_EQ(ran.code, c.code) << ran.err;
    EXPECT_NE(ran.err.find(c.error), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace weir
