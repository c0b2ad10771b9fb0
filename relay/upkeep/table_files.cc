#include "relay/upkeep/table_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "config/file_descriptor.h"
#include "config/text/parse.h"
#include "relay/upkeep/owner.h"

namespace weir {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr off_t kTail = 16 << 10;

Descriptor Open(const std::string& path, int flags) { return Descriptor(open(path.c_str(), flags | O_CLOEXEC, 0600)); }

// Returns -1 if the file is not open.
off_t SizeOf(const Descriptor& file) {
  struct stat found {};
  return file.is_open() && fstat(file.number(), &found) == 0 ? found.st_size : -1;
}

// Reads up to `bytes` from the place; fewer only at the end of the file. Returns false if that fails.
bool ReadAt(int file, off_t place, size_t bytes, std::string* text) {
  text->resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file, text->data() + done, bytes - done, place + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  text->resize(done);
  return true;
}

Status Cannot(const char* what, const std::string& path) {
  return Status::Error(std::string("cannot ") + what + " " + Printable(path) + ": " + std::strerror(errno));
}

bool MayOwnerRead(const std::string& model, int file) {
  struct stat found {};
  struct stat owner {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || stat(model.c_str(), &owner) != 0) return false;
  return found.st_uid == owner.st_uid || (found.st_mode & S_IROTH) != 0 ||
         (found.st_gid == owner.st_gid && (found.st_mode & S_IRGRP) != 0);
}

Status CopyPieces(const std::string& from, const std::string& part, const std::string& model,
                  const AfterPiece& after_piece) {
  const Descriptor in = Open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!in.is_open()) return Cannot("read", from);
  if (!MayOwnerRead(model, in.number()))
    return Status::Error(Printable(from) + " is no file that the owner of " + Printable(model) +
                         " may read, and the backup would show it to that user; give it to that user, or remove it");
  const Descriptor out = Open(part, O_WRONLY | O_CREAT | O_EXCL);
  if (!out.is_open()) return Cannot("write", part);
  std::string piece;
  off_t place = 0;
  for (;;) {
    if (!ReadAt(in.number(), place, kPiece, &piece)) return Cannot("read", from);
    if (piece.empty()) break;
    if (!WriteAll(out.number(), piece)) return Cannot("write", part);
    const auto bytes = static_cast<off_t>(piece.size());
    // A file system that does not know these calls writes the pieces at the end.
    (void)sync_file_range(out.number(), place, bytes,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(out.number(), place, bytes, POSIX_FADV_DONTNEED);
    place += bytes;
    if (Status status = after_piece(piece.size()); !status.ok()) return status;
  }
  return fsync(out.number()) == 0 ? Status() : Cannot("write", part);
}

}  // namespace

bool IsSameTable(const std::string& a, const std::string& b) {
  const Descriptor first = Open(a, O_RDONLY);
  const Descriptor second = Open(b, O_RDONLY);
  const off_t size = SizeOf(first);
  if (size < 0 || size != SizeOf(second)) return false;
  const off_t place = std::max<off_t>(0, size - kTail);
  std::string one;
  std::string two;
  return ReadAt(first.number(), place, kTail, &one) && ReadAt(second.number(), place, kTail, &two) && one == two;
}

Status CopyFile(const std::string& from, const std::string& to, const std::string& model,
                const AfterPiece& after_piece) {
  const std::string part = to + ".part";
  Status copied = CopyPieces(from, part, model, after_piece);
  if (copied.ok()) GiveToOwnerOf(model, part);
  if (copied.ok() && std::rename(part.c_str(), to.c_str()) != 0) copied = Cannot("write", to);
  if (!copied.ok()) unlink(part.c_str());
  return copied;
}

bool LinkFile(const std::string& from, const std::string& to) { return link(from.c_str(), to.c_str()) == 0; }

}  // namespace weir
