// POST /api/import of a real relay, over real sockets.
#include "import/serve/import_service.h"

#include <openssl/evp.h>

#include <algorithm>
#include <atomic>

#include "config/clock.h"
#include "import/serve/import_post.h"
#include "relay/nostr/event_parser.h"
#include "relay/process/http_error_words.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/sanitizers.h"
#include "tests/fixtures/web_client.h"
#include "tests/import/input/compressed.h"
#include "tests/import/serve/service_fixture.h"

namespace weir {
namespace {

using ImportServiceTest = ServiceTest;

void ExpectWhole(const ImportAnswer& answer, const KnownLines& expected) {
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.done) << answer.error << answer.words;
  EXPECT_EQ(answer.last.tally.lines, expected.tally.lines);
  EXPECT_EQ(answer.last.tally.bytes, expected.text.size());
  ExpectRejects(answer.rejects, expected);
}

TEST_F(ImportServiceTest, SaysWhatBecameOfEveryLineHoweverItIsSent) {
  const KnownLines lines = SomeOfEverything(0, 300);
  const struct {
    std::string body;
    Headers headers;
    size_t piece_bytes;
  } cases[] = {
      {lines.text, {}, 0},
      {lines.text, {}, 1000},
      {lines.text, {{"Content-Encoding", "identity"}}, 100'000},
      {Gzip(lines.text), {{"Content-Encoding", "gzip"}}, 0},
      {Gzip(lines.text), {{"Content-Encoding", "gzip"}}, 77},
      {Zstd(lines.text), {{"Content-Encoding", "zstd"}}, 0},
      {lines.text, {{"Expect", "100-continue"}}, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c.headers) + ", pieces of " + std::to_string(c.piece_bytes));
    Open();
    ExpectWhole(PostImport(port(), c.body, c.headers, "", c.piece_bytes), lines);
    EXPECT_EQ(Stored(), Lines(lines.stored));
    const ImportAnswer again = PostImport(port(), c.body, c.headers, "?verify=true", c.piece_bytes);
    EXPECT_EQ(again.last.tally[LineOutcome::kImported], 0);
    EXPECT_EQ(again.last.tally[LineOutcome::kDuplicate],
              lines.tally[LineOutcome::kImported] + lines.tally[LineOutcome::kDuplicate]);
    ExpectRejects(again.rejects, lines);
    Close();
    std::filesystem::remove_all(configuration_.data_dir);
  }
}

TEST_F(ImportServiceTest, TakesBodiesAtTheEdge) {
  Open();
  const std::string note = NoteLine(1);
  const struct {
    std::string body;
    uint64_t lines;
    uint64_t events;
  } cases[] = {{"", 0, 0},          {"\n", 1, 0}, {note, 1, 1},
               {note + "\n", 1, 1}, {"x", 1, 0},  {"\xef\xbb\xbf" + note + "\r\n\r\n" + note, 3, 2}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.body);
    const ImportAnswer answer = PostImport(port(), c.body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.done);
    EXPECT_EQ(answer.last.lines, c.lines);
    EXPECT_EQ(answer.last.tally.events(), c.events);
  }
}

TEST_F(ImportServiceTest, TakesWhatNeedNotBeVerified) {
  Open();
  EXPECT_EQ(PostImport(port(), Forged(NoteLine(1))).last.tally[LineOutcome::kSignature], 1);
  EXPECT_EQ(PostImport(port(), Forged(NoteLine(1)), {}, "?verify=false").last.tally[LineOutcome::kImported], 1);
}

TEST_F(ImportServiceTest, SaysWhatIsWrongWithARequest) {
  Open();
  const struct {
    std::string query;
    Headers headers;
    int status;
    std::string words;
  } cases[] = {{"?verify=maybe", {}, 400, "verify=maybe: neither true nor false"},
               {"?dry=1", {}, 400, "unknown parameter dry; this takes verify, run and part"},
               {"?part=1", {}, 400, "part needs run: give run as well"},
               {"?run=&part=1", {}, 400, "run=: 1 to 64 characters name a run"},
               {"?run=a&part=-1", {}, 400, "part=-1: "},
               {"?verify=%zz", {}, 400, "the query is not well-formed: % without two hexadecimal digits in %zz"},
               {"", {{"Content-Encoding", "br"}}, 415, "Content-Encoding may be gzip or zstd, or none"}};
  for (const auto& c : cases) {
    const ImportAnswer answer = PostImport(port(), NoteLine(1), c.headers, c.query);
    EXPECT_EQ(answer.status, c.status);
    EXPECT_TRUE(ErrorWordsIn(answer.words).starts_with(c.words)) << answer.words;
  }
  EXPECT_EQ(Stored(), "");
}

TEST_F(ImportServiceTest, KeepsTheLinesBeforeDamageInCompressedData) {
  Open();
  EXPECT_EQ(PostImport(port(), "no gzip at all", {{"Content-Encoding", "gzip"}}).status, 400);
  const KnownLines lines = SomeOfEverything(0, 200);
  std::string cut = Gzip(lines.text);
  cut.resize(cut.size() * 3 / 4);
  const ImportAnswer answer = PostImport(port(), cut, {{"Content-Encoding", "gzip"}}, "", 500);
  EXPECT_FALSE(answer.done);
  EXPECT_FALSE(answer.error.empty());
  EXPECT_GT(answer.last.tally[LineOutcome::kImported], 0);
  const std::string stored = Stored();
  EXPECT_TRUE(Lines(lines.stored).starts_with(stored));
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(stored, '\n')), answer.last.tally[LineOutcome::kImported]);
}

TEST_F(ImportServiceTest, CountsAllRejectsAndNamesTheFirstForALateReader) {
  configuration_.server.max_pending_bytes = 64 << 10;  // more than this at a time is written
  Open();
  const uint64_t kLines = Sanitized() ? 30'000 : 300'000;
  std::string body;
  for (uint64_t i = 0; i < kLines; ++i) body += "x\n";
  SlowCall call(port(), "POST", "/api/import", {{"Content-Length", std::to_string(body.size())}});
  EXPECT_TRUE(call.Send(body));
  WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 0; });
  ImportAnswer answer;
  answer.TakeRest(call);
  EXPECT_TRUE(answer.done) << answer.error;
  EXPECT_EQ(answer.last.tally[LineOutcome::kInvalid], kLines);
  ASSERT_EQ(answer.rejects.size(), ImportPost::kMostRejects);
  EXPECT_EQ(answer.rejects.back().line, ImportPost::kMostRejects);
}

// Sends as `weir import` does: three parts at once, and the second is there before the first is whole.
TEST_F(ImportServiceTest, SavesThePartsOfARunInTheirOrder) {
  Open();
  const std::vector<std::string> notes = {NoteLine(1) + "\n", NoteLine(2) + "\n", NoteLine(3) + "\n"};
  std::vector<std::unique_ptr<SlowCall>> parts;
  for (size_t i = 0; i < notes.size(); ++i) {
    const std::string target = "/api/import?run=one&part=" + std::to_string(i);
    parts.push_back(std::make_unique<SlowCall>(port(), "POST", target,
                                               Headers{{"Content-Length", std::to_string(notes[i].size())}}));
    // The relay has begun to read it: the next may come.
    ASSERT_TRUE(parts.back()->Line().has_value());
  }
  EXPECT_EQ(Metric("weir_imports_running"), 1) << "a run is one import";
  const LiveTable live = LiveTableOf(*service_, "imports");
  ASSERT_EQ(live.rows.size(), 1U);
  EXPECT_EQ(live.rows[0][0], "127.0.0.1");
  ASSERT_EQ(live.rows[0].size(), live.columns.size());
  for (size_t i = notes.size(); i-- > 0;) ASSERT_TRUE(parts[i]->Send(notes[i]));
  for (const auto& part : parts) {
    ImportAnswer answer;
    answer.TakeRest(*part);
    EXPECT_TRUE(answer.done) << answer.error;
    EXPECT_EQ(answer.last.tally[LineOutcome::kImported], 1);
  }
  EXPECT_EQ(Stored(), notes[0] + notes[1] + notes[2]);
  EXPECT_EQ(Metric("weir_imports_running"), 0);
}

TEST_F(ImportServiceTest, APartThatDoesNotFollowIsRefused) {
  Open();
  EXPECT_EQ(PostImport(port(), NoteLine(2), {}, "?run=one&part=1").status, 409);
  EXPECT_EQ(PostImport(port(), NoteLine(1), {}, "?run=one&part=0").status, 200);
  EXPECT_EQ(PostImport(port(), NoteLine(3), {}, "?run=one&part=2").status, 409);
  EXPECT_EQ(PostImport(port(), NoteLine(2), {}, "?part=1&run=one").status, 200);
  EXPECT_EQ(Stored(), NoteLine(1) + "\n" + NoteLine(2) + "\n");
}

TEST_F(ImportServiceTest, ARunThatBeginsAnewUnderItsNameGetsTheParts) {
  Open();
  for (int round = 0; round < 2; ++round) {
    for (const int part : {0, 1}) {
      const std::string query = "?run=one&part=" + std::to_string(part);
      EXPECT_EQ(PostImport(port(), NoteLine(static_cast<uint64_t>(part)), {}, query).status, 200) << round << part;
    }
  }
  EXPECT_EQ(PostImport(port(), NoteLine(2), {}, "?run=one&part=2").status, 200);
  EXPECT_EQ(Stored(), NoteLine(0) + "\n" + NoteLine(1) + "\n" + NoteLine(2) + "\n");
}

TEST_F(ImportServiceTest, SavesNoPartBehindOneThatBrokeOff) {
  Open();
  const std::string note = NoteLine(2) + "\n";
  const Headers length = {{"Content-Length", std::to_string(note.size())}};
  SlowCall first(port(), "POST", "/api/import?run=one&part=0", length);
  ASSERT_TRUE(first.Line().has_value());
  SlowCall second(port(), "POST", "/api/import?run=one&part=1", length);
  ASSERT_TRUE(second.Send(note));
  ASSERT_TRUE(second.Line().has_value());
  first.HangUp();
  ImportAnswer answer;
  answer.TakeRest(second);
  EXPECT_TRUE(answer.error.starts_with("another part of this import broke off")) << answer.error;
  EXPECT_EQ(Stored(), "");
  WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 0; });
  EXPECT_EQ(PostImport(port(), note, {}, "?run=one&part=2").status, 409);
}

std::string Base64(const std::string& bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  text.resize(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                              reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size())));
  return text;
}

TEST_F(ImportServiceTest, IsForTheAdminAlone) {
  const Signer admin(11);
  const Signer other(12);
  configuration_.relay.admin_pubkey = ToHex(admin.pubkey());
  Open();
  // Proofs with the furthest date that is taken are good from the second after the start.
  const uint64_t opened = WallClock::System().NowSeconds();
  ASSERT_TRUE(Eventually([&] { return WallClock::System().NowSeconds() > opened; }));
  const auto signed_by = [&](const Signer& signer, const std::string& method, const std::string& path) {
    const std::string tags = R"([["u",")" + url() + path + R"("],["method",")" + method + R"("]])";
    const std::string event = signer.SignedEvent(WallClock::System().NowSeconds() + 5, 27235, tags, "");
    return std::pair<std::string, std::string>("Authorization", "Nostr " + Base64(event));
  };
  const std::pair<std::string, std::string> page("Origin", "https://page.example");
  EXPECT_EQ(PostImport(port(), NoteLine(1), {page}).status, 401);
  EXPECT_EQ(PostImport(port(), NoteLine(1), {{"X-Forwarded-For", "203.0.113.7"}}).status, 401);
  const int by_other = PostImport(port(), NoteLine(1), {page, signed_by(other, "POST", "/api/import")}).status;
  EXPECT_TRUE(by_other == 401 || by_other == 403) << by_other;
  EXPECT_EQ(Stored(), "");
  EXPECT_EQ(PostImport(port(), NoteLine(1), {page, signed_by(admin, "POST", "/api/import")}).status, 200);
  EXPECT_EQ(Get("/api/export", {page, signed_by(admin, "GET", "/api/export")}), NoteLine(1) + "\n");
  EXPECT_EQ(SlowCall(port(), "GET", "/api/export", {page}).Status(), 401);
  Close();
  configuration_.relay.admin_pubkey.clear();
  Open();
  EXPECT_EQ(PostImport(port(), NoteLine(2), {page}).status, 401);
}

TEST_F(ImportServiceTest, RunsSeveralAtOnceAndNotMoreThanItShould) {
  Open();
  std::vector<std::thread> clients;
  for (uint64_t c = 0; c < 2; ++c) {
    clients.emplace_back([&, c] {
      const KnownLines lines = SomeOfEverything(10'000 * c, 200);
      ExpectWhole(PostImport(port(), lines.text, {}, "", 3000), lines);
    });
  }
  for (std::thread& client : clients) client.join();
  const std::string stored = Stored();
  EXPECT_EQ(std::ranges::count(stored, '\n'), 400);
  WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 0; });

  std::vector<std::unique_ptr<SlowCall>> open;
  for (int i = 0; i < 4; ++i)
    open.push_back(std::make_unique<SlowCall>(port(), "POST", "/api/import", Headers{{"Content-Length", "1000"}}));
  WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 4; });
  SlowCall fifth(port(), "POST", "/api/import", {{"Content-Length", "1000"}});
  EXPECT_EQ(fifth.Status(), 503);
  EXPECT_EQ(fifth.Header("Retry-After"), "5");
  open.clear();
  WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 0; });
}

TEST_F(ImportServiceTest, WholeLinesOfAClientThatWaitsAreSettled) {
  Open();
  SlowCall call(port(), "POST", "/api/import", {{"Transfer-Encoding", "chunked"}});
  for (uint64_t i = 1; i <= 3; ++i) {
    call.SendChunk(NoteLine(i) + "\n" + "{\"the begin of");
    ImportAnswer answer;
    ASSERT_NO_FATAL_FAILURE(answer.TakeUntil(call, [i](const ImportProgress& p) { return p.lines >= i; }));
    EXPECT_EQ(answer.last.tally[LineOutcome::kImported], 1);
    call.SendChunk(" another\"}\n");
    if (i == 1) break;
  }
  call.Send("0\r\n\r\n");
  ImportAnswer answer;
  answer.TakeRest(call);
  EXPECT_TRUE(answer.done);
  EXPECT_EQ(answer.last.lines, 2);
}

TEST_F(ImportServiceTest, KeepsWhatWasSettledWhenTheClientHangsUp) {
  Open();
  const KnownLines lines = SomeOfEverything(0, 400);
  {
    SlowCall call(port(), "POST", "/api/import", {{"Content-Length", std::to_string(lines.text.size() + 1)}});
    std::thread sender([&] { call.Send(lines.text); });
    ImportAnswer answer;
    answer.TakeUntil(call, [](const ImportProgress& p) { return p.tally[LineOutcome::kImported] >= 100; });
    sender.join();
    call.HangUp();
    EXPECT_GE(answer.last.tally[LineOutcome::kImported], 100);
    WaitForMetric("weir_imports_running", [](uint64_t running) { return running == 0; });
    const std::string stored = Stored();
    EXPECT_GE(static_cast<uint64_t>(std::ranges::count(stored, '\n')), answer.last.tally[LineOutcome::kImported]);
    EXPECT_TRUE(Lines(lines.stored).starts_with(stored));
  }
  EXPECT_EQ(PostImport(port(), lines.text).rejects.size(), lines.rejects.size());
  EXPECT_EQ(Stored(), Lines(lines.stored));
}

TEST_F(ImportServiceTest, SaysThatTheRelayGoesDown) {
  Open();
  SlowCall call(port(), "POST", "/api/import", {{"Transfer-Encoding", "chunked"}});
  call.SendChunk(NoteLine(1) + "\n");
  ImportAnswer answer;
  ASSERT_NO_FATAL_FAILURE(answer.TakeUntil(call, [](const ImportProgress& p) { return p.lines >= 1; }));
  std::thread stopper([this] { relay_->Shutdown(std::chrono::seconds(10)); });
  answer.TakeRest(call);
  EXPECT_TRUE(call.whole());
  EXPECT_EQ(answer.error, "the relay is going down; send again what was not settled");
  EXPECT_FALSE(answer.done);
  call.HangUp();
  stopper.join();
  Close();
  Open();
  EXPECT_EQ(Stored(), NoteLine(1) + "\n");
}

TEST_F(ImportServiceTest, APluginThatIsSilentHoldsUpNoShutdown) {
  configuration_.plugins.write.command = "exec sleep 1000";
  configuration_.plugins.timeout = std::chrono::minutes(2);
  Open();
  SlowCall call(port(), "POST", "/api/import", {{"Transfer-Encoding", "chunked"}});
  call.SendChunk(NoteLine(1) + "\n");
  const auto is_asked = [this] {
    return Get("/metrics").find("weir_plugin_questions{plugin=\"write\"} 1") != std::string::npos;
  };
  ASSERT_TRUE(Eventually(is_asked));
  const auto begin = std::chrono::steady_clock::now();
  relay_->Shutdown(std::chrono::milliseconds(0));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
}

TEST_F(ImportServiceTest, ClientsAreServedMeanwhile) {
  Open();
  const KnownLines lines = SomeOfEverything(0, Sanitized() ? 500 : 2000);
  std::atomic<bool> over{false};
  std::thread importer([&] {
    ExpectWhole(PostImport(port(), lines.text, {}, "", 20'000), lines);
    over = true;
  });
  WebClient live(port());
  live.Send(R"(["REQ","live",{"kinds":[1],"limit":0}])");
  live.ReadUntil("[\"EOSE\"");
  WebClient client(port());
  uint64_t number = 0;
  for (; !over || number < 50; ++number) {
    const std::string note = NoteLine(5'000'000 + number);
    client.Send("[\"EVENT\"," + note + "]");
    ASSERT_EQ(client.Read(), "[\"OK\",\"" + std::string(FindId(note)) + "\",true,\"\"]");
    // Imported events are history and do not come here.
    ASSERT_EQ(live.Read(), "[\"EVENT\",\"live\"," + note + "]");
    client.Send(R"(["REQ","q",{"ids":[")" + std::string(FindId(note)) + R"("]}])");
    ASSERT_EQ(client.Read(), "[\"EVENT\",\"q\"," + note + "]");
    client.ReadUntil("[\"EOSE\"");
  }
  importer.join();
  const std::string stored = Stored();
  EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(stored, '\n')), lines.stored.size() + number);
}

TEST_F(ImportServiceTest, ShowsHowMuchOfTheWholeIsSettled) {
  Open();
  std::string half;
  while (half.size() < 6 << 20) half.append(1000, 'x').append("\n");
  SlowCall call(port(), "POST", "/api/import", {{"Content-Length", std::to_string(2 * half.size())}});
  std::thread sender([&] { call.Send(half); });
  std::string bytes;
  EXPECT_TRUE(Eventually([&] {
    const LiveTable imports = LiveTableOf(*service_, "imports");
    if (!imports.rows.empty()) bytes = imports.rows[0][6];
    return bytes.ends_with(" %") && !bytes.ends_with(" 0 %");
  })) << bytes;
  sender.join();
}

TEST_F(ImportServiceTest, CountsForTheMetrics) {
  Open();
  const KnownLines lines = SomeOfEverything(0, 50);
  PostImport(port(), lines.text);
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const std::string key(KeyOf(static_cast<LineOutcome>(i)));
    EXPECT_EQ(Metric("weir_import_lines_total{outcome=\"" + key + "\"}"), lines.tally.lines[i]) << key;
  }
  EXPECT_EQ(Metric("weir_import_bytes_total"), lines.text.size());
  Stored();
  EXPECT_EQ(Metric("weir_export_events_total"), lines.stored.size());
  EXPECT_TRUE(Eventually([this] {
    return LiveTableOf(*service_, "imports").rows.empty() && LiveTableOf(*service_, "exports").rows.empty();
  }));
  EXPECT_NE(Get("/metrics").find("\nweir_import_lines_total{outcome=\"imported\"} "), std::string::npos);
}

}  // namespace
}  // namespace weir
