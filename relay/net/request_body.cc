#include "relay/net/request_body.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

namespace weir {
namespace {

namespace http = boost::beast::http;

// The most bytes of a chunk's extensions, and of all lines after the last chunk.
constexpr size_t kMostKept = size_t{16} << 10;
constexpr std::string_view kLastChunk = "0\r\n";

}  // namespace

RequestBody::RequestBody(RequestParser&& header, TakeBody take) : parser_(std::move(header)) {
  parser_.get().body() = std::move(take);
  parser_.eager(false);  // makes the parser parse one part of the body, or one line, at a time
  parser_.body_limit(boost::none);
}

size_t RequestBody::Put(std::string_view input, boost::system::error_code& error) {
  size_t used = 0;
  if (line_.empty()) {
    used = parser_.put(boost::asio::buffer(input), error);
    if (error != http::error::need_more) return used;
    line_ = input.substr(used);
    used = input.size();
  } else {
    // Takes no more than the rest of the line, so that no part of the body is copied.
    const size_t end = input.find('\n');
    used = end == input.npos ? input.size() : end + 1;
    line_ += input.substr(0, used);
    // The parser has seen this last chunk before. It fails if it sees the chunk again without two more bytes after it.
    if (line_.starts_with(kLastChunk) && line_.size() < kLastChunk.size() + 2) {
      error = {};
      return used;
    }
    line_.erase(0, parser_.put(boost::asio::buffer(line_), error));
    if (error != http::error::need_more) return used;
  }
  error = {};
  if (line_.size() > kMostKept) error = http::error::bad_chunk;
  return used;
}

}  // namespace weir
