// TlsStream encrypts and decrypts for a BufferedStream (buffered_stream.h). It lies between that and the socket.
//
// It reads the socket itself. All encrypted output, that of the handshake included, gathers in a buffer until Flush, so
// that reading never waits for writing. The work that a peer causes is counted, and one Read does no more of it than a
// session may do in a turn.
//
// Not thread-safe: used on the connection's I/O thread.
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
#include "relay/server/buffer_pool.h"
#include "relay/server/tls_certificate.h"

struct bio_method_st;
struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace weir {

class TlsStream {
 public:
  // The socket must be non-blocking; socket and pool must outlive the stream. With `offers_http2` the client may choose
  // HTTP/2 in the handshake (ALPN).
  TlsStream(std::shared_ptr<const TlsCertificate> certificate, int socket, BufferPool& pool, bool offers_http2);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Goes on with the handshake, then decrypts at most `most` bytes of input into `to`. Returns the number of bytes, 0
  // if none has come. Sets `error`, perhaps together with bytes, if no more will come:
  //  * asio's eof if the peer has announced the end (close_notify) or has sent nothing at all,
  //  * connection_aborted if the input ends otherwise, because an attacker may have cut it off,
  //  * EPROTO if the input is no TLS; fault() says what is wrong,
  //  * or the socket's error.
  size_t Read(char* to, size_t most, boost::system::error_code& error);
  // Returns true if the last Read may have left input. Then call Read again: the socket may never become readable for
  // that input.
  bool has_more() const { return has_more_; }
  bool ready() const { return ready_; }              // the handshake is done
  bool chose_http2() const { return chose_http2_; }  // in the handshake
  bool spoke_http() const { return spoke_http_; }    // the peer spoke HTTP without TLS
  const char* fault() const { return fault_; }       // the fault in the peer's TLS; null: none

  // Encrypts `text` into the output. Call it only when ready().
  void Write(std::string_view text, boost::system::error_code& error);
  // Writes the end (close_notify) into the output. Does nothing the second time, before the handshake is done, and
  // after an error.
  void WriteEnd();
  // Returns the bytes of output that the socket has not taken.
  size_t output_bytes() const { return output_.size() - output_sent_; }
  // Sends as much of the output as the socket takes. Returns the number of bytes that it took, and sets `blocked` if
  // that is not all because the socket takes no more for now.
  size_t Flush(boost::system::error_code& error, bool& blocked);

  // Returns the work done since the last call.
  Work TakeWork() { return std::exchange(work_, 0); }

  // Sets up the OpenSSL context of a certificate: the versions of TLS, the protocols to choose from, and the callbacks.
  static void SetUp(ssl_ctx_st* context);

  // The bytes of memory that OpenSSL keeps for a connection that waits for input (measured).
  static constexpr size_t kHeldBytes = size_t{15} << 10;

 private:
  // The bytes that are checked before OpenSSL gets them: the header of the first record, and that of the ClientHello in
  // it.
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
  uint32_t idle_messages_ = 0;  // messages in a row that brought nothing
  std::array<char, kBeginBytes> begin_{};
  uint8_t begin_bytes_ = 0;
  uint8_t begin_taken_ = 0;
  const bool offers_http2_;
  bool charged_ = false;  // the handshake is in work_
  bool ready_ = false;
  bool chose_http2_ = false;
  bool spoke_http_ = false;
  bool has_more_ = false;
  bool drained_ = false;  // this Read has found the socket empty
  bool cut_off_ = false;  // the socket's input has ended
  bool failed_ = false;
  bool wrote_end_ = false;
};

}  // namespace weir
