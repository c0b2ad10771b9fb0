#include "import/sync/sync_run.h"

#include <gtest/gtest.h>

#include <set>

#include "import/found_destination.h"
#include "import/input/line_splitter.h"
#include "import/sync/sync_session.h"
#include "tests/fixtures/websocket_peer.h"
#include "tests/import/serve/service_fixture.h"
#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

// The other relay is the one of the fixture. This side has a data directory of its own, and no relay.
class SyncRunTest : public ServiceTest {
 protected:
  SyncRunTest() {
    here_ = configuration_;
    here_.data_dir = directory_ / "here";
  }

  // Stores events at the other relay.
  void GiveThere(const std::string& lines) { EXPECT_TRUE(PostImport(port(), lines).done); }
  // Stores events on this side.
  void GiveHere(const std::string& lines) {
    std::vector<std::string> notes;
    DestinationOptions options;
    const auto destination = OpenFoundDestination(
        here_, options, [](const SettledChunk&) {}, &notes);
    ASSERT_TRUE(destination.ok()) << destination.status().message();
    LineSplitter splitter({}, 0);
    const auto push = [&](Chunk chunk) { destination.value()->Push(std::move(chunk)); };
    splitter.Add(lines, 0, push);
    splitter.End(push);
    EXPECT_TRUE(destination.value()->Finish().ok());
  }
  std::set<std::string> StoredThere() {
    std::set<std::string> events;
    std::istringstream lines(Stored());
    for (std::string line; std::getline(lines, line);) events.insert(line);
    return events;
  }
  std::set<std::string> StoredHere() const {
    std::set<std::string> events;
    const auto store = OpenForReading(here_.storage, here_.data_dir);
    EXPECT_TRUE(store.ok()) << store.status().message();
    const auto query = store.value()->Find({Filter{}}, {.default_limit = kAllEvents, .max_limit = kAllEvents});
    const auto take = [&](EventView event) { events.emplace(event.json()); };
    while (query->Next({}, take).value() == Progress::kMore) continue;
    return events;
  }
  SyncRunParts Parts(const std::string& url) {
    return {.configuration = here_,
            .url = url,
            .on_note = [this](const std::string& note) { notes_.push_back(note); },
            .on_progress = [](const SyncCounts&) {}};
  }
  SyncRunParts PartsToRelay() { return Parts("ws://127.0.0.1:" + std::to_string(port())); }
  static SyncResult Sync(const SyncRunParts& parts) { return SyncRun(parts).Run(); }
  static std::string Lines(uint64_t first, uint64_t last, uint64_t step = 1) {
    std::string text;
    for (uint64_t n = first; n < last; n += step) text += NoteLine(n, 1, "[]", kLineTime + n / 3) + "\n";
    return text;
  }

  // Makes both sides equal, each of which has events that the other lacks.
  void MakeEqual() {
    Open();
    GiveThere(Lines(0, 700));
    GiveHere(Lines(300, 900));
    const SyncResult result = Sync(PartsToRelay());
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.counts.stored, 600U);
    EXPECT_EQ(result.counts.received, 300U);
    EXPECT_EQ(result.saved[LineOutcome::kImported], 300U);
    EXPECT_EQ(result.counts.accepted, 200U);
    EXPECT_EQ(StoredHere().size(), 900U);
    EXPECT_TRUE(StoredHere() == StoredThere());
  }

  // Returns the reply of a relay that has these events of kLineTime, to a REQ of a PageWalk; nothing to other messages.
  static WebSocketPeer::Reply PageOf(const std::string& message, const std::vector<std::string>& events) {
    if (!message.starts_with("[\"REQ\"")) return {};
    const ClientMessage parsed = ParseClientMessage(message);
    const Req& request = std::get<Req>(parsed);
    WebSocketPeer::Reply reply;
    if (request.filters[0].until >= kLineTime)
      for (const std::string& event : events)
        reply.messages.push_back(EventMessageHead(request.subscription) + event + "]");
    reply.messages.push_back(EoseMessage(request.subscription));
    return reply;
  }

  RelayConfiguration here_;
  std::vector<std::string> notes_;
};

TEST_F(SyncRunTest, MakesBothSidesEqual) {
  MakeEqual();
  const SyncResult again = Sync(PartsToRelay());
  EXPECT_EQ(again.counts.received + again.counts.accepted, 0U) << "nothing is left";
}

TEST_F(SyncRunTest, MakesAPostgresAndARocksDbEqual) {
  if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
  const PostgresDatabase database;
  here_.storage.store = database.url();
  MakeEqual();
}

TEST_F(SyncRunTest, CarriesOverOneDirectionOnly) {
  Open();
  GiveThere(Lines(0, 20));
  GiveHere(Lines(10, 30));
  SyncRunParts down = PartsToRelay();
  down.direction = SyncDirection::kDown;
  EXPECT_EQ(Sync(down).counts.accepted, 0U);
  EXPECT_EQ(StoredHere().size(), 30U);
  EXPECT_EQ(StoredThere().size(), 20U);
  SyncRunParts up = PartsToRelay();
  up.direction = SyncDirection::kUp;
  EXPECT_EQ(Sync(up).counts.accepted, 10U);
  EXPECT_EQ(StoredThere().size(), 30U);
}

TEST_F(SyncRunTest, OnlyComparesInADryRun) {
  Open();
  GiveThere(Lines(0, 20));
  GiveHere(Lines(15, 30));
  SyncRunParts parts = PartsToRelay();
  parts.dry_run = true;
  const SyncResult result = Sync(parts);
  EXPECT_EQ(result.counts.need, 15U);
  EXPECT_EQ(result.counts.have, 10U);
  EXPECT_EQ(StoredHere().size(), 15U);
  EXPECT_EQ(StoredThere().size(), 20U);
  EXPECT_NE(ToText(result, SyncDirection::kBoth, true).find("15 events are only there, 10 only here"),
            std::string::npos);
}

TEST_F(SyncRunTest, TakesEachFilterInTurn) {
  Open();
  GiveThere(Lines(0, 10) + NoteLine(50, 7) + "\n" + NoteLine(51, 30000 - 1) + "\n" + NoteLine(52, 5000) + "\n");
  GiveHere(Lines(0, 5));
  SyncRunParts parts = PartsToRelay();
  parts.filters = {ParseFilter(R"({"kinds":[7]})").value(), ParseFilter(R"({"kinds":[5000]})").value()};
  EXPECT_EQ(Sync(parts).counts.received, 2U);
  EXPECT_EQ(StoredHere().size(), 7U);
}

TEST_F(SyncRunTest, SavesThroughTheRelayThatRuns) {
  Open();
  GiveThere(Lines(0, 30));
  // The relay of the fixture is this side's now, and a peer has events.
  here_ = configuration_;
  const std::string other = NoteLine(1000);
  WebSocketPeer peer([&](const std::string& message) -> WebSocketPeer::Reply {
    if (message.starts_with("[\"NEG-OPEN\""))
      return {.messages = {R"(["NOTICE","bad msg: unknown command NEG-OPEN"])"}};
    return PageOf(message, {other});
  });
  SyncRunParts parts = Parts(peer.url());
  parts.direction = SyncDirection::kDown;
  const SyncResult result = Sync(parts);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.saved[LineOutcome::kImported], 1U);
  EXPECT_EQ(result.counts.by_pages, "bad msg: unknown command NEG-OPEN");
  EXPECT_TRUE(StoredThere().contains(other));
  ASSERT_EQ(notes_.size(), 1U);
  EXPECT_NE(notes_[0].find("importing through it, as bulk work"), std::string::npos);
}

TEST_F(SyncRunTest, CountsWhatEitherSideRefuses) {
  const std::string mine = NoteLine(1);
  const std::string forged = Forged(NoteLine(2));
  GiveHere(mine + "\n");
  WebSocketPeer peer([&](const std::string& message) -> WebSocketPeer::Reply {
    if (message.starts_with("[\"NEG-OPEN\""))
      return {.messages = {R"(["NEG-ERR","sync","error: negentropy disabled"])"}};
    if (message.starts_with("[\"EVENT\""))
      return {.messages = {OkMessage(FindId(std::string_view(message).substr(message.find('{'))), false,
                                     "blocked: not a member")}};
    return PageOf(message, {forged});
  });
  const SyncResult result = Sync(Parts(peer.url()));
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.saved[LineOutcome::kSignature], 1U);
  EXPECT_EQ(result.rejected.counts().size(), 1U);
  EXPECT_EQ(result.counts.refused.counts(), (std::map<std::string, uint64_t>{{"blocked: not a member", 1}}));
  EXPECT_EQ(StoredHere(), std::set{mine});
  const std::string text = ToText(result, SyncDirection::kBoth, false);
  EXPECT_NE(text.find("up: 1 events, 0 accepted, 1 refused\n  1 blocked: not a member\n"), std::string::npos) << text;
}

TEST_F(SyncRunTest, ConnectsAgainAndGoesOnWithWhatIsLeft) {
  std::vector<std::string> events;
  for (uint64_t n = 0; n < 4; ++n) events.push_back(NoteLine(n, 1, "[]", kLineTime + n));
  WebSocketPeer peer([&, connection = 0](const std::string& message) mutable -> WebSocketPeer::Reply {
    if (message.starts_with("[\"NEG-OPEN\"")) {
      ++connection;
      return {.messages = {R"(["NEG-ERR","sync","error: negentropy disabled"])"}};
    }
    if (!message.starts_with("[\"REQ\"")) return {};
    const ClientMessage parsed = ParseClientMessage(message);
    const Req& request = std::get<Req>(parsed);
    WebSocketPeer::Reply reply{.breaks = connection < 3};
    for (int n = 0; n < 2 * connection && n < 4; ++n)
      if (request.filters[0].until >= kLineTime + static_cast<uint64_t>(n))
        reply.messages.push_back(EventMessageHead(request.subscription) + events[static_cast<size_t>(n)] + "]");
    if (!reply.breaks) reply.messages.push_back(EoseMessage(request.subscription));
    return reply;
  });
  const SyncResult result = Sync(Parts(peer.url()));
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(peer.connections(), 3U);
  EXPECT_EQ(notes_.size(), 2U);
  EXPECT_EQ(StoredHere(), std::set<std::string>(events.begin(), events.end()));
}

// A relay that compares few events at once, and says so in its NIP-11 document.
TEST_F(SyncRunTest, ComparesInPartsWhatIsTooMuchAtOnce) {
  configuration_.relay.max_sync_events = 40;
  Open();
  std::string there, here;
  for (uint64_t n = 0; n < 300; ++n) {
    const std::string line = NoteLine(n, 1, "[]", kLineTime + n * n * 1000) + "\n";
    if (n % 10 != 0) there += line;
    if (n % 7 != 0) here += line;
  }
  GiveThere(there);
  GiveHere(here);
  const SyncResult result = Sync(PartsToRelay());
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.counts.by_pages, "");
  EXPECT_EQ(StoredHere().size(), 295U) << "five are on neither side";
  EXPECT_TRUE(StoredHere() == StoredThere());
  EXPECT_EQ(result.counts.stored, 257U);
  // The parts have at most 33 own events, and none was refused and divided.
  const std::string opened = R"(nostr_client_messages_total{verb="NEG-OPEN"} 8)";
  EXPECT_TRUE(Eventually([&] { return Get("/metrics").find(opened) != std::string::npos; })) << Get("/metrics");
}

// A relay that does not say how many events it compares.
TEST_F(SyncRunTest, DividesWhatIsRefusedByTheOwnEvents) {
  GiveHere(Lines(0, 3000));  // three in a second
  const std::string middle = std::to_string(kLineTime + 500);
  WebSocketPeer peer([](const std::string& message) -> WebSocketPeer::Reply {
    if (!message.starts_with("[\"NEG-OPEN\"")) return {};
    const bool is_whole = message.find("since") == message.npos;
    return {.messages = {is_whole ? R"(["NEG-ERR","sync","blocked: too many events"])"
                                  : R"(["NEG-ERR","sync","rate-limited: not now"])"}};
  });
  SyncRunParts parts = Parts(peer.url());
  std::stop_source stop;
  parts.stop = stop.get_token();
  parts.on_note = [&](const std::string&) { stop.request_stop(); };
  EXPECT_EQ(Sync(parts).status.message(), "stopped");
  ASSERT_EQ(peer.heard().size(), 2U);
  EXPECT_NE(peer.heard()[1].find("\"since\":" + middle), std::string::npos) << peer.heard()[1].substr(0, 100);
}

// The relay's answers are full, so that each message asks for the rest once more.
TEST_F(SyncRunTest, CarriesOverEachEventOnceIntoAFarSmallerSet) {
  Open();
  GiveThere(Lines(0, 6000));
  GiveHere(Lines(5000, 5040));
  const SyncResult result = Sync(PartsToRelay());
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(result.counts.need, 5960U);
  EXPECT_EQ(result.counts.received, 5960U);
  EXPECT_EQ(result.saved[LineOutcome::kImported], 5960U);
  EXPECT_EQ(result.counts.have, 0U);
}

TEST_F(SyncRunTest, SavesOnlyWhatMatchesTheFilter) {
  const std::string asked = NoteLine(1, 7);
  const std::string other = NoteLine(2, 5);
  WebSocketPeer peer([&](const std::string& message) -> WebSocketPeer::Reply {
    if (message.starts_with("[\"NEG-OPEN\""))
      return {.messages = {R"(["NEG-ERR","sync","error: negentropy disabled"])"}};
    return PageOf(message, {asked, other});
  });
  SyncRunParts parts = Parts(peer.url());
  parts.filters = {ParseFilter(R"({"kinds":[7]})").value()};
  const SyncResult result = Sync(parts);
  ASSERT_TRUE(result.status.ok()) << result.status.message();
  EXPECT_EQ(StoredHere(), std::set{asked});
}

TEST_F(SyncRunTest, KeepsPrivateEventsUnlessTheFilterNamesTheirKinds) {
  Open();
  GiveHere(NoteLine(1) + "\n" + NoteLine(2, 1059) + "\n");
  const SyncResult all = Sync(PartsToRelay());
  EXPECT_EQ(all.counts.accepted, 1U);
  EXPECT_EQ(all.counts.withheld, 1U);
  SyncRunParts parts = PartsToRelay();
  parts.filters = {ParseFilter(R"({"kinds":[1,1059]})").value()};
  EXPECT_EQ(Sync(parts).counts.accepted, 1U);
}

TEST_F(SyncRunTest, EndsAtOnceIfTheRelayWantsAuthentication) {
  Open();
  SyncRunParts parts = PartsToRelay();
  parts.filters = {ParseFilter(R"({"kinds":[1059]})").value()};
  EXPECT_NE(Sync(parts).status.message().find("auth-required:"), std::string::npos);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(SyncRunTest, EndsAtOnceIfTheRelayIsAway) {
  std::optional<WebSocketPeer> peer([](const std::string&) { return WebSocketPeer::Reply{}; });
  const SyncRunParts parts = Parts(peer->url());
  peer.reset();
  const std::string error = Sync(parts).status.message();
  EXPECT_TRUE(error.starts_with(parts.url + ": cannot connect")) << error;
  EXPECT_TRUE(notes_.empty());
}

TEST_F(SyncRunTest, StopsBetweenTwoAttempts) {
  WebSocketPeer peer([](const std::string&) { return WebSocketPeer::Reply{.breaks = true}; });
  SyncRunParts parts = Parts(peer.url());
  std::stop_source stop;
  parts.stop = stop.get_token();
  parts.on_note = [&](const std::string&) { stop.request_stop(); };
  EXPECT_EQ(Sync(parts).status.message(), "stopped");
  EXPECT_EQ(peer.connections(), 1U);
}

}  // namespace
}  // namespace weir
