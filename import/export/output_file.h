// OutputFile: a file that is there whole or not at all. Bytes are written into NAME.part, which becomes NAME when it is
// on disk. Standard output, and names that are no regular file (a device, a pipe), are written directly.
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
  // "-" is standard output. An existing file of that name stays as it is until Commit.
  static Result<std::unique_ptr<OutputFile>> Create(const std::string& name);
  // Removes the part, unless Commit made it the file.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Writes all of it. SIGPIPE and SIGXFSZ must be ignored, else they end the process.
  Status Write(std::string_view bytes);
  Status Commit();

  // True if Write failed because the reader of the pipe has gone, which is no one's fault.
  bool reader_gone() const { return reader_gone_; }

 private:
  OutputFile(int descriptor, std::string name, std::string part);
  Status Error(const std::string& what, const std::string& name);
  Status Rename();

  int descriptor_ = -1;
  const std::string name_;  // the final name
  std::string part_;        // empty: written directly
  bool reader_gone_ = false;
};

}  // namespace weir
