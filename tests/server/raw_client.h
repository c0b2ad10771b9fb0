// A client made of a blocking socket and frames put together by hand, so that it can do what no library would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct RawFrame {
  bool fin = true;
  int reserved = 0;  // three bits
  int opcode = 0;
  std::string payload;

  // Of a close frame; 0 without one.
  int close_code() const;
};

struct RawAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

constexpr int kContinuation = 0;
constexpr int kText = 1;
constexpr int kBinary = 2;
constexpr int kClose = 8;
constexpr int kPing = 9;
constexpr int kPong = 10;

// A frame as a client sends it.
std::string ClientFrame(int opcode, std::string_view payload, bool fin = true, int reserved = 0);
std::string CloseFrame(int code, std::string_view reason = "");
// The header alone, of a frame that announces so much.
std::string FrameHeader(int opcode, uint64_t announced, bool masked = true);

class RawClient {
 public:
  // Connects, or is not connected().
  explicit RawClient(uint16_t port, const std::string& from = "127.0.0.1", int receive_buffer = 0);
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient();

  bool connected() const { return socket_ >= 0; }
  int socket() const { return socket_; }

  // False when the connection is gone.
  bool Send(std::string_view bytes);
  bool Text(std::string_view payload) { return Send(ClientFrame(kText, payload)); }

  // A good handshake with these header lines besides.
  static std::string HandshakeRequest(std::string_view more = "");
  // True when it was answered with 101.
  bool Handshake(std::string_view more = "");

  // All waits end after five seconds; nothing, then, or at the end of the connection.
  std::optional<RawAnswer> ReadAnswer(bool with_body = true);
  // Of an answer in chunks: the next, empty the last.
  std::optional<std::string> ReadChunk();
  // All chunks; nothing where the last did not come.
  std::optional<std::string> ReadChunks();
  // What comes until the connection ends, by FIN or by reset.
  std::string ReadToEnd();
  std::optional<RawFrame> ReadFrame();
  // The next text message, control frames left out.
  std::optional<std::string> ReadText();
  // The code of the close frame to come, other frames left out; 0 where the connection ends without one.
  int ReadCloseCode();
  // True when the server has ended the connection, by FIN or by reset, and nothing came before.
  bool AtEnd();
  bool was_reset() const { return reset_; }
  void HalfClose();
  void Reset();

  // TCP segments with data that came in.
  uint32_t SegmentsIn() const;

 private:
  // False at the end, or when five seconds have passed.
  bool ReadMore();

  int socket_ = -1;
  std::string received_;
  bool reset_ = false;
  bool timed_out_ = false;
};

}  // namespace weir
