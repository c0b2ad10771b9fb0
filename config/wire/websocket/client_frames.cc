#include "config/wire/websocket/client_frames.h"

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

constexpr size_t kMaxControlBytes = 125;

uint64_t BigEndian(const char* bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

void AppendBigEndian(uint64_t value, size_t size, std::string* out) {
  for (size_t i = size; i-- > 0;) out->push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

void AppendClientFrame(WebSocketOpcode opcode, std::string_view payload, uint32_t mask_key, std::string* out) {
  constexpr uint8_t kFinal = 0x80, kMasked = 0x80;
  out->push_back(static_cast<char>(kFinal | static_cast<uint8_t>(opcode)));
  if (payload.size() <= kMaxControlBytes) {
    out->push_back(static_cast<char>(kMasked | payload.size()));
  } else if (payload.size() <= UINT16_MAX) {
    out->push_back(static_cast<char>(kMasked | 126));
    AppendBigEndian(payload.size(), 2, out);
  } else {
    out->push_back(static_cast<char>(kMasked | 127));
    AppendBigEndian(payload.size(), 8, out);
  }
  char key[4];
  for (int i = 0; i < 4; ++i) key[i] = static_cast<char>(mask_key >> (8 * i));
  out->append(key, sizeof key);
  const size_t start = out->size();
  out->append(payload);
  char* bytes = out->data() + start;
  for (size_t i = 0; i < payload.size(); ++i) bytes[i] = static_cast<char>(bytes[i] ^ key[i & 3]);
}

char* FrameReader::Space(size_t size) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - end_ < size && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < size) buffer_.resize(std::max(end_ + size, 2 * buffer_.size()));
  return buffer_.data() + end_;
}

bool FrameReader::ReadHeader(Header* header) const {
  const size_t available = end_ - begin_;
  if (available < 2) return false;
  const char* at = buffer_.data() + begin_;
  const auto first = static_cast<uint8_t>(at[0]), second = static_cast<uint8_t>(at[1]);
  header->final = (first & 0x80) != 0;
  header->opcode = static_cast<WebSocketOpcode>(first & 0x0f);
  const uint8_t length = second & 0x7f;
  const size_t extra = length == 126 ? 2 : length == 127 ? 8 : 0;
  if ((first & 0x70) != 0) header->fault = "reserved bits are set";
  if ((second & 0x80) != 0) header->fault = "a frame of the server is masked";
  if (available < 2 + extra) return header->fault != nullptr;
  header->header_bytes = 2 + extra;
  header->payload_bytes = extra > 0 ? BigEndian(at + 2, extra) : length;
  if (header->payload_bytes > kMaxMessageBytes) header->fault = "a frame is larger than 16 MiB";
  return true;
}

FrameReader::Item FrameReader::Next() {
  if (fragments_delivered_) {
    fragments_.clear();
    fragments_delivered_ = false;
  }
  for (;;) {
    Header header;
    if (!ReadHeader(&header)) return {};
    if (header.fault != nullptr) return {Kind::kError, header.fault};
    if (end_ - begin_ < header.header_bytes + header.payload_bytes) return {};
    const std::string_view payload(buffer_.data() + begin_ + header.header_bytes, header.payload_bytes);
    begin_ += header.header_bytes + header.payload_bytes;
    const Item item = TakeFrame(header, payload);
    if (item.kind != Kind::kNone) return item;
  }
}

FrameReader::Item FrameReader::TakeFrame(const Header& header, std::string_view payload) {
  if (header.opcode >= WebSocketOpcode::kClose) {
    if (!header.final || payload.size() > kMaxControlBytes) return {Kind::kError, "a control frame is cut or too long"};
    switch (header.opcode) {
      case WebSocketOpcode::kClose:
        return {Kind::kClose, payload};
      case WebSocketOpcode::kPing:
        return {Kind::kPing, payload};
      case WebSocketOpcode::kPong:
        return {Kind::kPong, payload};
      default:
        return {Kind::kError, "unknown opcode"};
    }
  }
  if (header.opcode > WebSocketOpcode::kBinary) return {Kind::kError, "unknown opcode"};
  if ((header.opcode == WebSocketOpcode::kContinuation) != in_fragments_)
    return {Kind::kError, "fragments out of order"};
  if (header.final && !in_fragments_) return {Kind::kMessage, payload};
  if (fragments_.size() + payload.size() > kMaxMessageBytes) return {Kind::kError, "a message is larger than 16 MiB"};
  fragments_.append(payload);
  in_fragments_ = !header.final;
  if (in_fragments_) return {};
  fragments_delivered_ = true;
  return {Kind::kMessage, fragments_};
}

std::string DescribeClose(std::string_view payload) {
  if (payload.size() < 2) return "without a code";
  std::string text = std::to_string(BigEndian(payload.data(), 2));
  if (payload.size() > 2) text += " " + std::string(payload.substr(2));
  return text;
}

}  // namespace weir
