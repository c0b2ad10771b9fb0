// Encoder: bytes on their way into a file, compressed as its name says, in bounded memory.
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

// NAME.gz, NAME.zst, anything else.
Compression CompressionByName(std::string_view name);

// One stream of one compression.
class Compressor {
 public:
  static std::unique_ptr<Compressor> Make(Compression compression);
  virtual ~Compressor() = default;

  // Appends to `out` what there is of the compressed form; with `last` all of it, and nothing may follow.
  virtual void Add(std::string_view bytes, bool last, std::string* out) = 0;
};

class Encoder {
 public:
  // "-" is standard output.
  static Result<std::unique_ptr<Encoder>> Create(const std::string& name);

  // What is not finished leaves no file (output_file.h).
  Status Write(std::string_view bytes);
  Status Finish();

  uint64_t bytes_taken() const { return bytes_taken_; }
  bool reader_gone() const { return file_->reader_gone(); }

 private:
  Encoder(std::unique_ptr<OutputFile> file, std::unique_ptr<Compressor> compressor);
  Status Pass(bool last);

  const std::unique_ptr<OutputFile> file_;
  const std::unique_ptr<Compressor> compressor_;
  std::string waiting_;     // to be compressed
  std::string compressed_;  // to be written
  uint64_t bytes_taken_ = 0;
};

}  // namespace weir
