#include "config/wire/websocket/client_frames.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>

namespace weir {
namespace {

using Kind = FrameReader::Kind;

std::string ServerFrame(WebSocketOpcode opcode, const std::string& payload, bool final = true) {
  std::string frame;
  frame += static_cast<char>((final ? 0x80 : 0) | static_cast<int>(opcode));
  const size_t size = payload.size();
  if (size < 126) {
    frame += static_cast<char>(size);
  } else if (size <= 0xffff) {
    frame += {126, static_cast<char>(size >> 8), static_cast<char>(size)};
  } else {
    frame += char{127};
    for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(static_cast<uint64_t>(size) >> shift);
  }
  return frame + payload;
}

void Feed(FrameReader& reader, std::string_view bytes) {
  std::memcpy(reader.Space(bytes.size()), bytes.data(), bytes.size());
  reader.Filled(bytes.size());
}

// Undoes AppendClientFrame, as a server would.
std::string Unmask(const std::string& frame, size_t* header_bytes) {
  size_t at = 2;
  const int length = frame[1] & 0x7f;
  if (length == 126) at += 2;
  if (length == 127) at += 8;
  *header_bytes = at;
  std::string payload = frame.substr(at + 4);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ frame[at + i % 4]);
  return payload;
}

TEST(ClientFrame, IsMaskedAsTheStandardsExample) {
  std::string frame;
  AppendClientFrame(WebSocketOpcode::kText, "Hello", 0x3d21fa37, &frame);
  EXPECT_EQ(frame, std::string("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11));
}

TEST(ClientFrame, LengthTakesOneThreeOrNineBytes) {
  const std::pair<size_t, size_t> cases[] = {{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}};
  for (const auto& [size, header] : cases) {
    const std::string payload(size, 'x');
    std::string frame;
    AppendClientFrame(WebSocketOpcode::kText, payload, 0x01020304, &frame);
    size_t header_bytes = 0;
    EXPECT_EQ(Unmask(frame, &header_bytes), payload) << size;
    EXPECT_EQ(header_bytes, header) << size;
    EXPECT_EQ(frame.size(), header + 4 + size);
    EXPECT_EQ(frame[1] & 0x80, 0x80) << size;
  }
}

TEST(FrameReader, ReadsEveryLength) {
  FrameReader reader;
  for (const size_t size : {0, 1, 125, 126, 127, 65535, 65536, 200'000}) {
    const std::string payload(size, 'y');
    Feed(reader, ServerFrame(WebSocketOpcode::kText, payload));
    const FrameReader::Item item = reader.Next();
    EXPECT_EQ(item.kind, Kind::kMessage) << size;
    EXPECT_EQ(item.payload, payload);
    EXPECT_EQ(reader.Next().kind, Kind::kNone);
  }
}

TEST(FrameReader, JoinsFragmentsAndLetsControlFramesBetweenThemOut) {
  FrameReader reader;
  Feed(reader, ServerFrame(WebSocketOpcode::kText, "one ", false) + ServerFrame(WebSocketOpcode::kPing, "?") +
                   ServerFrame(WebSocketOpcode::kContinuation, "two ", false) +
                   ServerFrame(WebSocketOpcode::kContinuation, "three") + ServerFrame(WebSocketOpcode::kText, "next"));
  FrameReader::Item item = reader.Next();
  EXPECT_EQ(item.kind, Kind::kPing);
  EXPECT_EQ(item.payload, "?");
  item = reader.Next();
  EXPECT_EQ(item.kind, Kind::kMessage);
  EXPECT_EQ(item.payload, "one two three");
  EXPECT_EQ(reader.Next().payload, "next");
}

RC_GTEST_PROP(FrameReader, IsTheSameHoweverTheBytesArrive, (const std::vector<std::string>& payloads)) {
  std::string bytes;
  for (const std::string& payload : payloads) bytes += ServerFrame(WebSocketOpcode::kText, payload);
  FrameReader reader;
  std::vector<std::string> read;
  for (size_t at = 0; at < bytes.size();) {
    const size_t piece = *rc::gen::inRange<size_t>(1, 9);
    Feed(reader, std::string_view(bytes).substr(at, piece));
    at += piece;
    for (FrameReader::Item item = reader.Next(); item.kind != Kind::kNone; item = reader.Next()) {
      RC_ASSERT(item.kind == Kind::kMessage);
      read.emplace_back(item.payload);
    }
  }
  RC_ASSERT(read == payloads);
}

TEST(FrameReader, RefusesFramesForbiddenToServers) {
  const auto fault = [](const std::string& bytes) {
    FrameReader reader;
    Feed(reader, bytes);
    return reader.Next().kind;
  };
  std::string masked;
  AppendClientFrame(WebSocketOpcode::kText, "x", 1, &masked);
  EXPECT_EQ(fault(masked), Kind::kError);
  EXPECT_EQ(fault("\xc1\x01x"), Kind::kError) << "reserved bit";
  EXPECT_EQ(fault(ServerFrame(WebSocketOpcode::kContinuation, "x")), Kind::kError) << "no message to continue";
  EXPECT_EQ(fault(ServerFrame(WebSocketOpcode::kPing, "x", false)), Kind::kError) << "a ping in fragments";
  EXPECT_EQ(fault(ServerFrame(static_cast<WebSocketOpcode>(3), "x")), Kind::kError) << "unknown opcode";
  EXPECT_EQ(fault(std::string("\x81\x7f\x7f", 3) + std::string(7, '\xff')), Kind::kError) << "endless";
}

TEST(FrameReader, HandsOutCloseAndItsReason) {
  FrameReader reader;
  Feed(reader, ServerFrame(WebSocketOpcode::kClose, std::string("\x03\xf0") + "too many"));
  const FrameReader::Item item = reader.Next();
  ASSERT_EQ(item.kind, Kind::kClose);
  EXPECT_EQ(DescribeClose(item.payload), "1008 too many");
  EXPECT_EQ(DescribeClose(""), "without a code");
}

}  // namespace
}  // namespace weir
