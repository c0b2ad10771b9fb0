// Encoder: writes bytes into a file, compressed as its name says, in bounded memory.
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

// Tells the compression by the name: NAME.gz, NAME.zst; any other name has none.
Compression CompressionByName(std::string_view name);

// A stream of one compression.
class Compressor {
 public:
  static std::unique_ptr<Compressor> Make(Compression compression);
  virtual ~Compressor() = default;

  // Appends the compressed bytes that are ready to `out`. With `last` it appends all of them, and nothing may follow.
  virtual void Add(std::string_view bytes, bool last, std::string* out) = 0;
};

class Encoder {
 public:
  // "-" is standard output.
  static Result<std::unique_ptr<Encoder>> Create(const std::string& name);

  // Unless Finish succeeds no file is left (output_file.h).
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
