// RequestBody parses the body of a request, whatever its length, after Beast has parsed the header. It takes pieces as
// they come, and keeps only a line of the chunked coding that a piece cuts in two.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weir {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using TakeBody = std::function<void(std::string_view piece)>;

class RequestBody {
 public:
  // `header` has parsed the whole header, and nothing of the body.
  RequestBody(RequestParser&& header, TakeBody take);

  bool done() const { return parser_.is_done(); }

  // Calls `take` at most once, with a part of the input. Returns how much of the input was used: more than nothing if
  // there is no error. Must not be called when done.
  size_t Put(std::string_view input, boost::system::error_code& error);

 private:
  // A Beast Body whose value takes the pieces.
  // NOLINTBEGIN(readability-identifier-naming): Beast's names
  struct Pieces {
    using value_type = TakeBody;
    class reader {
     public:
      template <bool is_request, typename Fields>
      reader(boost::beast::http::header<is_request, Fields>&, value_type& take) : take_(take) {}
      void init(const boost::optional<uint64_t>&, boost::system::error_code& error) { error = {}; }
      template <typename Buffers>
      size_t put(const Buffers& buffers, boost::system::error_code& error) {
        namespace asio = boost::asio;
        error = {};
        size_t bytes = 0;
        for (auto i = asio::buffer_sequence_begin(buffers); i != asio::buffer_sequence_end(buffers); ++i) {
          const asio::const_buffer buffer(*i);
          take_({static_cast<const char*>(buffer.data()), buffer.size()});
          bytes += buffer.size();
        }
        return bytes;
      }
      void finish(boost::system::error_code& error) { error = {}; }

     private:
      value_type& take_;
    };
  };
  // NOLINTEND(readability-identifier-naming)

  boost::beast::http::request_parser<Pieces> parser_;
  std::string line_;  // the beginning of a line, or of the lines after the last chunk
};

}  // namespace weir
