#include "import/relay_upload.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/optional.hpp>
#include <utility>

#include "config/parse.h"
#include "relay/version.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// Longer lines and words are none of ours.
constexpr size_t kMostAnswer = 1 << 20;

std::string Hex(size_t number) {
  std::string digits;
  for (; number > 0; number /= 16) digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
  return digits;
}

}  // namespace

Result<HttpUrl> ParseHttpUrl(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const Status bad =
      Status::Error(Printable(url) + " is no address of a relay: it has to be like http://127.0.0.1:3334");
  std::string_view rest = url;
  if (!rest.starts_with(kScheme)) return bad;
  rest.remove_prefix(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@ ") != std::string_view::npos) return bad;
  HttpUrl parts{.host = "", .port = "80"};
  const size_t host_end = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  const size_t colon = rest.find(':', host_end == std::string_view::npos ? 0 : host_end);
  parts.host = rest.substr(0, colon);
  if (colon != std::string_view::npos) parts.port = rest.substr(colon + 1);
  if (parts.host.empty() || !ParseUnsigned(parts.port, {.min = 1, .max = 65535}).ok()) return bad;
  return parts;
}

void RelayUpload::Start(const HttpUrl& url, const std::string& target, const std::string& token) {
  head_ = "POST " + target + " HTTP/1.1\r\nHost: " + url.host + ":" + url.port + "\r\nUser-Agent: weir/" +
          std::string(Version()) + (token.empty() ? "" : "\r\nAuthorization: Bearer " + token) +
          "\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
  const std::string host = url.host.starts_with('[') ? url.host.substr(1, url.host.size() - 2) : url.host;
  resolver_.async_resolve(host, url.port, [self = shared_from_this()](const Error& error, const auto& addresses) {
    if (self->closed_) return;
    if (error) return self->End(0, error.message());
    asio::async_connect(self->socket_, addresses, [self](const Error& failure, const auto&) {
      if (self->closed_) return;
      if (failure) return self->End(0, failure.message());
      self->OnConnected();
    });
  });
}

void RelayUpload::OnConnected() {
  Error ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  asio::async_write(socket_, asio::buffer(head_),
                    [self = shared_from_this()](const Error& error, size_t) { self->OnSent(error); });
  ReadHead();
}

// Where sending fails the answer may be there all the same, and says why: what reads decides.
void RelayUpload::OnSent(const Error& error) {
  if (!closed_ && !error) handler_.OnRoom();
}

void RelayUpload::Send(const std::array<std::string_view, 3>& parts) {
  head_ = Hex(parts[0].size() + parts[1].size() + parts[2].size()) + "\r\n";
  const std::array<asio::const_buffer, 5> buffers = {asio::buffer(head_), asio::buffer(parts[0]),
                                                     asio::buffer(parts[1]), asio::buffer(parts[2]),
                                                     asio::const_buffer("\r\n", 2)};
  asio::async_write(socket_, buffers, [self = shared_from_this()](const Error& error, size_t) { self->OnSent(error); });
}

void RelayUpload::EndBody() {
  asio::async_write(socket_, asio::const_buffer("0\r\n\r\n", 5), [self = shared_from_this()](const Error&, size_t) {});
}

void RelayUpload::Close() {
  closed_ = true;
  Error ignored;
  resolver_.cancel();
  socket_.close(ignored);
}

void RelayUpload::ReadHead() {
  parser_.body_limit(boost::none);
  http::async_read_header(socket_, buffer_, parser_, [self = shared_from_this()](const Error& error, size_t) {
    if (self->closed_) return;
    if (error) return self->End(0, error == http::error::end_of_stream ? "it hung up" : error.message());
    self->ReadOn();
  });
}

void RelayUpload::ReadOn() {
  if (parser_.is_done()) return End(HttpStatus(), answer_);
  parser_.get().body().data = piece_.data();
  parser_.get().body().size = piece_.size();
  http::async_read_some(socket_, buffer_, parser_, [self = shared_from_this()](const Error& error, size_t) {
    if (self->closed_) return;
    self->OnBody(self->piece_.size() - self->parser_.get().body().size);
    if (self->closed_) return;
    if (error && error != http::error::need_buffer) {
      const int status = self->HttpStatus();
      return self->End(status == 200 ? 0 : status, status == 200 ? "it hung up" : self->answer_);
    }
    self->ReadOn();
  });
}

void RelayUpload::OnBody(size_t bytes) {
  answer_.append(piece_.data(), bytes);
  const bool lines = parser_.get().result_int() == 200;
  size_t begin = 0;
  for (size_t end = 0; lines && (end = answer_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    handler_.OnLine(std::string_view(answer_).substr(begin, end - begin));
    if (closed_) return;
  }
  answer_.erase(0, begin);
  if (answer_.size() > kMostAnswer) End(0, "its answer is not an import's");
}

void RelayUpload::End(int status, const std::string& words) {
  Close();
  handler_.OnClosed(status, words);
}

}  // namespace weir
