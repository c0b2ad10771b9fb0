// BufferedStream: the stream from which Boost.Beast reads and to which it writes. Reads the socket in pieces of at most
// 64 KiB into a borrowed buffer, and gathers output until Send, so that Beast's many small reads and writes are copies
// instead of system calls. On a port that speaks TLS it decrypts the input and encrypts the output; Beast sees plain
// bytes.
//
// The owner (Session) waits until the socket is readable, calls Fill, then calls CompleteRead until Beast has read the
// whole piece. A stage that does not use Beast's stream reads piece() itself. No function blocks. Not thread-safe: all
// functions must be called on the connection's I/O thread.
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

#include "relay/net/buffer_pool.h"
#include "relay/net/tls_stream.h"

namespace weir {

// ReadSlot: holds one completion handler void(error_code, size_t) without allocating memory. Each connection owns one
// slot, because it waits for a read nearly all the time.
class ReadSlot {
 public:
  ReadSlot() = default;
  ReadSlot(const ReadSlot&) = delete;
  ReadSlot& operator=(const ReadSlot&) = delete;
  ~ReadSlot() { Clear(); }

  bool full() const { return calls_ != nullptr; }

  // Puts a handler into the slot, which must be empty.
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
              slot->calls_ = nullptr;  // before the call, which may begin the next read
              own(error, bytes);
            },
        .destroy = [](ReadSlot* slot) { std::launder(reinterpret_cast<Held*>(slot->room_))->~Held(); }};
    calls_ = &kCalls;
  }

  // Empties the slot and calls the handler. The slot must be full.
  void Run(boost::system::error_code error, size_t bytes) { calls_->run(this, error, bytes); }
  // Destroys the handler, if there is one, without calling it.
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

  // The socket must be non-blocking; the pool must outlive the stream.
  BufferedStream(Socket socket, BufferPool& pool) : socket_(std::move(socket)), pool_(pool) {}
  ~BufferedStream();

  Socket& socket() { return socket_; }

  // Makes the connection speak TLS. Must be called before the first byte is read or written.
  void BeginTls(std::shared_ptr<const TlsCertificate> certificate, bool offers_http2);
  // Stops encryption: later output is sent in plain text. For a client that has sent plain HTTP to a TLS port.
  void DropTls() { tls_.reset(); }
  TlsStream* tls() const { return tls_.get(); }  // null if the connection does not speak TLS

  // Input. The piece is the bytes that were read from the socket and not consumed yet.

  // Reads at most `most` bytes from the socket into the piece, which must be empty. `most` must not exceed kPieceBytes.
  // Returns the number of bytes; 0 without an error if the socket has no input. At the end of the input `error` is
  // asio's eof; for TLS see TlsStream::Read.
  size_t Fill(size_t most, boost::system::error_code& error);
  // Returns true if the last Fill may have left input unread. The caller must then call Fill again, because the system
  // may never report the socket as readable for that input.
  bool has_more_input() const { return has_more_input_; }
  // The view is valid until Fill, Consume or CompleteRead.
  std::string_view piece() const { return {piece_.get() + piece_begin_, piece_end_ - piece_begin_}; }
  // Removes bytes from the front of the piece.
  void Consume(size_t bytes);
  // Makes Beast's reads fail with `error` once Beast has read the whole piece. The owner calls it when Fill has set an
  // error.
  void EndInput(boost::system::error_code error) { input_error_ = error; }
  const boost::system::error_code& input_error() const { return input_error_; }

  // Completes Beast's pending read with bytes from the piece or, if the piece is empty, with the error of EndInput.
  // Calls Beast's handler before it returns. Returns false, and does nothing, if no read is pending, or if there are
  // neither bytes nor an error.
  bool CompleteRead();
  // Drops Beast's pending read, if there is one, without calling its handler.
  void DropRead() { read_.Clear(); }

  // Output: the bytes that were written and that the socket has not taken yet.

  // Returns the number of bytes of output, both encrypted and not yet encrypted.
  size_t output_bytes() const { return plain_bytes() + (tls_ ? tls_->output_bytes() : 0); }
  // Returns the output that is not yet encrypted; without TLS, all output. The view is valid until the output changes.
  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  void Append(std::string_view text);
  // Removes the last bytes of output().
  void TakeBack(size_t bytes) { output_.resize(output_.size() - bytes); }
  // Sends as much output as the socket takes, but not much more than kMostASend. Returns the number of bytes that the
  // socket took. If the socket takes only a part or nothing, this is no error, and blocked() becomes true.
  size_t Send(boost::system::error_code& error);
  // Returns false if Send would send nothing because the TLS handshake needs input first.
  bool may_send() const { return !tls_ || tls_->ready() || tls_->output_bytes() > 0; }
  // Writes TLS's close_notify, if the connection speaks TLS. Must be called after the last output was sent; the next
  // Send sends it.
  void EndOutput() {
    if (tls_) tls_->WriteEnd();
  }
  bool blocked() const { return blocked_; }              // true if the socket took too little at the last Send
  static constexpr size_t kMostASend = 4 * kPieceBytes;  // bytes

  // The functions that Beast calls. A read waits for CompleteRead. A write appends to the output and never fails.
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

  // Beast requires the next three functions, but never calls them.
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

  // Posts a completion handler with its arguments to the handler's own executor, or to the socket's.
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
  std::unique_ptr<TlsStream> tls_;                      // null if the connection does not speak TLS
  std::array<boost::asio::mutable_buffer, 2> targets_;  // Beast's buffers for the read; two, because Beast has a ring
  ReadSlot read_;
};

// The functions that Beast calls to end the stream below it. They do nothing to the socket, because the owner closes it
// when the last output is sent.
// NOLINTBEGIN(readability-identifier-naming): Beast's names
template <typename Handler>
void async_teardown(boost::beast::role_type, BufferedStream& stream, Handler&& handler) {
  stream.Post(std::forward<Handler>(handler), boost::system::error_code());
}
void teardown(boost::beast::role_type role, BufferedStream& stream, boost::system::error_code& error);
void beast_close_socket(BufferedStream& stream);
// NOLINTEND(readability-identifier-naming)

}  // namespace weir
