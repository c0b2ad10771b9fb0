// TlsStream lies between a BufferedStream and its socket if the port speaks TLS.
//
// It reads the socket itself. All that is to go out, records of the handshake included, gathers in `output` until
// Flush, so that reading never waits for writing. The work that a peer causes is no more at once than a turn, and is
// counted.
//
// One thread only.
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
  // The socket must be non-blocking; socket and pool must outlive the stream. HTTP/2 is offered only with
  // `offers_http2`.
  TlsStream(std::shared_ptr<const TlsCertificate> certificate, int socket, BufferPool& pool, bool offers_http2);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Shakes hands, then decrypts. Returns zero and no error if nothing has come. The end is asio's eof if the peer has
  // announced it (close_notify) or never began, and connection_aborted if it has not, because an attacker might have
  // cut it off. Anything that is no TLS is protocol_error, and fault() says what it is.
  size_t Read(char* to, size_t most, boost::system::error_code& error);
  // Returns true if Read has left input that the socket will not announce.
  bool has_more() const { return has_more_; }
  bool ready() const { return ready_; }  // the handshake is done
  bool chose_http2() const { return chose_http2_; }
  bool spoke_http() const { return spoke_http_; }  // the peer spoke HTTP without TLS
  const char* fault() const { return fault_; }     // null: none

  // Encrypts into `output`. Call it only when ready.
  void Write(std::string_view text, boost::system::error_code& error);
  // Writes close_notify, once.
  void WriteEnd();
  size_t output_bytes() const { return output_.size() - output_sent_; }
  // Sends as much as the socket takes.
  size_t Flush(boost::system::error_code& error, bool& blocked);

  // Returns the work done since the last call.
  Work TakeWork() { return std::exchange(work_, 0); }

  // Sets up a certificate's context: versions, protocols and what is asked of a peer.
  static void SetUp(ssl_ctx_st* context);

  // The memory that OpenSSL keeps for a connection that waits (measured).
  static constexpr size_t kHeldBytes = size_t{15} << 10;

 private:
  // The first record's header, and that of the ClientHello in it.
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
  size_t left_to_receive_ = 0;  // in this Read
  Work work_ = 0;
  uint32_t idle_messages_ = 0;  // since the last that brought something
  std::array<char, kBeginBytes> begin_{};
  uint8_t begin_bytes_ = 0;
  uint8_t begin_taken_ = 0;
  const bool offers_http2_;
  bool charged_ = false;  // for its handshake
  bool ready_ = false;
  bool chose_http2_ = false;
  bool spoke_http_ = false;
  bool has_more_ = false;
  bool drained_ = false;  // the socket had no more, in this Read
  bool cut_off_ = false;  // the socket has ended
  bool failed_ = false;
  bool wrote_end_ = false;
};

}  // namespace weir
