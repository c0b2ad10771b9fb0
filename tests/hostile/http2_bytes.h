// Makes the bytes of HTTP/2 frames and gRPC calls, without a library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr char kData = 0;
constexpr char kHeaders = 1;
constexpr char kSettings = 4;
constexpr char kEndsStream = 1;
constexpr char kEndsHeaders = 4;
constexpr char kWholeRequest = kEndsStream | kEndsHeaders;

inline std::string Http2Frame(char type, char flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 255);
  frame += {type, flags};
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 255);
  return frame.append(payload);
}

// Returns the name or value of a header field, which may have at most 126 bytes.
inline std::string FieldText(std::string_view text) {
  return std::string(1, static_cast<char>(text.size())).append(text);
}

// Returns the header block of a GET of this path at host x.
inline std::string HeaderBlock(std::string_view path) { return "\x82\x86\x01\x01x\x04" + FieldText(path); }

// Returns the header block of a POST of this path at host x.
inline std::string PostBlock(std::string_view path) { return "\x83\x86\x01\x01x\x04" + FieldText(path); }

// Returns the header block of a gRPC call of "/service/Method".
inline std::string GrpcBlock(std::string_view path) {
  return PostBlock(path) + "\x0f\x10" + FieldText("application/grpc") + std::string(1, '\0') + FieldText("te") +
         FieldText("trailers");
}
// Returns a gRPC message with its prefix of five bytes, which announces `says` bytes.
inline std::string GrpcBytes(std::string_view message, uint32_t says, char compressed = 0) {
  std::string bytes(1, compressed);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(says >> shift & 255);
  return bytes.append(message);
}
inline std::string GrpcBytes(std::string_view message) {
  return GrpcBytes(message, static_cast<uint32_t>(message.size()));
}
// Returns a field of a protobuf message, with this number and this text of fewer than 16,384 bytes.
inline std::string ProtoText(int number, std::string_view text) {
  std::string field(1, static_cast<char>((number << 3) | 2));
  field += static_cast<char>((text.size() & 127) | 128);
  field += static_cast<char>(text.size() >> 7);
  return field.append(text);
}

}  // namespace weir
