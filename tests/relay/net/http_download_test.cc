// Answers in pieces, to clients that take them slowly.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/relay/net/stream_fixture.h"

namespace weir {
namespace {

class DownloadTest : public StreamTest {
 protected:
  static constexpr size_t kPiece = size_t{64} << 10;

  // Writes when there is room, and only then.
  void SendPieces(size_t pieces) {
    stream_.on_body_end = [this, pieces](HttpExchange& exchange, const std::string&) {
      left_ = pieces;
      exchange.Begin({});
      WriteSome(exchange);
    };
  }
  void WriteSome(HttpExchange& exchange) {
    while (left_ > 0 && exchange.pending_bytes() <= kPiece) {
      exchange.Write(std::string(kPiece, static_cast<char>('a' + left_ % 26)));
      --left_;
    }
    if (left_ == 0) return exchange.End();
    exchange.WhenPendingBelow(kPiece, [this, &exchange] { WriteSome(exchange); });
  }

  void WriteLarge(HttpExchange& exchange, size_t bytes) {
    if (left_-- == 0) return exchange.End();
    exchange.Write(std::string(bytes, 'x'));
    exchange.WhenPendingBelow(HttpExchange::kAlwaysTaken, [this, &exchange, bytes] { WriteLarge(exchange, bytes); });
  }

  size_t left_ = 0;
};

TEST_F(DownloadTest, ToASlowReaderIsBoundedAndWhole) {
  constexpr size_t kPieces = 256;
  settings_.max_pending_bytes = 64 << 10;
  SendPieces(kPieces);
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  ASSERT_EQ(client.Answer().status, 200);
  for (size_t n = kPieces; n > 0; --n) {
    const auto chunk = client.ReadChunk();
    ASSERT_TRUE(chunk);
    ASSERT_EQ(*chunk, std::string(kPiece, static_cast<char>('a' + n % 26)));
    ASSERT_LE(server_->Stats().pending_bytes, 2 * kPiece + 1024);
  }
  EXPECT_EQ(client.ReadChunk(), "");
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server_->Stats().too_slow, 0U);
}

TEST_F(DownloadTest, GoesOnWithinItsShareThoughOthersAreOverTheirs) {
  settings_.max_pending_total_mb = 1;
  behaviour_.on_open = [](Connection& c) {
    for (int n = 0; n < 10; ++n) c.Send(std::string(90'000, 'x'));
  };
  SendPieces(100);
  Start();
  RawClient idle(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(idle.Handshake());
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  ASSERT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks().value_or("").size(), 100 * kPiece);
}

TEST_F(DownloadTest, WithLittleWaitingAPieceOfAnySizeIsTaken) {
  constexpr size_t kLarge = size_t{8} << 20;
  settings_.max_pending_bytes = 1024;
  settings_.max_pending_total_mb = 1;
  stream_.on_body_end = [this](HttpExchange& exchange, const std::string&) {
    exchange.Begin({});
    left_ = 3;
    WriteLarge(exchange, kLarge);
  };
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  ASSERT_EQ(client.Answer().status, 200);
  EXPECT_EQ(client.ReadChunks().value_or("").size(), 3 * kLarge);
  EXPECT_EQ(server_->Stats().too_slow, 0U);
}

// No room comes while the client takes nothing, so an exchange that waited for it would not notice what the client
// sends.
TEST_F(DownloadTest, TheBodyIsReadThoughTheAnswerFillsTheAddress) {
  settings_.max_address_mb = 1;
  settings_.max_pending_bytes = 64 << 20;
  stream_.on_body_end = nullptr;
  stream_.on_body = [this](HttpExchange& exchange, std::string_view) {
    if (left_++ > 0) return;
    exchange.Begin({});
    exchange.Write(std::string(size_t{8} << 20, 'x'));
  };
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Post("Content-Length: 2\r\n") + "a");
  ASSERT_TRUE(Eventually([&] { return server_->Stats().pending_bytes > size_t{2} << 20; }));
  client.Send("b");
  EXPECT_TRUE(record_.Await("body end"));
}

TEST_F(DownloadTest, EndsIfTheHandlerWritesTooMuch) {
  settings_.max_pending_bytes = 256 << 10;
  stream_.on_body_end = [](HttpExchange& exchange, const std::string&) {
    exchange.Begin({});
    for (int n = 0; n < 1000; ++n) exchange.Write(std::string(kPiece, 'x'));
  };
  Start();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  client.Send(Get("/down"));
  ExpectEnd("too slow");
  EXPECT_EQ(server_->Stats().too_slow, 1U);
  EXPECT_TRUE(Eventually([&] { return server_->Stats().pending_bytes == 0; }));
}

}  // namespace
}  // namespace weir
