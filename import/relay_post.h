// RelayPost: one POST of lines to a relay, over plain HTTP, on a connection of its own.
//
// Threads: Send and all callbacks run on the thread that runs the io_context of the socket.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "config/text/url.h"

namespace weir {

struct RelayPost {
  std::string target;                    // path and query
  std::string token;                     // sent as Authorization: Bearer; empty: not sent
  std::array<std::string_view, 2> body;  // sent one after the other; must stay valid until Send is done
  std::function<bool()> wanted;          // called at most once, when the connection is made; false makes Send end
  // Called at most once, when the relay answers 100 Continue, that is, when it begins to read the body. The caller must
  // not send its next POST earlier, because the relay accepts the parts of an import only in their order.
  std::function<void()> on_taken;
  std::function<void(std::string_view line)> on_line;  // called for each line of an answer with status 200, without LF
};

// The answer to a POST.
struct RelayAnswer {
  // The HTTP status. 0: no answer came, an answer with status 200 broke off, or the answer has a line, or is a refusal,
  // of more than 1 MiB.
  int status = 0;
  std::string words;  // for status 0 the reason; for a refusal (not 200) the body, as far as it came
};

// Sends the POST and waits for the whole answer; never throws for a network error. If another task closes the socket,
// Send ends soon. Send waits for the answer for as long as the relay's machine gives signs of life; a minute after the
// last one it ends. While the machine has not acknowledged all bytes of the POST, this takes as long as the kernel
// tries again to send them (net.ipv4.tcp_retries2), about a quarter of an hour.
boost::asio::awaitable<RelayAnswer> Send(boost::asio::ip::tcp::socket& socket, const ServerUrl& url,
                                         const RelayPost& post);

}  // namespace weir
