#include "import/run/rejects_file.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkAttribute = "user.weir.import";

std::string RandomMark() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

std::string Entry(std::string_view input, const Reject& reject) {
  return AsText(input) + ":" + std::to_string(reject.line) + "\t" + AsText(reject.reason) + "\t";
}

// Returns true if an entry that begins with `begin` was written for this input. If `cut_off`, the entry may be
// incomplete.
bool Belongs(std::string_view begin, bool cut_off, const std::string& input) {
  const std::string head = AsText(input) + ":";
  return begin.starts_with(head) || (cut_off && head.starts_with(begin));
}

// Returns true if all entries from `offset` on were written for these inputs. Lines may have any length, so the
// function keeps only the part of each line that it needs. The first line may be empty: Write began a new line after an
// entry that was cut off.
bool AllBelong(const std::string& path, uint64_t offset, std::span<const std::string> inputs) {
  size_t longest = 0;
  for (const std::string& input : inputs) longest = std::max(longest, AsText(input).size() + 1);
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::string begin;
  bool first = true;
  const auto belongs = [&](bool cut_off) {
    return std::ranges::any_of(inputs, [&](const std::string& input) { return Belongs(begin, cut_off, input); });
  };
  char piece[65536];
  while (in.read(piece, sizeof(piece)).gcount() > 0) {
    std::string_view rest(piece, static_cast<size_t>(in.gcount()));
    for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      begin.append(rest.substr(0, std::min(end, longest - std::min(longest, begin.size()))));
      if (!(std::exchange(first, false) && end == 0 && begin.empty()) && !belongs(false)) return false;
      begin.clear();
      rest.remove_prefix(end + 1);
    }
    begin.append(rest.substr(0, longest - std::min(longest, begin.size())));
  }
  return begin.empty() || belongs(true);
}

}  // namespace

RejectsFile::RejectsFile(std::string path) : path_(std::move(path)), mark_(RandomMark()), bytes_(SizeOf(path_)) {}

RejectsFile::~RejectsFile() {
  if (file_.made() && SizeOf(path_) == 0) file_.Remove();
}

Status RejectsFile::Error(std::string_view what) const {
  const int error = errno;
  return Status::Error("cannot " + std::string(what) + " the rejects file " + AsText(path_) + ": " +
                       std::strerror(error));
}

Status RejectsFile::Open() {
  const HeldFile::Outcome outcome = file_.Open(path_);
  if (outcome == HeldFile::Outcome::kInUse)
    return Status::Error("another import writes the rejects file " + AsText(path_) + "; --rejects names another");
  if (outcome == HeldFile::Outcome::kFailed) {
    const int error = errno;
    const char* what = access(path_.c_str(), F_OK) == 0 ? "write" : "make";
    errno = error;
    return Error(what);
  }
  bytes_ = SizeOf(path_);
  return {};
}

// Returns an empty text if the file has no mark.
std::string RejectsFile::MarkOfFile() const {
  char mark[64];
  const ssize_t size = fgetxattr(file_.descriptor(), kMarkAttribute, mark, sizeof(mark));
  return {mark, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// If the mark cannot be set, a file without a mark will do, but not one with the mark of another import.
Status RejectsFile::Mark() const {
  const int file = file_.descriptor();
  if (fsetxattr(file, kMarkAttribute, mark_.data(), mark_.size(), 0) == 0 || MarkOfFile().empty() ||
      fremovexattr(file, kMarkAttribute) == 0)
    return {};
  return Error("mark");
}

Status RejectsFile::CutBack(uint64_t bytes, std::string_view mark, std::span<const std::string> inputs) {
  if (!file_.is_open()) {
    if (Status status = Open(); !status.ok()) return status;
  }
  if (mark.empty() || MarkOfFile() != mark) return {};
  mark_ = mark;
  if (bytes >= bytes_ || !AllBelong(path_, bytes, inputs)) return {};
  if (ftruncate(file_.descriptor(), static_cast<off_t>(bytes)) != 0) return Error("cut");
  bytes_ = bytes;
  return {};
}

bool RejectsFile::EndsWithinALine() const {
  char last = '\n';
  if (bytes_ > 0 && pread(file_.descriptor(), &last, 1, static_cast<off_t>(bytes_ - 1)) != 1) errno = 0;
  return last != '\n';
}

void RejectsFile::Add(const SettledChunk& settled, std::string_view input) {
  std::string_view text = settled.chunk.text;
  if (settled.chunk.kind == Chunk::Kind::kTooLong) {
    if (settled.chunk.first_piece && !settled.rejects.empty()) waiting_ += Entry(input, settled.rejects.front());
    if (settled.chunk.last_piece && text.ends_with('\n')) text.remove_suffix(1);
    waiting_ += text;
    if (settled.chunk.last_piece) waiting_ += '\n';
    return;
  }
  for (const Reject& reject : settled.rejects)
    waiting_.append(Entry(input, reject)).append(text.substr(reject.begin, reject.size)).append("\n");
}

Status RejectsFile::Write() {
  if (waiting_.empty()) return {};
  if (!file_.is_open()) {
    if (Status status = Open(); !status.ok()) return status;
  }
  if (!begun_) {
    if (Status status = Mark(); !status.ok()) return status;
    // A killed process may have left a part of an entry. It becomes a line of its own.
    if (EndsWithinALine()) waiting_.insert(0, "\n");
    begun_ = true;
  }
  while (written_ < waiting_.size()) {
    const ssize_t size = write(file_.descriptor(), waiting_.data() + written_, waiting_.size() - written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Error("write");
    written_ += static_cast<size_t>(size);
  }
  bytes_ += written_;
  waiting_.clear();
  written_ = 0;
  return {};
}

Status RejectsFile::Sync() {
  // A file that is not on a disk (/dev/stderr, a pipe) cannot be synced and need not be. fdatasync may leave out the
  // mark.
  if (!file_.is_open() || fsync(file_.descriptor()) == 0 || errno == EINVAL || errno == EROFS) return {};
  return Error("write");
}

void RejectsFile::Forget() {
  // If the file cannot be cut, it ends with a part of a line, which CutBack accepts.
  if (written_ > 0 && ftruncate(file_.descriptor(), static_cast<off_t>(bytes_)) != 0) errno = 0;
  waiting_.clear();
  written_ = 0;
}

}  // namespace weir
