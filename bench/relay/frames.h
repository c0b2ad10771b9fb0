// WebSocket framing (RFC 6455) as a client needs it: frames of our own are masked, frames of the server are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class Opcode : uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// Appends a whole, final frame. The key holds the four bytes of the mask; its lowest byte is first in the frame.
void AppendClientFrame(Opcode opcode, std::string_view payload, uint32_t mask_key, std::string* out);

// Cuts the server's bytes into messages; fragments are joined, control frames between them come out at once.
class FrameReader {
 public:
  enum class Kind { kNone, kMessage, kPing, kPong, kClose, kError };
  struct Item {
    Kind kind = Kind::kNone;
    std::string_view payload;  // kError: the problem; valid until the next call of any method
  };

  static constexpr size_t kMaxMessageBytes = size_t{16} << 20;

  // Returns room for at least `size` bytes to read into. Call Filled with the number that came.
  char* Space(size_t size);
  void Filled(size_t size) { end_ += size; }

  // Returns kNone if more bytes are needed. Nothing comes after kError.
  Item Next();

 private:
  struct Header {
    bool final = false;
    Opcode opcode = Opcode::kText;
    size_t header_bytes = 0;
    uint64_t payload_bytes = 0;
    const char* fault = nullptr;
  };

  // Returns false if not all of it is there.
  bool ReadHeader(Header* header) const;
  Item TakeFrame(const Header& header, std::string_view payload);

  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::string fragments_;
  bool in_fragments_ = false;
  bool fragments_delivered_ = false;
};

// Returns "1008 too many connections" and the like from the payload of a close frame.
std::string DescribeClose(std::string_view payload);

}  // namespace weir
