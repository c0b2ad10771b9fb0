// RelayPost: one POST of lines to a relay, over plain HTTP and a connection of its own.
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
  std::function<bool()> wanted;          // called once, when the connection is made; false ends Send
  std::function<void()> on_taken;  // called once, when the relay begins to read the body: the next POST may follow
  std::function<void(std::string_view line)> on_line;  // called for each line of a status 200, without its line feed
};

// The answer to a POST.
struct RelayAnswer {
  int status = 0;     // 0: there is no whole answer
  std::string words;  // for status 0 the reason; for a status other than 200 the body
};

// Sends the POST and waits for the whole answer; never throws for a network error. If another task closes the socket,
// Send ends with status 0.
boost::asio::awaitable<RelayAnswer> Send(boost::asio::ip::tcp::socket& socket, const ServerUrl& url,
                                         const RelayPost& post);

}  // namespace weir
