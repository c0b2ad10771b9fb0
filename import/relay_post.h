// RelayPost: one POST of lines to a relay, and its answer. Plain HTTP over a connection of its own.
//
// Threads: all of it on the thread that runs the io_context.
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
  std::string target;
  std::string token;                                   // goes as Authorization: Bearer, unless empty
  std::array<std::string_view, 2> body;                // sent one after the other; has to stay there until the answer
  std::function<bool()> wanted;                        // asked before something is sent; false gives up
  std::function<void()> on_taken;                      // called when the relay reads the body: the next POST may follow
  std::function<void(std::string_view line)> on_line;  // takes each line of a status 200, without its line feed
};

// Status 0 means that there is no whole answer, and `words` say why. Else they are the body of one that is not 200.
struct RelayAnswer {
  int status = 0;
  std::string words;
};

// Ends early if the socket is closed.
boost::asio::awaitable<RelayAnswer> Send(boost::asio::ip::tcp::socket& socket, const ServerUrl& url,
                                         const RelayPost& post);

}  // namespace weir
