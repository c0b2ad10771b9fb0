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

// Returns the compression that a file name stands for: NAME.gz, NAME.zst, or none for any other name.
Compression CompressionByName(std::string_view name);

// Compresses one stream.
class Compressor {
 public:
  static std::unique_ptr<Compressor> Make(Compression compression);
  virtual ~Compressor() = default;

  // Compresses `bytes` and appends to `*out` the compressed bytes that are ready. If `last` is true, appends all the
  // others, too, and no further call may follow.
  virtual void Add(std::string_view bytes, bool last, std::string* out) = 0;
};

class Encoder {
 public:
  // Creates the file; "-" is standard output. Returns an error if that fails.
  static Result<std::unique_ptr<Encoder>> Create(const std::string& name);

  Status Write(std::string_view bytes);
  // Writes what is left and gives the file its name. Without a Finish that succeeds no file is left behind
  // (output_file.h).
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
