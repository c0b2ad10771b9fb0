#include "import/relay_post.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/optional.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "relay/process/version.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

// The longest line, in bytes, and the longest body of a refusal that a relay sends.
constexpr size_t kMostAnswer = 1 << 20;
constexpr size_t kPieceBytes = 64 << 10;

std::string WordsOf(const error_code& error) {
  if (error == http::error::end_of_stream || error == http::error::partial_message) return "it hung up";
  if (error == asio::error::timed_out) return "its machine gives no sign of life";
  return error.message();
}

// Makes the kernel end the connection when the relay's machine has been silent for a minute. A relay that lives may
// take much longer to answer. TCP_USER_TIMEOUT would also limit the time for which bytes wait to be sent, but to a
// relay that accepts none as well, although its machine answers.
void WatchMachine(Tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  for (const auto& [option, value] : {std::pair(TCP_KEEPIDLE, 30), {TCP_KEEPINTVL, 10}, {TCP_KEEPCNT, 3}})
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
}

std::string HeadOf(const ServerUrl& url, const RelayPost& post) {
  return "POST " + post.target + " HTTP/1.1\r\nHost: " + UrlHost(url.host) + ":" + url.port + "\r\nUser-Agent: weir/" +
         std::string(Version()) + (post.token.empty() ? "" : "\r\nAuthorization: Bearer " + post.token) +
         "\r\nContent-Type: application/x-ndjson\r\nContent-Length: " +
         std::to_string(post.body[0].size() + post.body[1].size()) +
         "\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
}

// Reads the answer on a connection.
class AnswerReader {
 public:
  explicit AnswerReader(Tcp::socket& socket) : socket_(socket) {}

  asio::awaitable<int> Head() {
    parser_.emplace().body_limit(boost::none);
    co_await http::async_read_header(socket_, buffer_, *parser_, asio::use_awaitable);
    co_return static_cast<int>(parser_->get().result_int());
  }

  asio::awaitable<RelayAnswer> Body(const std::function<void(std::string_view)>& on_line) {
    RelayAnswer answer{.status = static_cast<int>(parser_->get().result_int()), .words = ""};
    while (!parser_->is_done()) {
      parser_->get().body().data = piece_.get();
      parser_->get().body().size = kPieceBytes;
      error_code error;
      co_await http::async_read_some(socket_, buffer_, *parser_, asio::redirect_error(asio::use_awaitable, error));
      answer.words.append(piece_.get(), kPieceBytes - parser_->get().body().size);
      if (answer.status == 200) TakeLines(&answer.words, on_line);
      if (answer.words.size() > kMostAnswer) co_return RelayAnswer{.words = "its answer is not an import's"};
      // If a refusal is not complete, the part of its text that came is better than none.
      if (error && error != http::error::need_buffer)
        co_return answer.status == 200 ? RelayAnswer{.words = WordsOf(error)} : answer;
    }
    co_return answer;
  }

 private:
  static void TakeLines(std::string* text, const std::function<void(std::string_view)>& on_line) {
    size_t begin = 0;
    for (size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(std::string_view(*text).substr(begin, end - begin));
    text->erase(0, begin);
  }

  Tcp::socket& socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::buffer_body>> parser_;
  const std::unique_ptr<char[]> piece_ = std::make_unique<char[]>(kPieceBytes);
};

asio::awaitable<void> Connect(Tcp::socket& socket, const ServerUrl& url) {
  Tcp::resolver resolver(socket.get_executor());
  const auto addresses = co_await resolver.async_resolve(url.host, url.port, asio::use_awaitable);
  co_await asio::async_connect(socket, addresses, asio::use_awaitable);
  error_code ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  WatchMachine(socket);
}

}  // namespace

asio::awaitable<RelayAnswer> Send(Tcp::socket& socket, const ServerUrl& url, const RelayPost& post) {
  try {
    co_await Connect(socket, url);
    // Another task may have closed the socket, and Connect may have opened it again after that.
    if (!post.wanted()) co_return RelayAnswer{.words = "given up"};
    const std::string head = HeadOf(url, post);
    co_await asio::async_write(socket, asio::buffer(head), asio::use_awaitable);
    AnswerReader reader(socket);
    int status = co_await reader.Head();
    if (status == static_cast<int>(http::status::continue_)) {
      post.on_taken();
      const std::array<asio::const_buffer, 2> body = {asio::buffer(post.body[0]), asio::buffer(post.body[1])};
      // If sending fails, the relay may have answered before it closed the connection. The answer then says why.
      error_code not_sent;
      co_await asio::async_write(socket, body, asio::redirect_error(asio::use_awaitable, not_sent));
      if (not_sent == asio::error::timed_out) co_return RelayAnswer{.words = WordsOf(not_sent)};
      status = co_await reader.Head();
    }
    co_return co_await reader.Body(post.on_line);
  } catch (const boost::system::system_error& e) {
    co_return RelayAnswer{.words = WordsOf(e.code())};
  }
}

}  // namespace weir
