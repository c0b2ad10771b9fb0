// `weir import` as a user calls it: files, flags, exit codes, what it says and what is stored afterwards.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "import/serve/import_service.h"
#include "relay/relay.h"
#include "tests/fixtures/model_store.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/import/run/import_fixture.h"

namespace weir {
namespace {

class ImportCommandTest : public ImportFixture {
 protected:
  std::string Forged(uint64_t number) const {
    std::string note = Note(number);
    char& digit = note[note.find("\"sig\":\"") + 10];
    digit = digit == '0' ? '1' : '0';
    return note;
  }
};

uint64_t Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

size_t LinesOf(const std::string& text) { return static_cast<size_t>(std::ranges::count(text, '\n')); }

TEST_F(ImportCommandTest, StoresTheSameEventsAsTheReference) {
  for (const uint64_t seed : {1, 2, 3}) {
    RandomNostr random(seed, 3000);
    ModelStore model({RandomNostr::kOwnUrl});
    std::string lines;
    for (size_t i = 0; i < 5000; ++i) {
      const PlainEvent& event = random.Around(static_cast<double>(i) / 5000);
      if (event.created_at > Now()) continue;  // no relay takes these
      model.Save(event, Now());
      lines += JsonOf(event) + "\n";
    }
    WriteText(file("events.jsonl"), lines);
    const std::string data = "data" + std::to_string(seed);
    const Ran run =
        ImportChild({"--data-dir", data_dir(data), "--no-verify", "--summary=json", file("events.jsonl")},
                    ImportChild::Input::kNone, {{kImportChild, "1"}, {"WEIR_RELAY_URL", RandomNostr::kOwnUrl}})
            .Wait();
    ASSERT_EQ(run.code, 0) << run.err << run.out;
    EXPECT_EQ(Count(Summary(run), "read"), LinesOf(lines));
    std::map<std::string, std::string> expected;
    for (const PlainEvent& event : model.events()) expected[event.id] = JsonOf(event);
    EXPECT_EQ(Stored(data), expected) << "seed " << seed;
    EXPECT_FALSE(HasCheckpoint(data));
    EXPECT_FALSE(std::filesystem::exists(rejects(data)));
  }
}

TEST_F(ImportCommandTest, RealEventsAreTakenAndASecondTimeAddsNothing) {
  const std::string real = std::string(WEIR_SOURCE_DIR) + "/tests/relay/nostr/data/real_events.jsonl";
  const size_t lines = LinesOf(TextOf(real));
  const Ran first = Import({"--summary=json", real});
  ASSERT_EQ(first.code, 0) << first.err << first.out;
  const uint64_t imported = Count(Summary(first), "imported");
  EXPECT_GT(imported, 0U);
  const auto stored = Stored();
  EXPECT_LE(stored.size(), imported);

  const Ran second = Import({"--summary=json", real});
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(Count(Summary(second), "imported"), 0U);
  EXPECT_EQ(Count(Summary(second), "read"), lines);
  EXPECT_EQ(Stored(), stored);
}

TEST_F(ImportCommandTest, BadLinesGoToTheRejectsFileAndTheRestIsStored) {
  const std::string forged = Forged(3);
  const std::string future = signer_.SignedEvent(Now() + 100'000, 1, "[]", "tomorrow");
  const std::string ephemeral = signer_.SignedEvent(Now(), 20'001, "[]", "");
  const std::string too_long = "{\"content\":\"" + std::string(400'000, 'x') + "\"}";
  WriteText(file("mixed.jsonl"), "\xef\xbb\xbf" + Note(1) + "\r\n\nnot json\n" + forged + "\n" + future + "\n" +
                                     ephemeral + "\n" + too_long + "\n" + std::string("\0\n", 2) + Note(2));
  const Ran run = Import({"--summary=json", file("mixed.jsonl")});
  EXPECT_EQ(run.code, 1) << run.err;
  const auto summary = Summary(run);
  for (const auto& [key, count] : {std::pair("read", 9),
                                   {"imported", 2},
                                   {"blank", 1},
                                   {"rejected", 6},
                                   {"invalid", 2},
                                   {"bad_signature", 1},
                                   {"future", 1},
                                   {"not_stored", 1},
                                   {"too_long", 1}})
    EXPECT_EQ(Count(summary, key), static_cast<uint64_t>(count)) << key;
  EXPECT_EQ(Stored().size(), 2U);

  const std::string text = TextOf(rejects());
  EXPECT_EQ(LinesOf(text), 6U);
  for (const auto& [line, bytes] : std::vector<std::pair<int, std::string>>{
           {3, "not json"}, {4, forged}, {5, future}, {6, ephemeral}, {7, too_long}, {8, std::string(1, '\0')}}) {
    const std::string head = file("mixed.jsonl") + ":" + std::to_string(line) + "\t";
    const size_t begin = text.find(head);
    ASSERT_NE(begin, text.npos) << head;
    const size_t reason_end = text.find('\t', begin + head.size());
    EXPECT_GT(reason_end, begin + head.size());
    EXPECT_EQ(text.substr(reason_end + 1, bytes.size() + 1), bytes + "\n");
  }
  EXPECT_EQ(std::string_view(summary["rejects"]), rejects());
}

TEST_F(ImportCommandTest, NoVerifyIsSaidAndTakesForgedEvents) {
  const std::string forged = Forged(3);
  WriteText(file("forged.jsonl"), forged + "\n");
  const Ran run = Import({"--no-verify", file("forged.jsonl")});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.err.find("signatures are not checked"), std::string::npos) << run.err;
  EXPECT_EQ(Stored().size(), 1U);
}

TEST_F(ImportCommandTest, SeveralFilesOfAnyKindAndStandardInput) {
  WriteText(file("a.jsonl"), Notes(0, 50));
  WriteText(file("b.gz"), Packed(Compression::kGzip, Notes(50, 50)));
  WriteText(file("c.zst"), Packed(Compression::kZstd, Notes(100, 50)));
  const Ran run =
      ImportPiped(Notes(150, 50) + "bad\n", {"--summary=json", file("a.jsonl"), file("b.gz"), "-", file("c.zst")});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(Count(Summary(run), "imported"), 200U);
  EXPECT_EQ(Stored().size(), 200U);
  EXPECT_TRUE(TextOf(rejects()).starts_with("-:51\t")) << TextOf(rejects());
}

TEST_F(ImportCommandTest, ATruncatedFileIsImportedAsFarAsItGoes) {
  const std::string packed = Packed(Compression::kGzip, Notes(0, 400));
  WriteText(file("cut.gz"), packed.substr(0, packed.size() / 2));
  const Ran run = Import({"--summary=json", file("cut.gz")});
  EXPECT_EQ(run.code, 2);
  const auto summary = Summary(run);
  const uint64_t line = Count(summary, "line");
  EXPECT_GT(line, 10U);
  EXPECT_EQ(Stored().size(), line);
  EXPECT_NE(run.err.find("cut.gz: "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("after line " + std::to_string(line)), std::string::npos) << run.err;
  EXPECT_EQ(std::string_view(summary["damaged"]), file("cut.gz"));

  WriteText(file("cut.gz"), packed);  // now the file is whole
  const Ran rest = Import({"--resume", "--summary=json", file("cut.gz")});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(Count(Summary(rest), "read"), 400U);
  EXPECT_EQ(Count(Summary(rest), "read_before"), line);
  EXPECT_EQ(Stored().size(), 400U);
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(ImportCommandTest, ADamagedFileAmongOthersSaysWhatToMend) {
  WriteText(file("a.jsonl"), Notes(0, 5));
  const std::string packed = Packed(Compression::kGzip, Notes(5, 40));
  WriteText(file("cut.gz"), packed.substr(0, packed.size() / 2));
  WriteText(file("c.jsonl"), Notes(50, 5));
  const Ran run = Import({file("a.jsonl"), file("cut.gz"), file("c.jsonl")});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.out.find("not begun: " + file("c.jsonl") + "\n"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("; repair or replace " + file("cut.gz") + ", then: weir import --resume "), std::string::npos)
      << run.out;
  EXPECT_EQ(run.out.find("damaged"), std::string::npos) << run.out;
  const size_t said = run.err.find(": damaged after line");
  EXPECT_NE(said, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find(": damaged after line", said + 1), std::string::npos) << run.err;
}

TEST_F(ImportCommandTest, ADryRunJudgesAndStoresNothing) {
  WriteText(file("a.jsonl"), Notes(0, 5) + "bad\n");
  const Ran run = Import({"--dry-run", "--rejects", file("bad.tsv"), "--summary=json", file("a.jsonl")});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_EQ(Count(Summary(run), "imported"), 5U);
  EXPECT_FALSE(std::filesystem::exists(data_dir()));
  EXPECT_EQ(LinesOf(TextOf(file("bad.tsv"))), 1U);

  const Ran unkept = Import({"--dry-run", file("a.jsonl")});
  EXPECT_NE(unkept.out.find("--rejects FILE keeps them"), std::string::npos) << unkept.out;
  EXPECT_FALSE(std::filesystem::exists(data_dir()));
}

TEST_F(ImportCommandTest, ResumeWithoutACheckpointBeginsAndSaysSo) {
  WriteText(file("a.jsonl"), Notes(0, 5));
  const Ran run = Import({"--resume", file("a.jsonl")});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.err.find("starting at the beginning"), std::string::npos) << run.err;
  EXPECT_EQ(Stored().size(), 5U);
}

TEST_F(ImportCommandTest, ADatabaseThatIsHeldNamesItsHolder) {
  std::filesystem::create_directories(data_dir());
  const auto store = MustOpen(SmallStore(data_dir() + "/events"));
  WriteText(file("a.jsonl"), Notes(0, 5));
  const Ran run = Import({file("a.jsonl")});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("is in use by process " + std::to_string(getpid())), std::string::npos) << run.err;
}

TEST_F(ImportCommandTest, AHolderThatDoesNotSayItsNameIsAnotherProcess) {
  std::filesystem::create_directories(data_dir() + "/events");
  const int lock = open((data_dir() + "/events/weir.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  WriteText(file("a.jsonl"), Notes(0, 5));
  const Ran run = Import({file("a.jsonl")});
  close(lock);
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("is in use by another process; stop it"), std::string::npos) << run.err;
}

TEST_F(ImportCommandTest, ARelayThatHasTheDatabaseIsImportedThrough) {
  RelayConfiguration configuration;
  configuration.data_dir = data_dir();
  configuration.server.port = 0;
  configuration.storage.memory.target_memory_mb = 256;
  ImportService service;
  auto relay = Relay::Open(configuration, false, {&service});
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  relay.value()->Accept();
  WriteText(file("a.jsonl"), Notes(0, 500) + "bad\n" + Forged(600) + "\n");
  for (const char* outcome : {"imported", "duplicate"}) {
    const Ran run = Import({"--summary=json", file("a.jsonl")});
    EXPECT_EQ(run.code, 1) << run.err;
    EXPECT_NE(run.err.find("(import_ops_test): importing through it, as bulk work"), std::string::npos) << run.err;
    EXPECT_EQ(Count(Summary(run), outcome), 500U);
    EXPECT_EQ(Count(Summary(run), "rejected"), 2U);
  }
  EXPECT_EQ(Rejected(), 4U);
  EXPECT_FALSE(HasCheckpoint());
  relay.value()->Shutdown(std::chrono::seconds(5));
  relay.value().reset();
  EXPECT_EQ(Stored().size(), 500U);
}

TEST_F(ImportCommandTest, RefusesWrongArguments) {
  WriteText(file("a.jsonl"), Notes(0, 1));
  struct Case {
    std::vector<std::string> arguments;
    std::string says;
  };
  const Case cases[] = {
      {{}, "FILE is required"},
      {{file("missing.jsonl")}, "missing.jsonl"},
      {{"--resume", "--dry-run", file("a.jsonl")}, "--resume"},
      {{"--summary=xml", file("a.jsonl")}, "xml"},
      {{"--threads=-1", file("a.jsonl")}, "-1"},
      {{"--rejects", file("no/such/dir/r.tsv"), file("a.jsonl")}, "cannot make the rejects file"},
      {{"--rejects", file("a.jsonl"), file("a.jsonl")}, "which is to be imported"},
      {{"--rejects", "-", file("a.jsonl")}, "--rejects /dev/stderr shows"},
  };
  for (const Case& c : cases) {
    const Ran run = Import(c.arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE((run.err + run.out).find(c.says), std::string::npos) << c.says << "\n" << run.err << run.out;
  }
  EXPECT_EQ(TextOf(file("a.jsonl")), Notes(0, 1));
}

TEST_F(ImportCommandTest, AWrongNameLeavesNothingBehind) {
  for (const bool resume : {false, true}) {
    std::vector<std::string> arguments = {file("missing.jsonl")};
    if (resume) arguments.emplace_back("--resume");
    EXPECT_EQ(Import(arguments).code, 2);
    EXPECT_FALSE(std::filesystem::exists(data_dir()));
  }
}

TEST_F(ImportCommandTest, AClosedStandardInputIsSaid) {
  const Ran run = ImportChild({"--data-dir", data_dir(), "-"}, ImportChild::Input::kClosed).Wait();
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("standard input is closed"), std::string::npos) << run.err;
  WriteText(file("a.jsonl"), Notes(0, 5));
  const Ran other = ImportChild({"--data-dir", data_dir(), file("a.jsonl")}, ImportChild::Input::kClosed).Wait();
  EXPECT_EQ(other.code, 0) << other.err;
}

TEST_F(ImportCommandTest, TheSameInputsAreImportedByOneAtATime) {
  std::filesystem::create_directories(data_dir());
  ImportChild first({"--data-dir", data_dir(), "-"}, ImportChild::Input::kPipe);
  ASSERT_TRUE(Eventually([&] { return HasCheckpoint(); })) << first.err();
  const Ran same = ImportChild({"--data-dir", data_dir(), "-"}).Wait();
  EXPECT_EQ(same.code, 2);
  EXPECT_NE(same.err.find("these files are being imported by process "), std::string::npos) << same.err;
  WriteText(file("a.jsonl"), Notes(0, 5));
  const Ran other = Import({file("a.jsonl")});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("another import writes the rejects file " + rejects()), std::string::npos) << other.err;
  first.EndInput();
  EXPECT_EQ(first.Wait().code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(data_dir() + "/import"));
}

TEST_F(ImportCommandTest, AnEmptyFileIsNoError) {
  WriteText(file("empty.jsonl"), "");
  const Ran run = Import({"--summary=json", file("empty.jsonl")});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(Count(Summary(run), "read"), 0U);
}

}  // namespace
}  // namespace weir
