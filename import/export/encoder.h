// Encoder: writes bytes into a file, compressed according to the file's name, in bounded memory.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"
#include "import/export/output_file.h"
#include "import/input/compression.h"

namespace weir {

// Returns the compression for a file of this name: gzip for NAME.gz, zstd for NAME.zst, none for any other name.
Compression CompressionByName(std::string_view name);

// Compresses one stream.
class Compressor {
 public:
  static std::unique_ptr<Compressor> Make(Compression compression);
  virtual ~Compressor() = default;

  // Compresses `bytes` and appends to `*out` the compressed bytes that are ready. If `last` is true, appends all
  // compressed bytes; the caller must not call Add again after that.
  virtual void Add(std::string_view bytes, bool last, std::string* out) = 0;
};

class Encoder {
 public:
  // Creates the file; "-" is standard output. Returns an error if that fails.
  static Result<std::unique_ptr<Encoder>> Create(const std::string& name);

  Status Write(std::string_view bytes);
  // Writes the bytes that are still buffered, and commits the file (OutputFile::Commit). If Finish is not called or
  // fails, the destructor deletes the incomplete file NAME.part.
  Status Finish();

  uint64_t bytes_taken() const { return bytes_taken_; }  // bytes given to Write, before compression
  bool reader_gone() const { return file_->reader_gone(); }

 private:
  Encoder(std::unique_ptr<OutputFile> file, std::unique_ptr<Compressor> compressor);
  Status Pass(bool last);

  const std::unique_ptr<OutputFile> file_;
  const std::unique_ptr<Compressor> compressor_;
  std::string waiting_;     // bytes that are not compressed yet
  std::string compressed_;  // bytes that are not written yet
  uint64_t bytes_taken_ = 0;
};

}  // namespace weir
