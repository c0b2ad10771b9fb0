#include "import/input/decoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr size_t kOutBytes = 64 << 10;

// Returns how many bytes of the output buffer the next call of the library may fill.
size_t RoomFor(size_t max_output, size_t made) {
  return max_output > made ? std::min(kOutBytes, max_output - made) : kOutBytes;
}

class PlainDecoder final : public Decoder {
 public:
  Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) override {
    piece = piece.substr(0, std::max<size_t>(1, max_output));
    if (!piece.empty()) on_bytes(piece);
    return piece.size();
  }
  Status End() override { return {}; }
};

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() : out_(kOutBytes) { ready_ = inflateInit2(&stream_, kGzipOnly) == Z_OK; }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) override {
    if (!ready_) return Status::Error("zlib has no memory");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream_.avail_in = static_cast<uInt>(piece.size());
    piece_size_ = piece.size();
    made_ = 0;
    bool full = false;  // true if there may be more output without input
    while (error_.ok() && (stream_.avail_in > 0 || full)) {
      if (made_ >= max_output && stream_.avail_in > 0) break;
      if (between_members_ && !BeginMember()) break;
      full = Inflate(max_output, on_bytes);
    }
    const size_t used = std::exchange(piece_size_, 0) - std::exchange(stream_.avail_in, 0);
    taken_ += used;
    if (!error_.ok()) return error_;
    return used;
  }

  Status End() override {
    if (!error_.ok() || between_members_) return error_;
    return Status::Error("cut off: the gzip data ends in the middle");
  }

 private:
  static constexpr int kGzipOnly = 15 + 16;

  // Begins the next gzip member. Skips zero bytes after a member, because tape drives append them. Returns false if no
  // other bytes are left, or on an error.
  bool BeginMember() {
    while (stream_.avail_in > 0 && any_member_ && *stream_.next_in == 0) {
      padded_ = true;
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return false;
    if (padded_) {
      error_ = Status::Error("not gzip data at byte " + At() + ", behind the end of the gzip data");
      return false;
    }
    inflateReset(&stream_);
    member_begin_ = Offset();
    between_members_ = false;
    return true;
  }

  bool Inflate(size_t max_output, const OnBytes& on_bytes) {
    const size_t room = RoomFor(max_output, made_);
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(room);
    const uLong produced_before = stream_.total_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const size_t made = room - stream_.avail_out;
    made_ += made;
    if (made > 0) on_bytes({out_.data(), made});
    if (code == Z_STREAM_END) {
      between_members_ = any_member_ = true;
      return false;
    }
    // Z_BUF_ERROR means that zlib needs more input.
    if (code != Z_OK && code != Z_BUF_ERROR) error_ = Damaged(code, produced_before + made == 0);
    return stream_.avail_out == 0;
  }

  Status Damaged(int code, bool at_begin) const {
    const std::string why = stream_.msg != nullptr ? stream_.msg : zError(code);
    if (!at_begin) return Status::Error("damaged at byte " + At() + ": " + why);
    return Status::Error("not gzip data at byte " + std::to_string(member_begin_) + ": " + why);
  }

  uint64_t Offset() const { return taken_ + (piece_size_ - stream_.avail_in); }
  std::string At() const { return std::to_string(Offset()); }

  z_stream stream_{};
  std::vector<char> out_;
  bool ready_ = false;
  bool between_members_ = true;
  bool any_member_ = false;
  bool padded_ = false;
  uint64_t taken_ = 0;  // bytes of all pieces before this one
  size_t piece_size_ = 0;
  size_t made_ = 0;  // bytes decoded from this piece
  uint64_t member_begin_ = 0;
  Status error_;
};

class ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(int window_log) : context_(ZSTD_createDCtx()), out_(kOutBytes) {
    if (context_ != nullptr) ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log);
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

  Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) override {
    if (context_ == nullptr) return Status::Error("zstd has no memory");
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    size_t made = 0;
    bool full = false;  // true if there may be more output without input
    while (error_.ok() && (in.pos < in.size || full)) {
      if (made >= max_output && in.pos < in.size) break;
      ZSTD_outBuffer out{out_.data(), RoomFor(max_output, made), 0};
      const size_t left = ZSTD_decompressStream(context_, &out, &in);
      made += out.pos;
      if (out.pos > 0) on_bytes({out_.data(), out.pos});
      if (ZSTD_isError(left) != 0) {
        error_ = Status::Error("damaged zstd data at byte " + std::to_string(taken_ + in.pos) + ": " +
                               ZSTD_getErrorName(left));
        break;
      }
      between_frames_ = left == 0;
      full = !between_frames_ && out.pos == out.size;
    }
    taken_ += in.pos;
    if (!error_.ok()) return error_;
    return in.pos;
  }

  Status End() override {
    if (!error_.ok() || between_frames_) return error_;
    return Status::Error("cut off: the zstd data ends in the middle");
  }

 private:
  ZSTD_DCtx* const context_;
  std::vector<char> out_;
  bool between_frames_ = false;
  uint64_t taken_ = 0;
  Status error_;
};

bool IsZstd(std::string_view bytes) {
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return true;
  // Parallel compressors begin with a skippable frame.
  return bytes.size() >= 4 && (bytes[0] & '\xf0') == '\x50' && bytes.substr(1, 3) == "\x2a\x4d\x18";
}

}  // namespace

Compression CompressionOf(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  return IsZstd(first_bytes) ? Compression::kZstd : Compression::kNone;
}

std::unique_ptr<Decoder> Decoder::Make(Compression compression, int zstd_window_log) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipDecoder>();
    case Compression::kZstd:
      return std::make_unique<ZstdDecoder>(zstd_window_log);
    case Compression::kNone:
      break;
  }
  return std::make_unique<PlainDecoder>();
}

}  // namespace weir
