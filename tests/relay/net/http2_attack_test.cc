// Attacks that strangers have made on servers of HTTP/2. Whatever comes, the connection ends with a reason, little is
// held, and the others are served.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "tests/relay/net/http2_fixture.h"

namespace weir {
namespace {

class Http2AttackTest : public Http2Test {
 protected:
  // Returns more of one thing than a second may have, even if a second ends meanwhile.
  static std::string Many(const std::string& one, int times = 5000) {
    std::string all;
    for (int n = 0; n < times; ++n) all += one;
    return all;
  }
  // Sends the attack on a connection of its own, while it reads what comes back.
  void ExpectCalm(const std::string& attack) {
    RawHttp2 raw = Raw();
    std::thread sender([&] { raw.Send(attack); });
    const RawHttp2::End end = raw.AwaitEnd();
    sender.join();
    EXPECT_EQ(end.code, static_cast<uint32_t>(NGHTTP2_ENHANCE_YOUR_CALM)) << end.why;
    ExpectService();
  }
  static std::string Ping() { return Http2Frame(NGHTTP2_PING, 0, 0, std::string(8, 'p')); }
};

TEST_F(Http2AttackTest, EndsARapidReset) {
  Start();
  std::string attack;
  for (uint32_t n = 0; n < 20'000; ++n)
    attack += GetFrame(2 * n + 1) + Http2Frame(NGHTTP2_RST_STREAM, 0, 2 * n + 1, FourBytes(NGHTTP2_CANCEL));
  ExpectCalm(attack);
  EXPECT_LT(server_->Stats().http_requests, 20'000U);
}

TEST_F(Http2AttackTest, EndsAFloodOfResetsOfWaitingRequests) {
  Start();
  std::string attack;
  const std::string block("\x82\x86\x41\x01x\x04\x06/later", 13);
  for (uint32_t n = 0; n < 20'000; ++n) {
    attack += Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 2 * n + 1, block) +
              Http2Frame(NGHTTP2_RST_STREAM, 0, 2 * n + 1, FourBytes(NGHTTP2_CANCEL));
  }
  ExpectCalm(attack);
}

TEST_F(Http2AttackTest, EndsAFloodOfResetsByTheServer) {
  Start();
  std::string attack;
  const std::string block("\x82\x86\x41\x01x\x04\x06/later", 13);
  for (uint32_t n = 0; n < 20'000; ++n) {
    attack += Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 2 * n + 1, block) +
              Http2Frame(NGHTTP2_WINDOW_UPDATE, 0, 2 * n + 1, FourBytes(0x7fffffff));
  }
  ExpectCalm(attack);
}

TEST_F(Http2AttackTest, EndsFloodsOfFramesThatAskForNothing) {
  Start();
  const std::string open = Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 1, kGetBlock);
  ExpectCalm(Many(Ping()));
  ExpectCalm(Many(Http2Frame(NGHTTP2_SETTINGS, 0, 0)));
  ExpectCalm(Many(Http2Frame(NGHTTP2_PRIORITY, 0, 1, FourBytes(0) + "x")));
  ExpectCalm(Many(Http2Frame(NGHTTP2_WINDOW_UPDATE, 0, 0, FourBytes(1))));
  ExpectCalm(open + Many(Http2Frame(NGHTTP2_DATA, 0, 1)));
}

TEST_F(Http2AttackTest, EndsAHeaderInEndlessPieces) {
  Start();
  RawHttp2 raw = Raw();
  const std::string attack =
      Http2Frame(NGHTTP2_HEADERS, 0, 1, kGetBlock) + Many(Http2Frame(NGHTTP2_CONTINUATION, 0, 1));
  std::thread sender([&] { raw.Send(attack); });
  EXPECT_TRUE(raw.AwaitEnd().code);
  sender.join();
  ExpectService();
}

// One field of 4 KB in the table, and one byte for each time that it is used.
TEST_F(Http2AttackTest, RefusesAHeaderThatUnpacksToMuch) {
  Start();
  std::string block = kGetBlock;
  const std::string value(3900, 'v');
  block += std::string("\x40\x01k\x7f", 4) + static_cast<char>(0x80 | ((value.size() - 127) & 127)) +
           static_cast<char>((value.size() - 127) >> 7) + value;
  block += std::string(12'000, '\xbe');
  RawHttp2 raw = Raw();
  raw.Send(Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, block));
  EXPECT_EQ(raw.AwaitEnd().why, "a header far too long");
  ExpectService();
}

TEST_F(Http2AttackTest, RefusesMoreStreamsThanAllowed) {
  Start();
  RawHttp2 raw = Raw();
  const std::string block("\x82\x86\x41\x01x\x04\x06/later", 13);
  std::string attack;
  for (uint32_t n = 0; n < 200; ++n)
    attack += Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 2 * n + 1, block);
  raw.Send(attack);
  ASSERT_TRUE(record_.Await("asked", 128));
  for (int n = 0; n < 72; ++n) {
    const auto reset = raw.Next(NGHTTP2_RST_STREAM);
    ASSERT_TRUE(reset);
    EXPECT_EQ(reset->payload, FourBytes(NGHTTP2_REFUSED_STREAM));
  }
  EXPECT_EQ(record_.Count("asked"), 128U);
  ExpectService();
}

TEST_F(Http2AttackTest, StopsReadingFromAClientThatTakesNothing) {
  settings_.handshake_timeout = std::chrono::minutes(5);
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  RawHttp2 raw(std::move(client));
  std::thread sender([&] {
    for (uint32_t n = 0; n < 2000; ++n)
      if (!raw.Send(GetFrame(2 * n + 1))) return;
  });
  EXPECT_TRUE(Eventually([&] { return server_->Stats().http_requests > 100; }));
  ExpectService();
  EXPECT_LT(server_->Stats().pending_bytes, 2'000'000U);
  for (int n = 0; n < 100; ++n) EXPECT_TRUE(raw.Next(NGHTTP2_DATA));
  raw.client().HalfClose();
  sender.join();
}

// A frame that is not well-formed does no more than end its connection.
RC_GTEST_FIXTURE_PROP(Http2AttackTest, ArbitraryFramesEndNoMoreThanTheirConnection, ()) {
  Start();
  RawHttp2 raw = Raw();
  std::string attack;
  for (int n = *rc::gen::inRange(1, 30); n > 0; --n) {
    const bool good = *rc::gen::arbitrary<bool>();
    attack += good ? GetFrame(2U * *rc::gen::inRange(0U, 20U) + 1)
                   : Http2Frame(*rc::gen::inRange<uint8_t>(0, 12), *rc::gen::arbitrary<uint8_t>(),
                                *rc::gen::inRange(0U, 40U), *rc::gen::arbitrary<std::string>());
  }
  raw.Send(attack);
  raw.client().HalfClose();
  raw.AwaitEnd();
  ExpectService();
}

}  // namespace
}  // namespace weir
