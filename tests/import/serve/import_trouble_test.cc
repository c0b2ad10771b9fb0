// POST /api/import over real sockets, into a store that fails when it is told to, on a clock that stands still.
#include "config/manual_clock.h"
#include "import/relay_destination.h"
#include "import/serve/import_service.h"
#include "relay/admin/admin.h"
#include "relay/moderation/moderation.h"
#include "relay/net/server.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/retention/disk_budget.h"
#include "tests/fixtures/eventually.h"
#include "tests/import/input/compressed.h"
#include "tests/import/serve/told.h"
#include "tests/relay/observe/trace/span_fixture.h"
#include "tests/relay/protocol/memory_store.h"
#include "tests/throttle/scripted_monitor.h"

namespace weir {
namespace {

class ImportTroubleTest : public testing::Test {
 protected:
  explicit ImportTroubleTest(uint64_t budget_bytes = 32 << 20) : budget_(budget_bytes) {
    ServerSettings server_settings;
    server_settings.port = 0;
    HttpRouter router;
    service_.AddRoutes(router);
    server_ = std::make_unique<Server>(server_settings, std::move(router),
                                       [](Connection&) { return std::shared_ptr<ConnectionHandler>(); });
    const Status listens = server_->Listen();
    EXPECT_TRUE(listens.ok()) << listens.message();
    std::vector<boost::asio::any_io_executor> executors;
    for (size_t i = 0; i < server_->io_threads(); ++i) executors.push_back(server_->executor(i));
    delivery_ = std::make_unique<Delivery>(metrics_.counters(), clock_, WallClock::System(), std::move(executors));
    context_ = std::make_unique<RelayContext>(RelayContext{.settings = settings_,
                                                           .store = store_,
                                                           .limiter = limiter_,
                                                           .pool = *pool_,
                                                           .counters = metrics_.counters(),
                                                           .delivery = *delivery_,
                                                           .budget = budget_,
                                                           .count_own_bytes =
                                                               [this](int64_t bytes, OwnUse use) {
                                                                 EXPECT_EQ(use, OwnUse::kWaiting);
                                                                 Count(bytes);
                                                               },
                                                           .clock = clock_});
    pipeline_ = std::make_unique<EventPipeline>(*context_);
    moderation_ = std::make_unique<Moderation>(store_, pipeline_->commit(), *context_->rules,
                                               [](const PublicKey&) { return false; });
    EXPECT_TRUE(service_
                    .Start({.context = *context_,
                            .events = *pipeline_,
                            .metrics = metrics_,
                            .admin = admin_,
                            .moderation = *moderation_,
                            .configuration = configuration_,
                            .append_live = [](LiveTables&) {},
                            .heaviest_clients = [] { return HeaviestClients(); }})
                    .ok());
    server_->Accept();
  }
  ~ImportTroubleTest() override {
    server_->Shutdown(std::chrono::seconds(10));
    service_.Stop();
    limiter_.Stop();
    pool_.reset();
    pipeline_->Stop();
    EXPECT_EQ(own_bytes_, 0);
  }

  void Count(int64_t bytes) {
    const int64_t now = own_bytes_ += bytes;
    int64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::unique_ptr<Destination> MakeDestination(Destination::OnSettled on_settled) {
    DestinationOptions options;
    options.judge.limits = EventLimitsOf(settings_);
    auto made = MakeRelayDestination({.url = url(), .holder = ""}, options, std::move(on_settled),
                                     {.first_retry = std::chrono::milliseconds(20)});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }

  // Reads until the relay tells of a problem, which it returns.
  static std::string ReadUntilTrouble(SlowCall& call) {
    ImportAnswer answer;
    answer.TakeUntil(call, [](const ImportProgress& progress) { return !progress.conditions.problem.empty(); });
    EXPECT_EQ(answer.last.tally[LineOutcome::kImported], 0U);
    return answer.last.conditions.problem;
  }

  ManualClock clock_;
  MemoryStore store_;
  ScriptedMonitor monitor_{clock_};
  AdaptiveLimiter limiter_{monitor_, LimiterSettings{}};
  RelaySettings settings_;
  RelayConfiguration configuration_;
  RelayMetrics metrics_;
  Admin admin_{"", TrustInLoopback(AdminFromLoopback::kTrue), nullptr};
  ByteBudget budget_;
  std::atomic<int64_t> own_bytes_{0};
  std::atomic<int64_t> peak_{0};
  ImportService service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<WorkPool> pool_ = std::make_unique<WorkPool>(2);
  std::unique_ptr<RelayContext> context_;
  std::unique_ptr<EventPipeline> pipeline_;
  std::unique_ptr<Moderation> moderation_;
};

constexpr const char* kDiskFull = "IO error: No space left on device: 000012.log";

TEST_F(ImportTroubleTest, TellsOfAFullDiskAndGoesOnWhenItHasRoom) {
  store_.FailSaves(kDiskFull);
  const KnownLines lines = SomeOfEverything(0, 50);
  SlowCall call(server_->port(), "POST", "/api/import", {{"Content-Length", std::to_string(lines.text.size())}});
  std::thread sender([&] { EXPECT_TRUE(call.Send(lines.text)); });
  EXPECT_EQ(ReadUntilTrouble(call), kDiskFull);
  clock_.Advance(std::chrono::hours(10));  // however long it takes
  store_.FailSaves("");
  ImportAnswer answer;
  answer.TakeRest(call);
  sender.join();
  EXPECT_TRUE(answer.done) << answer.error;
  EXPECT_EQ(answer.last.conditions.problem, "");
  EXPECT_EQ(answer.last.tally.lines, lines.tally.lines);
}

TEST_F(ImportTroubleTest, WaitsForRoomInTheDiskBudgetAsForAFullDisk) {
  DiskBudget budget(1);
  budget.Note({.events = 1, .disk_bytes = 1}, clock_.Now());
  budget.Note({.events = 1, .disk_bytes = 1 << 30}, clock_.Now());
  context_->disk_budget = &budget;
  const KnownLines lines = SomeOfEverything(0, 50);
  SlowCall call(server_->port(), "POST", "/api/import", {{"Content-Length", std::to_string(lines.text.size())}});
  std::thread sender([&] { EXPECT_TRUE(call.Send(lines.text)); });
  EXPECT_NE(ReadUntilTrouble(call).find("imports go on when old events are removed"), std::string::npos);
  clock_.Advance(std::chrono::hours(10));
  budget.Note({.events = 1, .disk_bytes = 1}, clock_.Now());
  ImportAnswer answer;
  answer.TakeRest(call);
  sender.join();
  EXPECT_TRUE(answer.done) << answer.error;
  EXPECT_EQ(answer.last.tally.lines, lines.tally.lines);
  context_->disk_budget = nullptr;
}

TEST_F(ImportTroubleTest, BatchesBelongToTheTraceOfTheirCaller) {
  const auto tracer = std::make_shared<Tracer>(1, clock_);
  context_->tracer = tracer.get();
  const std::string line = NoteLine(1) + "\n";
  SlowCall call(server_->port(), "POST", "/api/import",
                {{"Content-Length", std::to_string(line.size())},
                 {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}});
  call.Send(line);
  while (call.Line()) {
  }
  const std::vector<SpanData> spans = tracer->TakeEnded();
  EXPECT_EQ(Trees(spans), "import batch(bulk gate, commit)");
  const SpanData& batch = *Find(spans, "import batch");
  EXPECT_TRUE(batch.parent_is_remote);
  EXPECT_EQ(ToHex(batch.trace.data(), batch.trace.size()), "0af7651916cd43dd8448eb211c80319c");
}

// The relay reads nothing from the socket then, and no number changes.
TEST_F(ImportTroubleTest, NoticesThatTheClientIsGoneWhileNothingMoves) {
  store_.FailSaves(kDiskFull);
  std::string body;
  for (uint64_t i = 0; i < 20; ++i) body += NoteLine(i) + "\n";
  body += std::string(24 << 20, 'x');  // more than the relay and the sockets hold
  {
    SlowCall call(server_->port(), "POST", "/api/import", {{"Content-Length", std::to_string(body.size())}});
    std::thread sender([&] { call.Send(body); });
    EXPECT_EQ(ReadUntilTrouble(call), kDiskFull);
    const int64_t window = 4 << 20;
    EXPECT_TRUE(Eventually([&] { return own_bytes_ >= window; })) << own_bytes_;
    call.Break();
    sender.join();
  }
  WaitForMetric(service_, "weir_imports_running", [this](uint64_t running) {
    clock_.Advance(std::chrono::milliseconds(100));
    return running == 0;
  });
}

TEST_F(ImportTroubleTest, SaysThatAnErrorLasts) {
  store_.FailSaves("Corruption: block checksum mismatch");
  SlowCall call(server_->port(), "POST", "/api/import", {{"Transfer-Encoding", "chunked"}});
  call.SendChunk(NoteLine(1) + "\n");
  (void)ReadUntilTrouble(call);
  clock_.Advance(std::chrono::minutes(2));
  std::string last;
  while (const auto line = call.Line()) last = *line;
  EXPECT_EQ(last, R"({"error":"Corruption: block checksum mismatch","lasting":true})");
}

TEST_F(ImportTroubleTest, ADestinationGivesUpOnAnErrorThatLasts) {
  store_.FailSaves("Corruption: block checksum mismatch");
  const auto destination = MakeDestination([](const SettledChunk&) {});
  ASSERT_TRUE(destination->Push(std::move(ChunksOf(NoteLine(1) + "\n", 1000)[0])));
  EXPECT_TRUE(Eventually([&] { return !destination->Conditions().problem.empty(); }));
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(destination->Finish().message(),
            "the relay at " + url() + " cannot go on: Corruption: block checksum mismatch");
}

// The relay forgets a run that had no POST for five seconds.
TEST_F(ImportTroubleTest, ADestinationBeginsAnotherRunWhenItsRunIsForgotten) {
  const KnownLines lines = SomeOfEverything(0, 60);
  std::vector<Chunk> chunks = ChunksOf(lines.text, 10'000);
  Told told;
  const auto destination = MakeDestination(told.Listener());
  size_t pushed = 0;
  for (; pushed < chunks.size() / 2; ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
  told.WaitForText(chunks[pushed].begin.bytes);
  WaitForMetric(service_, "weir_imports_running", [](uint64_t running) { return running == 0; });
  clock_.Advance(std::chrono::seconds(5));
  ASSERT_TRUE(Eventually([&] { return LiveTableOf(service_, "imports").rows.empty(); }));
  for (; pushed < chunks.size(); ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
  EXPECT_TRUE(destination->Finish().ok());
  EXPECT_EQ(destination->Conditions().problem, "");
  told.Expect(lines);
}

class SmallRelaysImportTest : public ImportTroubleTest {
 protected:
  SmallRelaysImportTest() : ImportTroubleTest(1 << 20) {}
};

// The imports that may run at once share the bytes that events may have in flight.
TEST_F(SmallRelaysImportTest, HoldsAQuarterOfWhatMayBeInFlight) {
  std::string short_lines;
  while (short_lines.size() < (256 << 10)) short_lines += "x\n";
  const ImportAnswer answer = PostImport(server_->port(), short_lines, {});
  EXPECT_TRUE(answer.done) << answer.error;
  EXPECT_EQ(answer.last.tally.rejected(), short_lines.size() / 2);
  EXPECT_GT(peak_, 100 << 10);
  EXPECT_LE(peak_, 512 << 10) << "a window of 256 KiB, and of one turn what is over it";
}

TEST_F(ImportTroubleTest, StaysBoundedOnWhatGrowsAThousandfold) {
  std::string short_lines;
  while (short_lines.size() < (1 << 20)) short_lines += "x\n";
  const std::string long_line = std::string(64 << 20, 'x') + "\n";
  const struct {
    std::string body;
    std::string coding;
    uint64_t lines;
  } cases[] = {{Zstd(long_line), "zstd", 1},
               {Gzip(long_line), "gzip", 1},
               {Zstd(short_lines), "zstd", short_lines.size() / 2},
               {Gzip(short_lines), "gzip", short_lines.size() / 2}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.coding + " of " + std::to_string(c.lines));
    EXPECT_LT(c.body.size(), 100'000);
    peak_ = 0;
    const ImportAnswer answer = PostImport(server_->port(), c.body, {{"Content-Encoding", c.coding}});
    EXPECT_TRUE(answer.done) << answer.error;
    EXPECT_EQ(answer.last.tally.rejected(), c.lines);
    // The window of 4 MiB, and what one turn may add to it.
    EXPECT_LE(peak_, 5 << 20);
  }
}

}  // namespace
}  // namespace weir
