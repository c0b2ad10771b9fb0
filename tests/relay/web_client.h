// A Nostr client on a real socket: sends texts, and reads them with an end to every wait.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

class WebClient {
 public:
  explicit WebClient(uint16_t port) : socket_(io_) {
    auto& tcp = boost::beast::get_lowest_layer(socket_);
    tcp.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    socket_.handshake("127.0.0.1:" + std::to_string(port), "/");
  }

  void Send(const std::string& text) { socket_.write(boost::asio::buffer(text)); }

  // The next message; none when the connection has ended or nothing came for ten seconds.
  std::optional<std::string> Read() {
    boost::beast::flat_buffer buffer;
    std::optional<boost::system::error_code> result;
    boost::beast::get_lowest_layer(socket_).expires_after(std::chrono::minutes(1));
    socket_.async_read(buffer, [&](boost::system::error_code error, size_t) { result = error; });
    io_.restart();
    io_.run();
    if (*result) return std::nullopt;
    return boost::beast::buffers_to_string(buffer.data());
  }

  // Up to and with the first that begins so.
  std::vector<std::string> ReadUntil(const std::string& begin) {
    std::vector<std::string> messages;
    while (auto message = Read()) {
      messages.push_back(*message);
      if (message->starts_with(begin)) return messages;
    }
    ADD_FAILURE() << "no message begins with " << begin;
    return messages;
  }

 private:
  boost::asio::io_context io_;
  boost::beast::websocket::stream<boost::beast::tcp_stream> socket_;
};

// Status and body.
inline std::pair<int, std::string> HttpGet(uint16_t port, const std::string& path, const std::string& accept = "*/*") {
  namespace http = boost::beast::http;
  boost::asio::io_context io;
  boost::beast::tcp_stream stream(io);
  stream.connect({boost::asio::ip::make_address("127.0.0.1"), port});
  http::request<http::empty_body> request(http::verb::get, path, 11);
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::accept, accept);
  request.set(http::field::connection, "close");
  http::write(stream, request);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response);
  return {response.result_int(), response.body()};
}

}  // namespace weir
