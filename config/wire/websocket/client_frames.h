// Makes and reads WebSocket frames (RFC 6455) for a client: the client's frames are masked, the server's are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class WebSocketOpcode : uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// Appends a whole, final frame to `*out`. `mask_key` holds the four bytes of the mask; its lowest byte is first in the
// frame.
void AppendClientFrame(WebSocketOpcode opcode, std::string_view payload, uint32_t mask_key, std::string* out);

// FrameReader: divides the bytes from the server into messages. It joins fragments; it returns control frames between
// fragments before the message is complete.
class FrameReader {
 public:
  enum class Kind { kNone, kMessage, kPing, kPong, kClose, kError };
  struct Item {
    Kind kind = Kind::kNone;
    std::string_view payload;  // kError: a message that says what is wrong; valid until the next call of any function
  };

  static constexpr size_t kMaxMessageBytes = size_t{16} << 20;

  // Returns a buffer for at least `size` bytes. The caller reads into it, then calls Filled with the number of bytes.
  char* Space(size_t size);
  void Filled(size_t size) { end_ += size; }

  // Returns the next item; kNone if more bytes are needed. Do not call it again after kError.
  Item Next();

 private:
  struct Header {
    bool final = false;
    WebSocketOpcode opcode = WebSocketOpcode::kText;
    size_t header_bytes = 0;
    uint64_t payload_bytes = 0;
    const char* fault = nullptr;
  };

  // Returns false if the header is not complete yet.
  bool ReadHeader(Header* header) const;
  Item TakeFrame(const Header& header, std::string_view payload);

  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string fragments_;
  bool in_fragments_ = false;
  bool fragments_delivered_ = false;
};

// Returns the code and the reason in the payload of a close frame, such as "1008 too many connections".
std::string DescribeClose(std::string_view payload);

}  // namespace weir
