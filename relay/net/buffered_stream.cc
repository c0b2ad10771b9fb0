#include "relay/net/buffered_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>

namespace weir {
namespace {

boost::system::error_code LastError() { return {errno, boost::system::system_category()}; }

}  // namespace

BufferedStream::~BufferedStream() {
  if (piece_) pool_.Return(std::move(piece_));
  if (output_.capacity() >= kPieceBytes) pool_.Return(std::move(output_));
}

void BufferedStream::BeginTls(std::shared_ptr<const TlsCertificate> certificate, bool offers_http2) {
  tls_ = std::make_unique<TlsStream>(std::move(certificate), socket_.native_handle(), pool_, offers_http2);
}

size_t BufferedStream::Fill(size_t most, boost::system::error_code& error) {
  assert(piece().empty());
  if (!piece_) piece_ = pool_.TakePiece();
  piece_begin_ = 0;
  if (tls_) {
    piece_end_ = tls_->Read(piece_.get(), most, error);
    has_more_input_ = tls_->has_more();
  } else {
    piece_end_ = Receive(most, error);
    has_more_input_ = piece_end_ == most;
  }
  if (piece_end_ == 0) pool_.Return(std::move(piece_));
  return piece_end_;
}

size_t BufferedStream::Receive(size_t most, boost::system::error_code& error) {
  error = {};
  ssize_t bytes = 0;
  do {
    bytes = recv(socket_.native_handle(), piece_.get(), most, 0);
  } while (bytes < 0 && errno == EINTR);
  if (bytes > 0) return static_cast<size_t>(bytes);
  if (bytes == 0) error = boost::asio::error::eof;
  if (bytes < 0 && errno != EAGAIN && errno != EWOULDBLOCK) error = LastError();
  return 0;
}

void BufferedStream::Consume(size_t bytes) {
  assert(bytes <= piece().size());
  piece_begin_ += bytes;
  if (piece_begin_ < piece_end_) return;
  piece_begin_ = piece_end_ = 0;
  if (piece_) pool_.Return(std::move(piece_));
}

size_t BufferedStream::CopyToTargets() {
  size_t copied = 0;
  for (const boost::asio::mutable_buffer& target : targets_) {
    const std::string_view left = piece();
    const size_t bytes = std::min(target.size(), left.size());
    if (bytes == 0) break;
    std::memcpy(target.data(), left.data(), bytes);
    Consume(bytes);
    copied += bytes;
  }
  return copied;
}

bool BufferedStream::CompleteRead() {
  if (!read_.full()) return false;
  if (!piece().empty() || targets_[0].size() == 0) {
    const size_t bytes = CopyToTargets();
    read_.Run({}, bytes);
    return true;
  }
  if (!input_error_) return false;
  read_.Run(input_error_, 0);
  return true;
}

void BufferedStream::Append(std::string_view text) {
  if (output_.capacity() < kPieceBytes) output_ = pool_.TakeOutput();
  output_.append(text);
}

size_t BufferedStream::Send(boost::system::error_code& error) {
  error = {};
  blocked_ = false;
  const size_t sent = tls_ ? SendEncrypted(error) : SendPlain(error);
  if (plain_bytes() > 0) {
    DropSent();
    return sent;
  }
  if (output_.capacity() >= kPieceBytes) pool_.Return(std::move(output_));
  output_ = std::string();
  output_sent_ = 0;
  return sent;
}

// Encrypts and sends as many records of 16 KiB at a time as fit into a buffer.
size_t BufferedStream::SendEncrypted(boost::system::error_code& error) {
  constexpr size_t kMostARound = kPieceBytes / 4 * 3;
  size_t sent = tls_->Flush(error, blocked_);
  while (!error && !blocked_ && tls_->ready() && plain_bytes() > 0 && sent < kMostASend) {
    const size_t bytes = std::min(plain_bytes(), kMostARound);
    tls_->Write({output_.data() + output_sent_, bytes}, error);
    if (error) break;
    output_sent_ += bytes;
    sent += tls_->Flush(error, blocked_);
  }
  return sent;
}

size_t BufferedStream::SendPlain(boost::system::error_code& error) {
  size_t sent = 0;
  while (plain_bytes() > 0 && sent < kMostASend) {
    const size_t most = std::min(plain_bytes(), kMostASend - sent);
    const ssize_t bytes =
        send(socket_.native_handle(), output_.data() + output_sent_, most, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      blocked_ = errno == EAGAIN || errno == EWOULDBLOCK;
      if (!blocked_) error = LastError();
      break;
    }
    output_sent_ += static_cast<size_t>(bytes);
    sent += static_cast<size_t>(bytes);
  }
  return sent;
}

// Removes sent bytes, so that the buffer does not grow without end for a peer that takes little while more is appended.
void BufferedStream::DropSent() {
  if (output_sent_ < kPieceBytes || output_sent_ < plain_bytes()) return;
  output_.erase(0, output_sent_);
  output_sent_ = 0;
}

void teardown(boost::beast::role_type, BufferedStream&, boost::system::error_code& error) { error = {}; }

void beast_close_socket(BufferedStream&) {}

}  // namespace weir
