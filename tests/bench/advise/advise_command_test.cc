#include "bench/advise/advise_command.h"

#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "bench/advise/database_files.h"
#include "tests/bench/advise/storm_log.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

constexpr std::string_view kOptionsFile = R"([Version]
  rocksdb_version=9.7.4
[DBOptions]
  max_background_jobs=6
[CFOptions "default"]
  write_buffer_size=33554432
  level0_slowdown_writes_trigger=9
)";

struct Advised {
  int code;
  std::string out;
  std::string err;
};

Advised Advise(std::vector<std::string> words) {
  words.insert(words.begin(), "weir advise");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::ostringstream out;
  std::ostringstream err;
  const int code = AdviseCommand(static_cast<int>(argv.size()), argv.data(), out, err);
  return {code, out.str(), err.str()};
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(AdviseCommand, TellsPeopleWhatStalledAndWhatToSet) {
  const TempDirectory db;
  WriteText(db / "LOG", StormLog(7).text());
  const Advised advised = Advise({db.path()});
  EXPECT_EQ(advised.code, 0) << advised.err;
  for (const char* part :
       {"RocksDB 7.8.3, 2026-04-01 08:04:05 to 2026-04-01 08:06:15, 2 min 10 s logged", "stalled    18 s of 2 min 10 s",
        "[default] L0 files: delayed 1 time, for up to 18 s", "[default] L0 files: stopped 1 time, for up to 5 s",
        "[default] memtables: stopped 1 time, for up to 3 s",
        "[default] pending compaction bytes: delayed 1 time, for up to 4 s", "longest    2026-04-01 08:04:27",
        "background [default] 32.0 MB flushed", "set        [default] max_write_buffer_number from 3 to 5. ",
        "max_background_jobs from 3 to 4", "with weir  [default] ", "simulated  "})
    EXPECT_TRUE(Has(advised.out, part)) << part << "\n" << advised.out;
}

TEST(AdviseCommand, TellsProgramsTheSame) {
  const TempDirectory db;
  WriteText(db / "LOG", StormLog(11).text());
  const Advised advised = Advise({"--json", db.path()});
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(advised.out).get(json), simdjson::SUCCESS) << advised.out;
  const auto database = json["databases"].at(0);
  EXPECT_EQ(database["stalled_seconds"].get_double().value(), 17.5);
  EXPECT_EQ(database["source"].get_string().value(), "both");
  EXPECT_EQ(database["families"].at(0)["stalls"].get_array().value().size(), 4U);
  EXPECT_EQ(database["simulated"]["fits"].is_bool(), true);
  EXPECT_GT(database["advice"].get_array().value().size(), 2U);
}

TEST(AdviseCommand, DrawsAPicture) {
  const TempDirectory db;
  WriteText(db / "LOG", StormLog(8).text());
  const Advised advised = Advise({db.path(), "--plot", db / "a.svg"});
  EXPECT_EQ(advised.code, 0) << advised.err;
  const std::string svg = TextOf(db / "a.svg");
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* part : {"polyline", "level0_slowdown_writes_trigger", "simulated files in L0 of [default]"})
    EXPECT_TRUE(Has(svg, part)) << part;
  EXPECT_EQ(Advise({db.path(), "--plot", db / "none/a.svg"}).code, 1);
}

TEST(AdviseCommand, ReadsRolledLogsInTheOrderOfTime) {
  const TempDirectory db;
  const std::string text = StormLog(7).text();
  const size_t third = text.find('\n', text.size() / 3) + 1;
  const size_t half = text.find('\n', text.size() / 2) + 1;
  WriteText(db / "LOG.old.1700000000000009", text.substr(0, third));
  WriteText(db / "LOG.old.1700000000000010", text.substr(third, half - third));
  WriteText(db / "LOG", text.substr(half));
  const TempDirectory whole;
  WriteText(whole / "LOG", text);
  const auto figures = [](const Advised& advised) { return advised.out.substr(advised.out.find("RocksDB 7")); };
  EXPECT_EQ(figures(Advise({db.path()})), figures(Advise({whole.path()})));
}

TEST(AdviseCommand, TakesOptionsWithoutALogAndTheReverse) {
  const TempDirectory db;
  WriteText(db / "OPTIONS-000005", "nonsense");
  WriteText(db / "OPTIONS-000123", std::string(kOptionsFile));
  const Advised options = Advise({db.path()});
  EXPECT_EQ(options.code, 0) << options.err;
  EXPECT_TRUE(Has(options.out, "RocksDB 9.7.4, no LOG")) << options.out;
  EXPECT_TRUE(Has(options.out, "[default] level0_slowdown_writes_trigger from 9 to 19")) << options.out;
  // A LOG without its head has the options of the file.
  SampleLog log(9);
  log.At(0).Stall("Stalling writes because we have 9 level-0 files rate 1").At(30).Line("[x] the end");
  WriteText(db / "LOG", log.text());
  const Advised both = Advise({db / "LOG", db / "OPTIONS-000123"});
  EXPECT_TRUE(Has(both.out, "leave [default] level0_slowdown_writes_trigger at 9")) << both.out;
  EXPECT_EQ(Advise({db / "OPTIONS-000005"}).code, 1);
}

TEST(AdviseCommand, TakesSeveralDatabasesAndGoesOnAfterABadOne) {
  const TempDirectory logs;
  WriteText(logs / "var_lib_a_LOG", StormLog(7).text());
  WriteText(logs / "var_lib_b_LOG.old.17", StormLog(6).text());
  const TempDirectory other;
  WriteText(other / "LOG", std::string("\x7f"
                                       "ELF\0\0\0 text\nmore\n",
                                       18));
  const Advised advised = Advise({logs.path(), other.path(), "--json"});
  EXPECT_EQ(advised.code, 1);
  EXPECT_TRUE(Has(advised.err, "is no LOG of RocksDB: it is a binary file")) << advised.err;
  simdjson::dom::parser parser;
  ASSERT_EQ(parser.parse(advised.out)["databases"].get_array().value().size(), 2U) << advised.out;
}

TEST(AdviseCommand, SaysWhatIsWrong) {
  const TempDirectory directory;
  WriteText(directory / "text", "hello\nworld\n");
  WriteText(directory / "packed", std::string("\x1f\x8b\x08 \n x\n"));
  WriteText(directory / "empty", "");
  EXPECT_TRUE(Has(Advise({directory.path()}).err, "has no LOG and no OPTIONS-NNNNNN"));
  EXPECT_TRUE(Has(Advise({directory / "missing"}).err, "missing: "));
  EXPECT_TRUE(Has(Advise({directory / "text"}).err, "no line begins with a time"));
  EXPECT_TRUE(Has(Advise({directory / "packed"}).err, "is compressed"));
  EXPECT_EQ(Advise({directory / "empty"}).code, 0);
  EXPECT_TRUE(Has(Advise({directory / "empty"}).out, "is empty"));
  EXPECT_EQ(Advise({}).code, 2);
}

TEST(AdviseCommand, ReadsStandardInput) {
  const TempDirectory directory;
  WriteText(directory / "log", StormLog(7).text() + std::string("2026/04/01-0"));
  const int before = dup(STDIN_FILENO);
  ASSERT_NE(freopen((directory / "log").c_str(), "r", stdin), nullptr);
  lseek(STDIN_FILENO, 0, SEEK_SET);
  const Advised advised = Advise({"-"});
  dup2(before, STDIN_FILENO);
  close(before);
  EXPECT_TRUE(Has(advised.out, "-: RocksDB 7.8.3")) << advised.out << advised.err;
}

}  // namespace
}  // namespace weir
