#include "import/input/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weir {
namespace {

constexpr const char* kStandardInput = "-";

Status SystemError(const std::string& what, int error) { return Status::Error(what + ": " + std::strerror(error)); }

}  // namespace

WakeUp::WakeUp() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
WakeUp::~WakeUp() {
  if (descriptor_ >= 0) close(descriptor_);
}

void WakeUp::Call() const {
  const uint64_t one = 1;
  (void)!write(descriptor_, &one, sizeof(one));
}

std::string InputFile::NameOf(const std::string& path) { return path == kStandardInput ? "standard input" : path; }

Result<std::optional<uint64_t>> InputFile::Look(const std::string& path) {
  const bool standard = path == kStandardInput;
  struct stat facts {};
  if ((standard ? fstat(STDIN_FILENO, &facts) : stat(path.c_str(), &facts)) != 0)
    return SystemError("cannot read " + NameOf(path), errno);
  if (S_ISDIR(facts.st_mode)) return Status::Error(NameOf(path) + " is a directory; name the files in it");
  // Does not open the input: if it is a FIFO, its writer would get a reader and lose it again.
  if (!standard && access(path.c_str(), R_OK) != 0) return SystemError("cannot read " + path, errno);
  if (!S_ISREG(facts.st_mode)) return std::optional<uint64_t>();
  return std::optional<uint64_t>(static_cast<uint64_t>(facts.st_size));
}

Result<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const bool standard = path == kStandardInput;
  // Opens without blocking. Read waits for the writer of a FIFO, because a WakeUp can end a Read.
  const int descriptor = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemError("cannot read " + path, errno);
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) {
    const int error = errno;
    if (!standard) close(descriptor);
    return SystemError("cannot read " + NameOf(path), error);
  }
  const bool regular = S_ISREG(facts.st_mode);
  return std::unique_ptr<InputFile>(new InputFile(descriptor, !regular, regular && !standard));
}

InputFile::~InputFile() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

Result<InputFile::Got> InputFile::Read(std::span<char> into, const WakeUp& wake_up, int longest_ms) {
  while (true) {
    if (is_stream_) {
      std::array<pollfd, 2> wait{pollfd{.fd = descriptor_, .events = POLLIN, .revents = 0},
                                 pollfd{.fd = wake_up.descriptor(), .events = POLLIN, .revents = 0}};
      const int ready = poll(wait.data(), wait.size(), longest_ms);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return SystemError("cannot be waited for", errno);
      if (wait[1].revents != 0) return Got{.what = Got::What::kWoken};
      if (ready == 0) return Got{.what = Got::What::kNothingYet};
    }
    const ssize_t size = read(descriptor_, into.data(), into.size());
    if (size > 0) return Got{.what = Got::What::kBytes, .size = static_cast<size_t>(size)};
    if (size == 0) return Got{.what = Got::What::kEnd};
    // EAGAIN: another reader of the same standard input was faster.
    if (errno != EINTR && errno != EAGAIN) return SystemError("cannot be read", errno);
  }
}

Result<std::string> InputFile::ReadAt(uint64_t offset, size_t size) const {
  std::string text(size, '\0');
  size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(descriptor_, text.data() + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError("cannot be read", errno);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

Status InputFile::Seek(uint64_t offset) {
  if (lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) return SystemError("cannot be read", errno);
  return {};
}

}  // namespace weir
