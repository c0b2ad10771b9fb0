// Unary calls of gRPC, by frames that keep to the rules and by frames that do not.
#include "relay/net/grpc/grpc_service.h"

#include "test/greeter.pb.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

class GrpcServiceTest : public ServerTest {
 protected:
  GrpcServiceTest() {
    GrpcService greeter(router_, "test.Greeter");
    greeter.AddUnary<test::Name, test::Greeting>(
        "Greet", [](const GrpcCall& call, const test::Name& name, const GrpcReply<test::Greeting>& reply) {
          if (name.name() == "nobody") return reply(GrpcStatus{GrpcCode::kNotFound, "100 % of nobody: ä\n"});
          if (name.name() == "fault") throw std::runtime_error("secret");
          test::Greeting greeting;
          greeting.set_text(name.name() + (call.deadline ? " in time" : ""));
          reply(greeting);
        });
  }
  ~GrpcServiceTest() override { server_.reset(); }

  static test::Name Named(const std::string& name) {
    test::Name message;
    message.set_name(name);
    return message;
  }
  RawAnswer Greet(const std::string& name, const Http2Fields& more = {}) {
    Http2Peer peer(Connect());
    return CallGrpc(peer, "/test.Greeter/Greet", Named(name), more);
  }
  RawAnswer Send(const std::string& body, const Http2Fields& fields = kGrpcFields,
                 const std::string& path = "/test.Greeter/Greet") {
    Http2Peer peer(Connect());
    return peer.Fetch("POST", path, body, fields);
  }
};

TEST_F(GrpcServiceTest, AnswersWithAMessageAndTrailers) {
  Start();
  const RawAnswer answer = Greet("ann");
  EXPECT_EQ(MessageIn<test::Greeting>(answer).text(), "ann");
  EXPECT_EQ(answer.headers.at("content-type"), "application/grpc");
  EXPECT_EQ(answer.headers.count("content-length"), 0U);
  EXPECT_EQ(MessageIn<test::Greeting>(Greet("")).text(), "") << "an empty message is one";
}

TEST_F(GrpcServiceTest, TrailersComeBehindTheBody) {
  Start();
  RawHttp2 raw(Connect());
  Http2Peer maker(Connect());  // makes the frames
  Http2Fields fields = kGrpcFields;
  maker.Ask("POST", "/test.Greeter/Greet", GrpcFrame(Named("ann").SerializeAsString()), fields);
  std::string frames = maker.TakeOutput();
  raw.Send(frames.substr(frames.find("SM\r\n\r\n") + 6));
  const auto head = raw.Next(NGHTTP2_HEADERS);
  const auto body = raw.Next(NGHTTP2_DATA);
  const auto trailers = raw.Next(NGHTTP2_HEADERS);
  ASSERT_TRUE(head && body && trailers);
  EXPECT_EQ(head->flags & NGHTTP2_FLAG_END_STREAM, 0);
  EXPECT_EQ(body->flags & NGHTTP2_FLAG_END_STREAM, 0);
  EXPECT_NE(trailers->flags & NGHTTP2_FLAG_END_STREAM, 0);
}

TEST_F(GrpcServiceTest, TrailersWaitForTheWindow) {
  Start();
  Http2Peer peer(Connect(), {.stream_window = 7, .takes_all = false});
  const int32_t id = peer.Ask("POST", "/test.Greeter/Greet",
                              GrpcFrame(Named(std::string(3000, 'n')).SerializeAsString()), kGrpcFields);
  while (peer.SoFar(id).body.size() < 7) ASSERT_TRUE(peer.Take());
  EXPECT_EQ(peer.SoFar(id).headers.count("grpc-status"), 0U);
  nghttp2_submit_window_update(peer.session(), NGHTTP2_FLAG_NONE, id, 10'000);
  EXPECT_EQ(MessageIn<test::Greeting>(peer.Await(id)).text(), std::string(3000, 'n'));
}

TEST_F(GrpcServiceTest, AnErrorIsAHeaderAlone) {
  Start();
  const RawAnswer answer = Greet("nobody");
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kNotFound);
  EXPECT_EQ(MessageOf(answer), "100 % of nobody: ä\n");
  EXPECT_EQ(answer.body, "");
}

TEST_F(GrpcServiceTest, AFaultIsInternalAndTellsNothing) {
  Start();
  const RawAnswer answer = Greet("fault");
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kInternal);
  EXPECT_FALSE(Has(MessageOf(answer), "secret"));
}

TEST_F(GrpcServiceTest, SaysWhichMethodIsNotThere) {
  Start();
  const RawAnswer answer = Send(GrpcFrame(""), kGrpcFields, "/test.Greeter/Insult");
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kUnimplemented);
  EXPECT_EQ(MessageOf(answer), "there is no method test.Greeter/Insult");
  EXPECT_EQ(Send(GrpcFrame(""), kGrpcFields, "/test.Stranger/Greet").status, 404) << "which clients take for the same";
}

TEST_F(GrpcServiceTest, RefusesOtherContentTypesAndHttp1) {
  Start();
  EXPECT_EQ(Send("{}", {{"content-type", "application/json"}}).status, 415);
  EXPECT_EQ(Send("{}", {}).status, 415);
  EXPECT_EQ(Send(GrpcFrame(""), {{"content-type", "application/grpc-web"}}).status, 415);
  EXPECT_EQ(GrpcCodeOf(Send(GrpcFrame(""), {{"content-type", "application/grpc+proto"}})), GrpcCode::kOk);
  EXPECT_EQ(StatusOf(GrpcOverHttp1("/test.Greeter/Greet", "application/grpc")), 505);
  EXPECT_EQ(StatusOf(GrpcOverHttp1("/test.Greeter/Greet", "text/plain")), 415);
}

TEST_F(GrpcServiceTest, MalformedMessagesAreInternalErrors) {
  Start();
  const std::string good = Named("ann").SerializeAsString();
  const std::pair<std::string, std::string> cases[] = {
      {"", "a message is missing"},
      {std::string(3, '\0'), "the message ends early"},
      {GrpcFrame(good, good.size(), 1), "a message is compressed, and grpc-encoding does not say by what"},
      {GrpcFrame(good, good.size(), 2), "a message's first byte is neither 0 nor 1"},
      {GrpcFrame(good, good.size() + 1), "the message ends early"},
      {GrpcFrame(good) + GrpcFrame(good), "something follows the message, expected one"},
      {GrpcFrame("\x0a\x7f"), "the message is no test.Name"},
      {GrpcFrame("\x0a\x01\xff"), "the message is no test.Name"},  // text that is not UTF-8
  };
  for (const auto& [body, message] : cases) {
    const RawAnswer answer = Send(body);
    EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kInternal) << message;
    EXPECT_EQ(MessageOf(answer), message);
  }
}

// Some clients decode only the characters that the protocol encodes.
TEST(GrpcTrailers, EncodeOnlyPercentSignsAndUnprintableBytes) {
  const HttpFields trailers =
      GrpcTrailers({GrpcCode::kInternal, "invalid_request: a, b; \"c\"/d\n100 % \xC3\xA9~\x7f"});
  EXPECT_EQ(trailers.back(),
            std::pair(std::string("grpc-message"), std::string("invalid_request: a, b; \"c\"/d%0A100 %25 %C3%A9~%7F")));
}

TEST_F(GrpcServiceTest, RefusesMessagesThatAreTooLong) {
  settings_.max_http_body_bytes = 4096;
  Start();
  EXPECT_EQ(GrpcCodeOf(Send(GrpcFrame("", 0xffffffff))), GrpcCode::kResourceExhausted) << "what it says";
  EXPECT_EQ(GrpcCodeOf(Send(GrpcFrame(std::string(5000, 'x')))), GrpcCode::kResourceExhausted) << "what it is";
  RawClient client = ConnectAndSend("POST /test.Greeter/Greet HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n");
  const RawAnswer plain = client.Answer();
  EXPECT_EQ(plain.status, 413) << "over HTTP/1.1 it is said in its own form";
  EXPECT_EQ(plain.headers.count("grpc-status"), 0U);
}

TEST_F(GrpcServiceTest, RefusalsByTheServerItselfHaveAGrpcCode) {
  const std::pair<int, GrpcCode> codes[] = {
      {400, GrpcCode::kInternal},          {401, GrpcCode::kUnauthenticated}, {403, GrpcCode::kPermissionDenied},
      {404, GrpcCode::kUnimplemented},     {405, GrpcCode::kUnimplemented},   {408, GrpcCode::kDeadlineExceeded},
      {413, GrpcCode::kResourceExhausted}, {429, GrpcCode::kUnavailable},     {431, GrpcCode::kResourceExhausted},
      {500, GrpcCode::kInternal},          {503, GrpcCode::kUnavailable},     {418, GrpcCode::kUnknown}};
  const HttpRequest call{.headers = {{"content-type", "application/grpc"}}, .over_http2 = true};
  for (const auto& [status, code] : codes) {
    const HttpResponse error = PlainErrorAsGrpc({.status = status, .body = "no\n"}, call);
    EXPECT_EQ(error.status, 200);
    const HttpFields fields = {{"grpc-status", std::to_string(static_cast<int>(code))}, {"grpc-message", "no"}};
    EXPECT_EQ(error.headers, fields) << status;
  }
}

TEST_F(GrpcServiceTest, RefusesCompressedMessages) {
  Start();
  const RawAnswer answer = Greet("ann", {{"grpc-encoding", "gzip"}});
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kUnimplemented);
  EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "identity");
  EXPECT_EQ(GrpcCodeOf(Greet("ann", {{"grpc-encoding", "identity"}})), GrpcCode::kOk);
}

TEST_F(GrpcServiceTest, KeepsTheDeadlineOfTheCall) {
  Start();
  for (const char* timeout : {"1H", "99999999H", "99999999M", "9S", "99999999m", "99999999u", "99999999n"})
    EXPECT_EQ(MessageIn<test::Greeting>(Greet("ann", {{"grpc-timeout", timeout}})).text(), "ann in time") << timeout;
  EXPECT_EQ(GrpcCodeOf(Greet("ann", {{"grpc-timeout", "0m"}})), GrpcCode::kDeadlineExceeded);
  for (const char* timeout : {"m", "1", "-1S", "1h", "999999999S", "1.5S"})
    EXPECT_EQ(GrpcCodeOf(Greet("ann", {{"grpc-timeout", timeout}})), GrpcCode::kInternal) << timeout;
}

}  // namespace
}  // namespace weir
