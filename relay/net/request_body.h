// RequestBody: parses the body of a request over HTTP/1.1 or HTTP/1.0, of any length, after Beast has parsed the
// header. Passes the body on in pieces as they arrive. Between two pieces it keeps only an incomplete line of the
// chunked coding (at most 16 KiB; a longer line is an error).
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
// Takes a piece of the body; the view is valid only during the call.
using TakeBody = std::function<void(std::string_view piece)>;

class RequestBody {
 public:
  // `header` is Beast's parser after it has parsed the whole header and no part of the body.
  RequestBody(RequestParser&& header, TakeBody take);

  // Returns true if the whole body has come.
  bool done() const { return parser_.is_done(); }

  // Uses a part of `input`, which must not be empty, and calls `take` at most once, with a part of `input`. Returns the
  // number of bytes that it has used, which is at least 1 unless there is an error; the caller passes the other bytes
  // to the next call. Sets `error` if the body is malformed. Must not be called when done() is true.
  size_t Put(std::string_view input, boost::system::error_code& error);

 private:
  // Pieces: a Body in Beast's sense, whose value is the function that takes the pieces.
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
  std::string line_;  // an incomplete line: the size of a chunk, or a line after the last chunk
};

}  // namespace weir
