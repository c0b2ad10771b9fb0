// Calls of gRPC whose messages come and go one by one, by frames.
#include "relay/net/grpc/grpc_stream.h"

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "relay/net/grpc/grpc_service.h"
#include "relay/net/grpc/grpc_watch.h"
#include "test/greeter.pb.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

std::string NameFrame(const std::string& name) {
  test::Name message;
  message.set_name(name);
  return GrpcFrame(message.SerializeAsString());
}

// Returns the texts of the messages that are whole.
std::vector<std::string> GreetingsIn(std::string_view body) {
  std::vector<std::string> texts;
  for (const auto& greeting : MessagesIn<test::Greeting>(body)) texts.push_back(greeting.text());
  return texts;
}

class GrpcStreamTest : public ServerTest {
 protected:
  class Greeter final : public GrpcStreamHandler {
   public:
    Greeter(GrpcStreamTest& test, GrpcStream& stream) : test_(test), stream_(stream) {}
    void OnMessage(std::string_view framed) override {
      ++test_.heard_;
      test::Name name;
      if (const GrpcStatus read = ReadGrpcMessage(framed, &name); !read.ok()) return stream_.Finish(read);
      if (name.name() == "fault") throw std::runtime_error("secret");
      test::Greeting greeting;
      greeting.set_text("hello " + name.name());
      stream_.Send(greeting);
    }
    void OnMessagesEnd() override { stream_.Finish({}); }
    void OnEnd() override { ++test_.ended_; }

   private:
    GrpcStreamTest& test_;
    GrpcStream& stream_;
  };

  GrpcStreamTest() {
    GrpcService greeter(router_, "test.Greeter");
    greeter.AddStream("GreetEach",
                      [this](const GrpcCall&, GrpcStream& stream) { return std::make_shared<Greeter>(*this, stream); });
    greeter.AddWatch<test::Name, test::Greeting>(
        "GreetOften", {.beat = milliseconds(5), .most_of_an_address = 2},
        [](test::Greeting* greeting) { greeting->set_text(greeting->text().substr(0, greeting->text().find('@'))); },
        [this](const GrpcCall&, const test::Name& name, const GrpcReply<test::Greeting>& reply) {
          ++heard_;
          const std::lock_guard lock(mutex_);
          if (name.name() == "silent") return;
          if (name.name() == "late") {
            kept_.push_back(reply);
            return;
          }
          if (error_) return reply(*error_);
          test::Greeting greeting;
          greeting.set_text(text_ + "@" + std::to_string(heard_));
          reply(greeting);
        });
  }
  ~GrpcStreamTest() override {
    kept_.clear();
    server_.reset();
  }

  // `whole`: no more messages follow.
  int32_t Begin(Http2Peer& peer, const std::string& method, const std::string& body, bool whole = true,
                Http2Fields more = {}) {
    more.insert(more.end(), kGrpcFields.begin(), kGrpcFields.end());
    return peer.Ask("POST", "/test.Greeter/" + method, body, more, whole);
  }
  void AwaitGreetings(Http2Peer& peer, int32_t id, size_t count) {
    while (GreetingsIn(peer.SoFar(id).body).size() < count) ASSERT_TRUE(peer.Take());
  }
  void Say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ = text;
  }

  std::atomic<int> heard_{0};
  std::atomic<int> ended_{0};
  std::mutex mutex_;
  std::string text_ = "one";
  std::optional<GrpcStatus> error_;
  std::vector<GrpcReply<test::Greeting>> kept_;
};

TEST_F(GrpcStreamTest, EachMessageIsAnsweredAsItComes) {
  Start();
  Http2Peer peer(Connect());
  const int32_t id = Begin(peer, "GreetEach", NameFrame("ann") + NameFrame("bob"), false);
  AwaitGreetings(peer, id, 2);
  EXPECT_EQ(GreetingsIn(peer.SoFar(id).body), (std::vector<std::string>{"hello ann", "hello bob"}));
  EXPECT_EQ(peer.SoFar(id).headers.count("grpc-status"), 0U);
  peer.Reset(id);
  EXPECT_TRUE(Eventually([&] { return ended_ == 1; }));
}

TEST_F(GrpcStreamTest, TheEndComesInTrailers) {
  Start();
  Http2Peer peer(Connect());
  const RawAnswer answer = peer.Await(Begin(peer, "GreetEach", NameFrame("ann")));
  EXPECT_EQ(GreetingsIn(answer.body), std::vector<std::string>{"hello ann"});
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kOk);
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetEach", ""))), GrpcCode::kOk) << "no message is none too few";
  EXPECT_TRUE(Eventually([&] { return ended_ == 2; }));
}

TEST_F(GrpcStreamTest, AMalformedMessageEndsItWithACode) {
  Start();
  Http2Peer peer(Connect());
  const std::pair<std::string, GrpcCode> cases[] = {
      {GrpcFrame("", 4), GrpcCode::kInternal},
      {std::string(3, '\0'), GrpcCode::kInternal},
      {GrpcFrame("\x0a\x7f"), GrpcCode::kInternal},
      {GrpcFrame("", 0, 1), GrpcCode::kInternal},
      {GrpcFrame("", 0, 7), GrpcCode::kInternal},
      {GrpcFrame("", kMostStreamedMessageBytes + 1), GrpcCode::kResourceExhausted},
      {GrpcFrame("", 0xffffffff), GrpcCode::kResourceExhausted},
  };
  for (const auto& [body, code] : cases) {
    const RawAnswer answer = peer.Await(Begin(peer, "GreetEach", NameFrame("ann") + body));
    EXPECT_EQ(GrpcCodeOf(answer), code);
    EXPECT_EQ(GreetingsIn(answer.body).size(), 1U) << "those before it are answered";
  }
}

TEST_F(GrpcStreamTest, AMessageMayBeLong) {
  Start();
  Http2Peer peer(Connect());
  const std::string name(kMostStreamedMessageBytes - 8, 'n');
  std::string body;
  for (int n = 0; n < 50; ++n) body += NameFrame(name);
  EXPECT_EQ(GreetingsIn(peer.Await(Begin(peer, "GreetEach", body)).body).size(), 50U);
}

TEST_F(GrpcStreamTest, AFaultEndsItAndTellsNothing) {
  Start();
  Http2Peer peer(Connect());
  const RawAnswer first = peer.Await(Begin(peer, "GreetEach", NameFrame("fault")));
  EXPECT_EQ(GrpcCodeOf(first), GrpcCode::kInternal);
  EXPECT_FALSE(Has(MessageOf(first), "secret"));
  const int32_t id = Begin(peer, "GreetEach", NameFrame("ann") + NameFrame("fault"));
  EXPECT_EQ(peer.AwaitClose(id), static_cast<uint32_t>(NGHTTP2_INTERNAL_ERROR)) << "an answer that has begun is cut";
  EXPECT_TRUE(Eventually([&] { return ended_ == 2; }));
}

TEST_F(GrpcStreamTest, StopsReadingFromAClientThatDoesNotRead) {
  Start();
  Http2Peer peer(Connect(), {.stream_window = 100, .takes_all = false});
  std::string body;
  for (int n = 0; n < 5000; ++n) body += NameFrame("somebody with a name that has forty bytes");
  const int32_t id = Begin(peer, "GreetEach", body.substr(0, 60'000), false);
  while (peer.SoFar(id).body.size() < 100) ASSERT_TRUE(peer.Take());
  const int heard = heard_;
  EXPECT_LT(heard * 48U, GrpcStream::kMostWaitingBytes + 2000);
  for (const int32_t window : {0, id})
    nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, window, 10'000'000);
  AwaitGreetings(peer, id, 60'000 / NameFrame("somebody with a name that has forty bytes").size());
}

TEST_F(GrpcStreamTest, OverHttp1ItIsRefused) {
  Start();
  EXPECT_EQ(StatusOf(GrpcOverHttp1("/test.Greeter/GreetEach", "application/grpc")), 505);
  EXPECT_EQ(StatusOf(GrpcOverHttp1("/test.Greeter/GreetEach", "text/plain")), 415);
}

TEST_F(GrpcStreamTest, AtTheServersEndItIsUnavailable) {
  Start();
  Http2Peer peer(Connect());
  const int32_t each = Begin(peer, "GreetEach", NameFrame("ann"), false);
  const int32_t often = Begin(peer, "GreetOften", NameFrame("ann"));
  AwaitGreetings(peer, each, 1);
  AwaitGreetings(peer, often, 1);
  server_->Shutdown(std::chrono::seconds(60));
  EXPECT_EQ(GrpcCodeOf(peer.Await(each)), GrpcCode::kUnavailable);
  EXPECT_EQ(GrpcCodeOf(peer.Await(often)), GrpcCode::kUnavailable);
}

TEST_F(GrpcStreamTest, AWatchTellsAtOnceAndWhatHasChanged) {
  Start();
  Http2Peer peer(Connect());
  const int32_t id = Begin(peer, "GreetOften", NameFrame("ann"));
  AwaitGreetings(peer, id, 1);
  const int heard = heard_;
  ASSERT_TRUE(Eventually([&] { return heard_ > heard + 3; })) << "it is asked again";
  Say("two");
  AwaitGreetings(peer, id, 2);
  {
    const std::lock_guard lock(mutex_);
    error_ = GrpcStatus{GrpcCode::kNotFound, "gone"};
  }
  const RawAnswer answer = peer.Await(id);
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kNotFound);
  EXPECT_EQ(MessageOf(answer), "gone");
  const auto greetings = GreetingsIn(answer.body);
  ASSERT_EQ(greetings.size(), 2U) << "what passes is no news";
  EXPECT_EQ(greetings[0], "one@1");
  EXPECT_TRUE(greetings[1].starts_with("two@"));
}

// Otherwise all watches that began together would ask in one go, at every beat.
TEST(GrpcWatch, WatchesThatBeginTogetherAskSpreadOverABeat) {
  constexpr std::chrono::nanoseconds kBeat = std::chrono::seconds(1);
  EXPECT_EQ(FirstBeat(0, kBeat), kBeat);
  for (const uint64_t first : {uint64_t{0}, uint64_t{12345}, uint64_t{1} << 40}) {
    std::vector<int> tenths(10);
    for (uint64_t n = first; n < first + 1000; ++n) {
      const std::chrono::nanoseconds at = FirstBeat(n, kBeat);
      ASSERT_GT(at.count(), 0);
      ASSERT_LE(at, kBeat);
      ++tenths[static_cast<size_t>((at.count() - 1) * 10 / kBeat.count())];
    }
    for (const int tenth : tenths) EXPECT_NEAR(tenth, 100, 3) << first;
  }
}

TEST_F(GrpcStreamTest, AWatchTakesOneMessage) {
  Start();
  Http2Peer peer(Connect());
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetOften", ""))), GrpcCode::kInternal);
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetOften", NameFrame("ann") + NameFrame("bob")))),
            GrpcCode::kInternal);
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetOften", GrpcFrame("\x0a\x7f")))), GrpcCode::kInternal);
}

TEST_F(GrpcStreamTest, AnAddressWatchesSoMuchAndNoMore) {
  Start();
  Http2Peer peer(Connect());
  const int32_t first = Begin(peer, "GreetOften", NameFrame("ann"));
  const int32_t second = Begin(peer, "GreetOften", NameFrame("bob"));
  AwaitGreetings(peer, first, 1);
  AwaitGreetings(peer, second, 1);
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetOften", NameFrame("cid")))), GrpcCode::kResourceExhausted);
  peer.Reset(first);
  const int32_t fourth = Begin(peer, "GreetOften", NameFrame("dan"));
  AwaitGreetings(peer, fourth, 1);
}

TEST_F(GrpcStreamTest, AWatchEndsAtItsDeadline) {
  Start();
  Http2Peer peer(Connect());
  const RawAnswer answer = peer.Await(Begin(peer, "GreetOften", NameFrame("ann"), true, {{"grpc-timeout", "50m"}}));
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kDeadlineExceeded);
}

TEST_F(GrpcStreamTest, AWatchWithoutAnAnswerEnds) {
  Start();
  Http2Peer peer(Connect());
  EXPECT_EQ(GrpcCodeOf(peer.Await(Begin(peer, "GreetOften", NameFrame("silent")))), GrpcCode::kInternal);
}

TEST_F(GrpcStreamTest, AHandlerThatOwesAnAnswerLearnsThatTheWatchEnded) {
  Start();
  Http2Peer peer(Connect());
  const int32_t id = Begin(peer, "GreetOften", NameFrame("late"));
  peer.Flush();
  std::atomic<bool> told{false};
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex_);
    return !kept_.empty();
  }));
  const GrpcReply<test::Greeting> reply = [&] {
    const std::lock_guard lock(mutex_);
    return kept_.front();
  }();
  reply.http().OnLeft([&told](HttpLeft) { told = true; });
  EXPECT_FALSE(reply.http().abandoned());
  peer.Reset(id);
  EXPECT_TRUE(Eventually([&] { return told.load(); }));
  EXPECT_TRUE(reply.http().abandoned());
  reply(test::Greeting());  // the client is gone
}

}  // namespace
}  // namespace weir
