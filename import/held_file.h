// HeldFile: a file that one process writes at a time: opened to append, made where it is not there, and locked where it
// is a file on a disk.
#pragma once

#include <string>

namespace weir {

// Not thread-safe.
class HeldFile {
 public:
  HeldFile() = default;
  ~HeldFile() { Close(); }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // 0, or the error: EWOULDBLOCK where another one holds it.
  int Open(const std::string& path);
  // A file that it made and that is empty is removed.
  void Close();
  void Remove();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_ = false;
};

}  // namespace weir
