// RelayUpload: one POST whose body goes, and whose answer comes line by line, at the same time. Plain HTTP over one
// connection.
//
// Threads: all of it on the thread that runs the io_context.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

struct HttpUrl {
  std::string host;
  std::string port;
};
// http://host[:port], also [::1]; nothing else.
Result<HttpUrl> ParseHttpUrl(const std::string& url);

class RelayUpload : public std::enable_shared_from_this<RelayUpload> {
 public:
  struct Handler {
    virtual ~Handler() = default;
    // It is connected, or what was sent last is on its way: the next may come.
    virtual void OnRoom() = 0;
    // Of an answer with status 200, without its line feed.
    virtual void OnLine(std::string_view line) = 0;
    // Once, at the end. Status 0: there is no whole answer, and `words` say why; else they are the body of one that is
    // not 200.
    virtual void OnClosed(int status, const std::string& words) = 0;
  };

  // The handler outlives it, or closes it.
  RelayUpload(boost::asio::io_context& io, Handler& handler) : handler_(handler), resolver_(io), socket_(io) {}

  // The token, if there is one, goes as Authorization: Bearer.
  void Start(const HttpUrl& url, const std::string& target, const std::string& token);
  // Up to three parts, one after the other, together not empty. They stay where they are until OnRoom or OnClosed.
  void Send(const std::array<std::string_view, 3>& parts);
  void EndBody();
  // Nothing is called any more.
  void Close();

 private:
  using Error = boost::system::error_code;

  void OnConnected();
  void OnSent(const Error& error);
  void ReadHead();
  void ReadOn();
  int HttpStatus() const { return static_cast<int>(parser_.get().result_int()); }
  void OnBody(size_t bytes);
  void End(int status, const std::string& words);

  Handler& handler_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  std::string head_;  // of what is being sent
  boost::beast::flat_buffer buffer_;
  boost::beast::http::response_parser<boost::beast::http::buffer_body> parser_;
  std::array<char, 64 << 10> piece_{};
  std::string answer_;  // a line that is not whole, or the words of a refusal
  bool closed_ = false;
};

}  // namespace weir
