// TlsStream: what lies between a BufferedStream and its socket where the port speaks TLS.
//
// It reads the socket itself. What is to go out, records of the handshake included, gathers in `output` until Flush, so
// that reading never waits for writing. Whatever a peer sends costs no more at once than a turn, and is counted.
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
  // The socket is non-blocking, and like the pool outlives the stream. Without HTTP/2 none is offered.
  TlsStream(std::shared_ptr<const TlsCertificate> certificate, int socket, BufferPool& pool, bool offers_http2);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Shakes hands, then decrypts. Zero bytes and no error: nothing now. The end is asio's eof where the peer has said
  // so (close_notify) or never began, connection_aborted where it has not, and might have been cut off by somebody
  // else; whatever is no TLS is protocol_error, and fault() says what.
  size_t Read(char* to, size_t most, boost::system::error_code& error);
  // Whether Read has left something, that the socket will not announce.
  bool has_more() const { return has_more_; }
  bool ready() const { return ready_; }  // hands are shaken
  bool chose_http2() const { return chose_http2_; }
  bool spoke_http() const { return spoke_http_; }  // the peer, without TLS
  const char* fault() const { return fault_; }     // null: none

  // Into `output`; once ready.
  void Write(std::string_view text, boost::system::error_code& error);
  // close_notify, once.
  void WriteEnd();
  size_t output_bytes() const { return output_.size() - output_sent_; }
  // Sends what the socket takes.
  size_t Flush(boost::system::error_code& error, bool& blocked);

  // What was done since the last call.
  Work TakeWork() { return std::exchange(work_, 0); }

  // For a certificate's context: versions, protocols and what is asked of a peer.
  static void SetUp(ssl_ctx_st* context);

  // What OpenSSL keeps for a connection that waits (measured).
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
  bool drained_ = false;  // the socket, in this Read
  bool cut_off_ = false;  // the socket has ended
  bool failed_ = false;
  bool wrote_end_ = false;
};

}  // namespace weir
