#include "import/export/encoder.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace weir {
namespace {

constexpr size_t kBuffer = 256 << 10;

class NoCompressor final : public Compressor {
 public:
  void Add(std::string_view bytes, bool, std::string* out) override { out->append(bytes); }
};

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() {
    constexpr int kGzipHeader = 16;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipHeader, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw std::bad_alloc();
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }

  void Add(std::string_view bytes, bool last, std::string* out) override {
    constexpr size_t kMost = 1 << 30;  // zlib counts in 32 bits
    do {
      const std::string_view piece = bytes.substr(0, kMost);
      bytes.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      Deflate(last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH, out);
    } while (!bytes.empty());
  }

 private:
  // Runs until zlib has no more output, that is, until it leaves room in the buffer.
  void Deflate(int flush, std::string* out) {
    do {
      const size_t size = out->size();
      out->resize(size + kBuffer);
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + size);
      stream_.avail_out = kBuffer;
      deflate(&stream_, flush);
      out->resize(size + kBuffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }

  void Add(std::string_view bytes, bool last, std::string* out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (size_t left = 1; left != 0;) {
      const size_t size = out->size();
      out->resize(size + kBuffer);
      ZSTD_outBuffer room{out->data() + size, kBuffer, 0};
      left = ZSTD_compressStream2(context_, &room, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      // The only possible error is a lack of memory for the window.
      if (ZSTD_isError(left) != 0) throw std::bad_alloc();
      out->resize(size + room.pos);
      if (!last) left = in.size - in.pos;
    }
  }

 private:
  ZSTD_CCtx* const context_;
};

}  // namespace

Compression CompressionByName(std::string_view name) {
  if (name.ends_with(".gz")) return Compression::kGzip;
  if (name.ends_with(".zst")) return Compression::kZstd;
  return Compression::kNone;
}

std::unique_ptr<Compressor> Compressor::Make(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return std::make_unique<NoCompressor>();
    case Compression::kGzip:
      return std::make_unique<GzipCompressor>();
    case Compression::kZstd:
      return std::make_unique<ZstdCompressor>();
  }
  return nullptr;
}

Encoder::Encoder(std::unique_ptr<OutputFile> file, std::unique_ptr<Compressor> compressor)
    : file_(std::move(file)), compressor_(std::move(compressor)) {}

Result<std::unique_ptr<Encoder>> Encoder::Create(const std::string& name) {
  Result<std::unique_ptr<OutputFile>> file = OutputFile::Create(name);
  if (!file.ok()) return file.status();
  return std::unique_ptr<Encoder>(new Encoder(std::move(file).value(), Compressor::Make(CompressionByName(name))));
}

Status Encoder::Write(std::string_view bytes) {
  bytes_taken_ += bytes.size();
  waiting_.append(bytes);
  return waiting_.size() < kBuffer ? Status() : Pass(false);
}

Status Encoder::Finish() {
  if (Status passed = Pass(true); !passed.ok()) return passed;
  return file_->Commit();
}

Status Encoder::Pass(bool last) {
  compressor_->Add(waiting_, last, &compressed_);
  waiting_.clear();
  if (!last && compressed_.size() < kBuffer) return {};
  Status written = file_->Write(compressed_);
  compressed_.clear();
  return written;
}

}  // namespace weir
