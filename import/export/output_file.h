// OutputFile: writes a file that appears under its name only when it is complete. Write puts the bytes into NAME.part,
// which Commit renames to NAME when the bytes are on disk. If NAME is standard output or exists and is not a regular
// file (a device, a pipe), Write writes to it directly.
//
// Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

class OutputFile {
 public:
  // Opens the file for writing; "-" is standard output. An existing file NAME stays as it is until Commit; an existing
  // NAME.part is deleted.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& name);
  // Deletes NAME.part, unless Commit has renamed it or another program has replaced it.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes all bytes. The process must ignore SIGPIPE and SIGXFSZ; otherwise these signals may end the process.
  Status Write(std::string_view bytes);
  // Syncs NAME.part to disk and renames it to NAME. If it fails, an existing file NAME is unchanged. If Write writes to
  // NAME directly, only closes it. Call it once, after the last Write.
  Status Commit();

  // Returns true if Write failed because the reader of a pipe has closed the pipe, as `head` does.
  bool reader_gone() const { return reader_gone_; }

 private:
  OutputFile(int descriptor, std::string name, std::string part);
  Status Error(const std::string& what, const std::string& name);
  Status Rename();

  int descriptor_ = -1;
  const std::string name_;  // the final name
  std::string part_;        // name of NAME.part; empty: the file is written directly
  bool reader_gone_ = false;
};

}  // namespace weir
