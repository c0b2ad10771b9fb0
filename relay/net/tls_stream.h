// TlsStream: encrypts and decrypts between a BufferedStream (buffered_stream.h) and its socket.
//
// It reads the socket itself. It keeps all encrypted output, including that of the handshake, in a buffer until Flush,
// so that reading never waits for writing. It counts the work that the peer causes. A Read that has done as much work
// as a session may do in a turn returns; only a handshake may cost more.
//
// Not thread-safe: all functions must be called on the connection's I/O thread.
#pragma once

#include <array>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "relay/account/work.h"
#include "relay/net/buffer_pool.h"
#include "relay/net/tls_certificate.h"

struct bio_method_st;
struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace weir {

class TlsStream {
 public:
  // `socket` must be non-blocking; `socket` and `pool` must outlive the stream. With `offers_http2` the client may
  // choose HTTP/2 in the handshake (ALPN).
  TlsStream(std::shared_ptr<const TlsCertificate> certificate, int socket, BufferPool& pool, bool offers_http2);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Continues the handshake, then decrypts at most `most` bytes of input into `to`. Returns the number of bytes; 0 if
  // none has arrived. If no more input can arrive, sets `error`, even if it returns bytes, to
  //  * asio's eof if the peer has announced the end (close_notify), or has ended its input without sending anything,
  //  * connection_aborted if the input ends in another way, because an attacker may have cut it off,
  //  * EPROTO if the input is not valid TLS; fault() then says what is wrong,
  //  * or the socket's error.
  size_t Read(char* to, size_t most, boost::system::error_code& error);
  // Returns true if the last Read may have left input unread. The caller must then call Read again, because the system
  // may never report the socket as readable for that input.
  bool has_more() const { return has_more_; }
  bool ready() const { return ready_; }              // true once the handshake is done
  bool chose_http2() const { return chose_http2_; }  // true if the client chose HTTP/2 in the handshake
  bool spoke_http() const { return spoke_http_; }    // true if the peer has sent HTTP without TLS
  const char* fault() const { return fault_; }       // the fault in the peer's TLS; null if there is none

  // Encrypts `text` into the output. Must be called only when ready() is true.
  void Write(std::string_view text, boost::system::error_code& error);
  // Writes close_notify into the output. Does nothing after the first call, before the handshake is done, and after an
  // error.
  void WriteEnd();
  // Returns the bytes of output that the socket has not taken.
  size_t output_bytes() const { return output_.size() - output_sent_; }
  // Sends as much of the output as the socket takes, and returns the number of bytes that it took. Sets `blocked` if
  // output is left because the socket takes no more for now.
  size_t Flush(boost::system::error_code& error, bool& blocked);

  // Returns the work that the stream has done since the last call of TakeWork.
  Work TakeWork() { return std::exchange(work_, 0); }

  // Sets the versions of TLS, the offered protocols and the callbacks in the OpenSSL context of a certificate.
  static void SetUp(ssl_ctx_st* context);

  // The bytes of memory that OpenSSL keeps for a connection that waits for input (measured).
  static constexpr size_t kHeldBytes = size_t{15} << 10;

 private:
  // The bytes that are checked before OpenSSL gets them: the header of the first record and of its ClientHello.
  static constexpr size_t kBeginBytes = 9;

  static const bio_method_st* Method();
  static int ChooseProtocol(ssl_st* ssl, const unsigned char** chosen, unsigned char* chosen_bytes,
                            const unsigned char* offered, unsigned offered_bytes, void*);
  static void OnMessage(int is_write, int, int type, const void*, size_t, ssl_st* ssl, void*);
  int Receive(char* to, size_t most);
  bool ReceiveBegin();
  int ReceiveSome(char* to, size_t most);
  int Take(const char* bytes, size_t size);
  bool ShakeHands(boost::system::error_code& error);
  boost::system::error_code ErrorOf(int result);

  const std::shared_ptr<const TlsCertificate> certificate_;
  BufferPool& pool_;
  bio_st* const bio_;
  ssl_st* const ssl_;
  const int socket_;
  int io_error_ = 0;
  const char* fault_ = nullptr;
  std::string output_;
  size_t output_sent_ = 0;
  size_t left_to_receive_ = 0;  // bytes that this Read may still receive
  Work work_ = 0;
  uint32_t idle_messages_ = 0;  // the number of TLS messages without data since the last message with data
  std::array<char, kBeginBytes> begin_{};
  uint8_t begin_bytes_ = 0;
  uint8_t begin_taken_ = 0;
  const bool offers_http2_;
  bool charged_ = false;  // true once the handshake was added to work_
  bool ready_ = false;
  bool chose_http2_ = false;
  bool spoke_http_ = false;
  bool has_more_ = false;
  bool drained_ = false;  // true if this Read has found the socket empty
  bool cut_off_ = false;  // true once the socket's input has ended
  bool failed_ = false;
  bool wrote_end_ = false;
};

}  // namespace weir
