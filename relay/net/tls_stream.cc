#include "relay/net/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <new>

namespace weir {
namespace {

using boost::system::error_code;

// The longest ClientHello. Clients usually send at most 2 KB, but OpenSSL allocates as much memory as a hello
// announces.
constexpr size_t kMostHelloBytes = size_t{16} << 10;
// The work after which a Read returns, so that other connections have their turns.
constexpr Work kMostAtOnce = kTurnWork / 4;
// The most messages without data in a row: new keys, and hellos after the first, which are refused.
constexpr uint32_t kMostIdleMessages = 32;
constexpr Work kIdleMessageWork = 8'000;
constexpr Work kTlsRecordWork = 1'000;
constexpr uint64_t kBytesPerWork = 2;
// The work of a full handshake is divided by this for a handshake that resumes a session.
constexpr Work kResumptionShare = 2;

template <typename T>
T* Made(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

error_code NoTls() { return {EPROTO, boost::system::system_category()}; }

bool HasProtocol(std::string_view offered, std::string_view name) {
  while (!offered.empty()) {
    const auto size = static_cast<size_t>(static_cast<unsigned char>(offered.front()));
    if (offered.substr(1, size) == name) return true;
    offered.remove_prefix(std::min(offered.size(), size + 1));
  }
  return false;
}

// Returns true if HTTP/2 may use the cipher: any of TLS 1.3, but of TLS 1.2 only authenticated encryption with
// ephemeral keys (RFC 9113, 9.2.2).
bool IsForHttp2(const SSL* ssl) {
  const SSL_CIPHER* const cipher = SSL_get_pending_cipher(ssl);
  if (SSL_version(ssl) >= TLS1_3_VERSION) return true;
  if (cipher == nullptr || SSL_CIPHER_is_aead(cipher) != 1) return false;
  const int exchange = SSL_CIPHER_get_kx_nid(cipher);
  return exchange == NID_kx_ecdhe || exchange == NID_kx_dhe;
}

}  // namespace

void TlsStream::SetUp(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  // The server keeps no TLS sessions; clients keep them as tickets.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // A waiting connection holds no buffer (RELEASE_BUFFERS), and one system call reads more than a record's header (read
  // ahead). Without AUTO_RETRY, SSL_read_ex returns after each record without data, and Read counts the record.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_alpn_select_cb(context, &TlsStream::ChooseProtocol, nullptr);
  SSL_CTX_set_msg_callback(context, &TlsStream::OnMessage);
}

const BIO_METHOD* TlsStream::Method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = Made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir's socket"));
    BIO_meth_set_read(made, [](BIO* bio, char* to, int most) {
      return static_cast<TlsStream*>(BIO_get_data(bio))->Receive(to, static_cast<size_t>(most));
    });
    BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) {
      return static_cast<TlsStream*>(BIO_get_data(bio))->Take(bytes, static_cast<size_t>(size));
    });
    BIO_meth_set_ctrl(made, [](BIO* bio, int what, long, void*) -> long {
      if (what == BIO_CTRL_EOF) return static_cast<TlsStream*>(BIO_get_data(bio))->cut_off_ ? 1 : 0;
      return what == BIO_CTRL_FLUSH ? 1 : 0;
    });
    return made;
  }();
  return method;
}

TlsStream::TlsStream(std::shared_ptr<const TlsCertificate> certificate, int socket, BufferPool& pool, bool offers_http2)
    : certificate_(std::move(certificate)),
      pool_(pool),
      bio_(Made(BIO_new(Method()))),
      ssl_(SSL_new(certificate_->context())),
      socket_(socket),
      offers_http2_(offers_http2) {
  BIO_set_data(bio_, this);
  BIO_set_init(bio_, 1);
  if (ssl_ == nullptr) {
    BIO_free(bio_);
    throw std::bad_alloc();
  }
  SSL_set_bio(ssl_, bio_, bio_);
  SSL_set_app_data(ssl_, this);
  SSL_set_accept_state(ssl_);
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
  if (output_.capacity() >= kPieceBytes) pool_.Return(std::move(output_));
}

int TlsStream::ChooseProtocol(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_bytes,
                              const unsigned char* offered, unsigned offered_bytes, void*) {
  auto& self = *static_cast<TlsStream*>(SSL_get_app_data(ssl));
  const std::string_view names(reinterpret_cast<const char*>(offered), offered_bytes);
  const auto choose = [&](std::string_view name) {
    *chosen = reinterpret_cast<const unsigned char*>(name.data());
    *chosen_bytes = static_cast<unsigned char>(name.size());
    return SSL_TLSEXT_ERR_OK;
  };
  self.chose_http2_ = self.offers_http2_ && HasProtocol(names, "h2") && IsForHttp2(ssl);
  if (self.chose_http2_) return choose("h2");
  return HasProtocol(names, "http/1.1") ? choose("http/1.1") : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Counts every handshake message that comes after the handshake, and every alert that is sent then.
void TlsStream::OnMessage(int is_write, int, int type, const void*, size_t, SSL* ssl, void*) {
  auto* const self = static_cast<TlsStream*>(SSL_get_app_data(ssl));
  if (self == nullptr || !self->ready_) return;
  if (is_write == 0 ? type != SSL3_RT_HANDSHAKE : type != SSL3_RT_ALERT) return;
  self->work_ += kIdleMessageWork;
  ++self->idle_messages_;
}

int TlsStream::Take(const char* bytes, size_t size) {
  BIO_clear_retry_flags(bio_);
  if (output_.capacity() < kPieceBytes) output_ = pool_.TakeOutput();
  output_.append(bytes, size);
  return static_cast<int>(size);
}

int TlsStream::Receive(char* to, size_t most) {
  BIO_clear_retry_flags(bio_);
  if (begin_taken_ < kBeginBytes) {
    if (!ReceiveBegin()) return cut_off_ ? 0 : -1;
    const size_t bytes = std::min<size_t>(most, kBeginBytes - begin_taken_);
    std::memcpy(to, begin_.data() + begin_taken_, bytes);
    begin_taken_ = static_cast<uint8_t>(begin_taken_ + bytes);
    return static_cast<int>(bytes);
  }
  if (fault_ != nullptr) return -1;
  return ReceiveSome(to, most);
}

// Reads and checks the first bytes, which must begin a ClientHello, before OpenSSL gets them.
bool TlsStream::ReceiveBegin() {
  while (begin_bytes_ < kBeginBytes) {
    const int bytes = ReceiveSome(begin_.data() + begin_bytes_, kBeginBytes - begin_bytes_);
    if (bytes <= 0) return false;
    begin_bytes_ = static_cast<uint8_t>(begin_bytes_ + bytes);
    const auto at = [this](size_t n) { return static_cast<size_t>(static_cast<unsigned char>(begin_[n])); };
    constexpr char kHandshakeRecord = 22;
    constexpr char kClientHello = 1;
    constexpr size_t kMessageHeaderBytes = 4;
    if (begin_[0] != kHandshakeRecord) {
      spoke_http_ = begin_[0] >= 'A' && begin_[0] <= 'Z';
      fault_ = spoke_http_ ? "HTTP without TLS" : "it begins with no handshake";
    } else if (begin_bytes_ == kBeginBytes) {
      const size_t announced = (at(6) << 16) + (at(7) << 8) + at(8);
      if ((at(3) << 8) + at(4) < kMessageHeaderBytes || begin_[5] != kClientHello) fault_ = "it begins with no hello";
      if (announced > kMostHelloBytes) fault_ = "a hello far too long";
    }
    if (fault_ != nullptr) return false;
  }
  return true;
}

int TlsStream::ReceiveSome(char* to, size_t most) {
  ssize_t bytes = -1;
  errno = EAGAIN;
  has_more_ = left_to_receive_ == 0;
  if (!has_more_) {
    do {
      bytes = recv(socket_, to, std::min(most, left_to_receive_), 0);
    } while (bytes < 0 && errno == EINTR);
  }
  if (bytes > 0) {
    left_to_receive_ -= static_cast<size_t>(bytes);
    return static_cast<int>(bytes);
  }
  cut_off_ = bytes == 0;
  if (cut_off_) return 0;
  drained_ = errno == EAGAIN || errno == EWOULDBLOCK;
  if (drained_) {
    BIO_set_retry_read(bio_);
  } else {
    io_error_ = errno;
  }
  return -1;
}

size_t TlsStream::Read(char* to, size_t most, error_code& error) {
  error = {};
  has_more_ = drained_ = false;
  left_to_receive_ = kPieceBytes;
  if (!ready_ && !ShakeHands(error)) return 0;
  size_t read = 0;
  while (read < most) {
    has_more_ = work_ >= kMostAtOnce;
    if (has_more_) return read;
    size_t bytes = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, to + read, most - read, &bytes);
    work_ += kTlsRecordWork + bytes / kBytesPerWork;
    if (result == 1) {
      read += bytes;
      idle_messages_ = 0;
    } else if (idle_messages_ > kMostIdleMessages) {
      fault_ = "too many messages that bring nothing";
      failed_ = true;
      error = NoTls();
      return read;
    } else if (SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ) {
      error = ErrorOf(result);
      return read;
    } else if (drained_) {
      return read;
    }
  }
  has_more_ = true;
  return read;
}

bool TlsStream::ShakeHands(error_code& error) {
  const size_t before = output_bytes();
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  // Charges the handshake when the server has answered the hello, because the answer has the costly signature.
  if (!charged_ && output_bytes() > before && fault_ == nullptr) {
    charged_ = true;
    work_ += certificate_->handshake_work() / (SSL_session_reused(ssl_) == 1 ? kResumptionShare : 1);
  }
  ready_ = result == 1;
  if (!ready_ && SSL_get_error(ssl_, result) != SSL_ERROR_WANT_READ) error = ErrorOf(result);
  return ready_;
}

error_code TlsStream::ErrorOf(int result) {
  const int kind = SSL_get_error(ssl_, result);
  if (kind == SSL_ERROR_ZERO_RETURN) return boost::asio::error::eof;
  failed_ = true;
  if (cut_off_ && fault_ == nullptr) {
    if (begin_bytes_ == 0) return boost::asio::error::eof;
    return boost::asio::error::connection_aborted;
  }
  if (io_error_ != 0) return {io_error_, boost::system::system_category()};
  if (fault_ == nullptr) fault_ = ERR_reason_error_string(ERR_peek_error());
  if (fault_ == nullptr) fault_ = "no TLS";
  return NoTls();
}

void TlsStream::Write(std::string_view text, error_code& error) {
  error = {};
  ERR_clear_error();
  size_t written = 0;
  work_ += kTlsRecordWork + text.size() / kBytesPerWork;
  const int result = SSL_write_ex(ssl_, text.data(), text.size(), &written);
  if (result != 1 || written != text.size()) error = ErrorOf(result);
}

void TlsStream::WriteEnd() {
  if (!ready_ || failed_ || std::exchange(wrote_end_, true)) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
}

size_t TlsStream::Flush(error_code& error, bool& blocked) {
  error = {};
  blocked = false;
  size_t sent = 0;
  while (output_bytes() > 0) {
    const ssize_t bytes = send(socket_, output_.data() + output_sent_, output_bytes(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes < 0) {
      if (errno == EINTR) continue;
      blocked = errno == EAGAIN || errno == EWOULDBLOCK;
      if (!blocked) error = {errno, boost::system::system_category()};
      return sent;
    }
    output_sent_ += static_cast<size_t>(bytes);
    sent += static_cast<size_t>(bytes);
  }
  if (output_.capacity() >= kPieceBytes) pool_.Return(std::move(output_));
  output_ = std::string();
  output_sent_ = 0;
  return sent;
}

}  // namespace weir
