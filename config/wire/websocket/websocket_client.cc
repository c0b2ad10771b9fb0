#include "config/wire/websocket/websocket_client.h"

#include <openssl/evp.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstring>
#include <utility>

#include "config/text/url.h"

namespace weir {
namespace {

namespace http = boost::beast::http;
using StreamError = ClientStream::Error;

constexpr size_t kMostHeadBytes = size_t{16} << 10;

std::string Base64(const unsigned char* bytes, size_t size) {
  std::string text(4 * ((size + 2) / 3) + 1, '\0');
  text.resize(static_cast<size_t>(
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size))));
  return text;
}

// Returns the value of Sec-WebSocket-Accept that proves that the server has read the key (RFC 6455, 4.2.2).
std::string AcceptFor(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return Base64(digest.data(), size);
}

// A caller that only looks for messages has no patience, but a pong must go out.
ClientStream::Patience ForPong(const ClientStream::Patience& patience) {
  return {.end = std::chrono::steady_clock::now() + std::chrono::seconds(10), .stop = patience.stop};
}

Status ErrorOf(const StreamError& error) {
  return Status::Error(error.kind == StreamError::kLate ? "the server does not answer in time" : error.problem);
}

}  // namespace

WebSocketClient::WebSocketClient(WebSocketTarget target) : target_(std::move(target)), stream_(target_.server) {}

Status WebSocketClient::Open(const Patience& patience) {
  if (const StreamError error = stream_.Connect(patience)) return ErrorOf(error);
  std::array<unsigned char, 16> nonce{};
  for (unsigned char& byte : nonce) byte = static_cast<unsigned char>(masks_());
  const std::string key = Base64(nonce.data(), nonce.size());
  const ClientStream::Server& server = target_.server;
  const bool usual_port = server.port == (server.tls ? "443" : "80");
  const std::string head = "GET " + target_.path + " HTTP/1.1\r\nHost: " + UrlHost(server.host) +
                           (usual_port ? "" : ":" + server.port) +
                           (target_.user_agent.empty() ? "" : "\r\nUser-Agent: " + target_.user_agent) +
                           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: " +
                           key + "\r\n\r\n";
  if (const StreamError error = stream_.Send(head, patience)) return ErrorOf(error);
  return TakeAnswer(key, patience);
}

// Reads the head of the server's answer. Bytes behind it belong to the first message.
Status WebSocketClient::TakeAnswer(const std::string& key, const Patience& patience) {
  http::response_parser<http::empty_body> parser;
  parser.skip(true);
  parser.header_limit(kMostHeadBytes);
  parser.eager(false);
  while (!parser.is_header_done()) {
    if (const StreamError error = stream_.Receive(&read_, patience)) return ErrorOf(error);
    boost::system::error_code wrong;
    read_.erase(0, parser.put(boost::asio::buffer(read_), wrong));
    if (wrong && wrong != http::error::need_more)
      return Status::Error("the server does not speak HTTP: " + wrong.message());
    if (read_.size() > kMostHeadBytes) return Status::Error("the server answers with a head that is too long");
  }
  const auto& answer = parser.get();
  if (answer.result_int() != 101)
    return Status::Error("the server refuses the WebSocket with HTTP status " + std::to_string(answer.result_int()));
  if (answer["Sec-WebSocket-Accept"] != AcceptFor(key))
    return Status::Error("the server does not speak the WebSocket protocol: its Sec-WebSocket-Accept is wrong");
  Keep();
  return {};
}

// Passes the bytes that were read to the reader of frames.
void WebSocketClient::Keep() {
  if (!read_.empty()) std::memcpy(reader_.Space(read_.size()), read_.data(), read_.size());
  reader_.Filled(read_.size());
}

Status WebSocketClient::Send(std::string_view text, const Patience& patience) {
  return SendFrame(WebSocketOpcode::kText, text, patience);
}

Status WebSocketClient::SendFrame(WebSocketOpcode opcode, std::string_view payload, const Patience& patience) {
  frame_.clear();
  AppendClientFrame(opcode, payload, static_cast<uint32_t>(masks_()), &frame_);
  if (const StreamError error = stream_.Send(frame_, patience)) return ErrorOf(error);
  bytes_sent_ += frame_.size();
  return {};
}

Result<std::optional<std::string_view>> WebSocketClient::Receive(const Patience& patience) {
  using Kind = FrameReader::Kind;
  bool late = false;
  while (true) {
    const FrameReader::Item item = reader_.Next();
    switch (item.kind) {
      case Kind::kMessage:
        return std::optional(item.payload);
      case Kind::kPing:
        if (Status sent = SendFrame(WebSocketOpcode::kPong, item.payload, ForPong(patience)); !sent.ok()) return sent;
        break;
      case Kind::kPong:
        break;
      case Kind::kClose:
        return Status::Error("the server has closed the connection: " + DescribeClose(item.payload));
      case Kind::kError:
        return Status::Error("the server breaks the WebSocket protocol: " + std::string(item.payload));
      case Kind::kNone:
        if (Status read = ReadMore(patience, &late); !read.ok()) return read;
        if (late) return std::optional<std::string_view>();
    }
  }
}

Status WebSocketClient::ReadMore(const Patience& patience, bool* late) {
  read_.clear();
  const StreamError error = stream_.Receive(&read_, patience);
  // A server that sends pongs without end would keep the client here.
  *late = error.kind == StreamError::kLate || std::chrono::steady_clock::now() >= patience.end;
  if (error) return *late ? Status() : ErrorOf(error);
  bytes_received_ += read_.size();
  Keep();
  return {};
}

}  // namespace weir
