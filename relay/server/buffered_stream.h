// The stream below Beast. It reads a socket in pieces of 64 KiB into a borrowed buffer, and gathers what is written
// until it is flushed, so that Beast's many small reads and writes are copies, not system calls. On a port that speaks
// TLS, it gives and takes decrypted bytes.
//
// Its owner drives it: waits until the socket is readable, calls Fill, then lets Beast read with CompleteRead until the
// piece is used up. No function blocks. One thread only.
#pragma once

#include <array>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/system/error_code.hpp>
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "relay/server/buffer_pool.h"
#include "relay/server/tls_stream.h"

namespace weir {

// Room for one handler void(error_code, size_t) in place: a connection always has a read under way.
class ReadSlot {
 public:
  ReadSlot() = default;
  ReadSlot(const ReadSlot&) = delete;
  ReadSlot& operator=(const ReadSlot&) = delete;
  ~ReadSlot() { Clear(); }

  bool full() const { return calls_ != nullptr; }

  template <typename Handler>
  void Set(Handler&& handler) {
    using Held = std::decay_t<Handler>;
    static_assert(sizeof(Held) <= kBytes && alignof(Held) <= alignof(std::max_align_t));
    assert(!full());
    new (room_) Held(std::forward<Handler>(handler));
    static constexpr Calls kCalls{
        .run =
            [](ReadSlot* slot, boost::system::error_code error, size_t bytes) {
              Held* held = std::launder(reinterpret_cast<Held*>(slot->room_));
              Held own(std::move(*held));
              held->~Held();
              slot->calls_ = nullptr;  // before the call, which may well read again
              own(error, bytes);
            },
        .destroy = [](ReadSlot* slot) { std::launder(reinterpret_cast<Held*>(slot->room_))->~Held(); }};
    calls_ = &kCalls;
  }

  void Run(boost::system::error_code error, size_t bytes) { calls_->run(this, error, bytes); }
  void Clear() {
    if (calls_ != nullptr) std::exchange(calls_, nullptr)->destroy(this);
  }

 private:
  static constexpr size_t kBytes = 448;
  struct Calls {
    void (*run)(ReadSlot* slot, boost::system::error_code error, size_t bytes);
    void (*destroy)(ReadSlot* slot);
  };

  const Calls* calls_ = nullptr;
  alignas(std::max_align_t) std::byte room_[kBytes];
};

class BufferedStream {
 public:
  using executor_type = boost::asio::io_context::executor_type;  // NOLINT(readability-identifier-naming): Asio's name
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, executor_type>;

  // The socket must be non-blocking; the pool outlives the stream.
  BufferedStream(Socket socket, BufferPool& pool) : socket_(std::move(socket)), pool_(pool) {}
  ~BufferedStream();

  Socket& socket() { return socket_; }

  // Must be called before the first byte. From here on there is a tls(), until DropTls; after that, output goes out as
  // it is.
  void BeginTls(std::shared_ptr<const TlsCertificate> certificate, bool offers_http2);
  void DropTls() { tls_.reset(); }
  TlsStream* tls() const { return tls_.get(); }

  // Input. Fill reads once into an empty piece, no more than `most` bytes, which is at most kPieceBytes. If nothing is
  // there, it returns zero and no error.
  size_t Fill(size_t most, boost::system::error_code& error);
  // Returns true if the last Fill may have left something, so that there is nothing to wait for.
  bool has_more_input() const { return has_more_input_; }
  std::string_view piece() const { return {piece_.get() + piece_begin_, piece_end_ - piece_begin_}; }
  void Consume(size_t bytes);
  // From here on reads fail with this error, once the piece is used up.
  void EndInput(boost::system::error_code error) { input_error_ = error; }
  const boost::system::error_code& input_error() const { return input_error_; }

  // Completes Beast's read from the piece, or with the end's error. Returns false if there is no read, or nothing for
  // it.
  bool CompleteRead();
  void DropRead() { read_.Clear(); }

  // Output that is not sent yet.
  size_t output_bytes() const { return plain_bytes() + (tls_ ? tls_->output_bytes() : 0); }
  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  void Append(std::string_view text);
  // Removes the last bytes of the output.
  void TakeBack(size_t bytes) { output_.resize(output_.size() - bytes); }
  // Sends as much as the socket takes, but no more at once than kMostASend. It is no error if the socket would block.
  // Returns how much the socket took.
  size_t Send(boost::system::error_code& error);
  // Returns true if Send would do anything: output waits until the handshake is done.
  bool may_send() const { return !tls_ || tls_->ready() || tls_->output_bytes() > 0; }
  // Must be called after the last output.
  void EndOutput() {
    if (tls_) tls_->WriteEnd();
  }
  bool blocked() const { return blocked_; }  // at the last Send
  static constexpr size_t kMostASend = 4 * kPieceBytes;

  // The functions that Beast calls.
  executor_type get_executor() { return socket_.get_executor(); }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    namespace asio = boost::asio;
    targets_ = {};
    size_t n = 0;
    for (auto i = asio::buffer_sequence_begin(buffers); i != asio::buffer_sequence_end(buffers); ++i) {
      const asio::mutable_buffer buffer(*i);
      if (buffer.size() > 0 && n < targets_.size()) targets_[n++] = buffer;
    }
    read_.Set(std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    boost::system::error_code error;
    const size_t bytes = write_some(buffers, error);
    Post(std::forward<Handler>(handler), error, bytes);
  }

  template <typename Buffers>
  size_t write_some(const Buffers& buffers, boost::system::error_code& error) {
    namespace asio = boost::asio;
    error = {};
    size_t bytes = 0;
    for (auto i = asio::buffer_sequence_begin(buffers); i != asio::buffer_sequence_end(buffers); ++i) {
      const asio::const_buffer buffer(*i);
      Append({static_cast<const char*>(buffer.data()), buffer.size()});
      bytes += buffer.size();
    }
    return bytes;
  }

  // Beast requires these, but they are never called.
  template <typename Buffers>
  size_t write_some(const Buffers& buffers) {
    boost::system::error_code error;
    return write_some(buffers, error);
  }
  template <typename Buffers>
  size_t read_some(const Buffers&, boost::system::error_code& error) {
    error = boost::asio::error::operation_not_supported;
    return 0;
  }
  template <typename Buffers>
  size_t read_some(const Buffers&) {
    return 0;
  }

  template <typename Handler, typename... Arguments>
  void Post(Handler&& handler, Arguments... arguments) {
    namespace asio = boost::asio;
    const auto executor = asio::get_associated_executor(handler, get_executor());
    asio::require(executor, asio::execution::blocking.never)
        .execute(boost::beast::bind_front_handler(std::forward<Handler>(handler), arguments...));
  }

 private:
  size_t plain_bytes() const { return output_.size() - output_sent_; }
  size_t Receive(size_t most, boost::system::error_code& error);
  size_t CopyToTargets();
  size_t SendPlain(boost::system::error_code& error);
  size_t SendEncrypted(boost::system::error_code& error);
  void DropSent();

  Socket socket_;
  BufferPool& pool_;
  BufferPool::Piece piece_;
  size_t piece_begin_ = 0;
  size_t piece_end_ = 0;
  boost::system::error_code input_error_;
  std::string output_;
  size_t output_sent_ = 0;
  bool blocked_ = false;
  bool has_more_input_ = false;
  std::unique_ptr<TlsStream> tls_;                      // null: none
  std::array<boost::asio::mutable_buffer, 2> targets_;  // the read's; two, because Beast's own buffer is a ring
  ReadSlot read_;
};

// Beast's way to end the stream below. The owner ends the socket itself, when the last output is sent.
// NOLINTBEGIN(readability-identifier-naming): Beast's names
template <typename Handler>
void async_teardown(boost::beast::role_type, BufferedStream& stream, Handler&& handler) {
  stream.Post(std::forward<Handler>(handler), boost::system::error_code());
}
void teardown(boost::beast::role_type role, BufferedStream& stream, boost::system::error_code& error);
void beast_close_socket(BufferedStream& stream);
// NOLINTEND(readability-identifier-naming)

}  // namespace weir
