#include "tests/server/raw_client.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace weir {
namespace {

constexpr char kMask[4] = {0x12, 0x34, 0x56, 0x78};

void SetTimeouts(int socket) {
  const timeval longest{.tv_sec = 5, .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_in Loopback(const std::string& address, uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

}  // namespace

int RawFrame::close_code() const {
  if (opcode != kClose || payload.size() < 2) return 0;
  return static_cast<uint8_t>(payload[0]) << 8 | static_cast<uint8_t>(payload[1]);
}

std::string FrameHeader(int opcode, uint64_t announced, bool masked) {
  std::string frame(1, static_cast<char>(opcode));
  const int mask_bit = masked ? 0x80 : 0;
  int length_bytes = 0;
  if (announced < 126) {
    frame += static_cast<char>(mask_bit | static_cast<int>(announced));
  } else {
    length_bytes = announced < 65536 ? 2 : 8;
    frame += static_cast<char>(mask_bit | (length_bytes == 2 ? 126 : 127));
  }
  for (int n = length_bytes - 1; n >= 0; --n) frame += static_cast<char>(announced >> (8 * n) & 255);
  if (masked) frame.append(kMask, 4);
  return frame;
}

std::string ClientFrame(int opcode, std::string_view payload, bool fin, int reserved) {
  std::string frame = FrameHeader((fin ? 0x80 : 0) | reserved << 4 | opcode, payload.size());
  for (size_t n = 0; n < payload.size(); ++n) frame += static_cast<char>(payload[n] ^ kMask[n % 4]);
  return frame;
}

std::string CloseFrame(int code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 255)};
  payload += reason;
  return ClientFrame(kClose, payload);
}

RawClient::RawClient(uint16_t port, const std::string& from, int receive_buffer) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetTimeouts(socket_);
  if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const sockaddr_in source = Loopback(from, 0);
  const sockaddr_in target = Loopback("127.0.0.1", port);
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&source), sizeof source) == 0 &&
      connect(socket_, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0) {
    return;
  }
  close(std::exchange(socket_, -1));
}

RawClient::RawClient(RawClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}

RawClient::~RawClient() {
  if (socket_ >= 0) close(socket_);
}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::string RawClient::HandshakeRequest(std::string_view more) {
  return "GET /any/path HTTP/1.1\r\nHost: relay.example\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
         std::string(more) + "\r\n";
}

bool RawClient::Handshake(std::string_view more) {
  if (!Send(HandshakeRequest(more))) return false;
  const auto answer = ReadAnswer();
  return answer && answer->status == 101 &&
         answer->headers.at("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
}

bool RawClient::ReadMore() {
  char buffer[65536];
  const ssize_t bytes = recv(socket_, buffer, sizeof buffer, 0);
  if (bytes > 0) {
    received_.append(buffer, static_cast<size_t>(bytes));
    return true;
  }
  timed_out_ = bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  reset_ = bytes < 0 && errno == ECONNRESET;
  return false;
}

std::optional<RawAnswer> RawClient::ReadAnswer(bool with_body) {
  size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos)
    if (!ReadMore()) return std::nullopt;
  RawAnswer answer;
  answer.status = std::atoi(received_.c_str() + 9);
  for (size_t line = received_.find("\r\n") + 2; line < end + 2;) {
    const size_t next = received_.find("\r\n", line);
    const size_t colon = received_.find(": ", line);
    std::string name = received_.substr(line, colon - line);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    answer.headers[name] = received_.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  received_.erase(0, end + 4);
  const auto length = answer.headers.find("content-length");
  if (!with_body || length == answer.headers.end()) return answer;
  const size_t bytes = std::strtoul(length->second.c_str(), nullptr, 10);
  while (received_.size() < bytes)
    if (!ReadMore()) return std::nullopt;
  answer.body = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return answer;
}

std::optional<std::string> RawClient::ReadChunk() {
  size_t end = 0;
  while ((end = received_.find("\r\n")) == std::string::npos)
    if (!ReadMore()) return std::nullopt;
  const size_t bytes = std::strtoul(received_.c_str(), nullptr, 16);
  while (received_.size() < end + 2 + bytes + 2)
    if (!ReadMore()) return std::nullopt;
  std::string chunk = received_.substr(end + 2, bytes);
  received_.erase(0, end + 2 + bytes + 2);
  return chunk;
}

std::optional<std::string> RawClient::ReadChunks() {
  std::string all;
  while (const auto chunk = ReadChunk()) {
    if (chunk->empty()) return all;
    all += *chunk;
  }
  return std::nullopt;
}

std::string RawClient::ReadToEnd() {
  while (ReadMore()) continue;
  return std::exchange(received_, std::string());
}

std::optional<RawFrame> RawClient::ReadFrame() {
  const auto need = [&](size_t bytes) {
    while (received_.size() < bytes)
      if (!ReadMore()) return false;
    return true;
  };
  if (!need(2)) return std::nullopt;
  RawFrame frame{.fin = (received_[0] & 0x80) != 0, .reserved = received_[0] >> 4 & 7, .opcode = received_[0] & 15};
  size_t length = received_[1] & 0x7f;
  size_t header = 2;
  if (length >= 126) {
    const size_t length_bytes = length == 126 ? 2 : 8;
    if (!need(header + length_bytes)) return std::nullopt;
    length = 0;
    for (size_t n = 0; n < length_bytes; ++n) length = length << 8 | static_cast<uint8_t>(received_[header + n]);
    header += length_bytes;
  }
  if (!need(header + length)) return std::nullopt;
  frame.payload = received_.substr(header, length);
  received_.erase(0, header + length);
  return frame;
}

std::optional<std::string> RawClient::ReadText() {
  while (auto frame = ReadFrame()) {
    if (frame->opcode == kText) return frame->payload;
    if (frame->opcode == kClose) return std::nullopt;
  }
  return std::nullopt;
}

int RawClient::ReadCloseCode() {
  while (const auto frame = ReadFrame())
    if (frame->opcode == kClose) return frame->close_code();
  return 0;
}

bool RawClient::AtEnd() { return received_.empty() && !ReadMore() && !timed_out_; }

void RawClient::HalfClose() { shutdown(socket_, SHUT_WR); }

void RawClient::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(std::exchange(socket_, -1));
}

uint32_t RawClient::SegmentsIn() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_data_segs_in;
}

}  // namespace weir
