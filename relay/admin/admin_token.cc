// Makes, reads and deletes the token in the data directory.
#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "config/text/hex.h"
#include "config/text/parse.h"
#include "config/text/url.h"
#include "relay/admin/admin.h"
#include "relay/net/host_names.h"
#include "relay/process/lock_file.h"

namespace weir {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr size_t kTokenDigits = 2 * kTokenBytes;

// Writes the token and a line feed, as editors and shells expect. Only the owner can read the file, whatever the umask
// is.
bool WriteSecret(const std::string& path, const std::string& token) {
  unlink(path.c_str());
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const std::string text = token + "\n";
  const ssize_t written = write(file, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  const bool good = written == static_cast<ssize_t>(text.size()) && fchmod(file, 0600) == 0;
  close(file);
  if (!good) errno = error;
  return good;
}

Status CannotRead(const std::string& path, int error) {
  return Status::Error("cannot read " + Printable(path) + ": " + std::strerror(error) +
                       (error == EACCES ? "; run this as the user of the relay, or as root" : ""));
}

// Returns true if two URLs of HTTP servers have the same host and port. All names and addresses of loopback count as
// the same host.
bool SamePlace(std::string_view a, std::string_view b) {
  const Result<ServerUrl> one = ParseServerUrl(a);
  const Result<ServerUrl> other = ParseServerUrl(b);
  if (!one.ok() || !other.ok() || one.value().port != other.value().port) return false;
  return HostOf(a) == HostOf(b) || (IsLoopbackName(a) && IsLoopbackName(b));
}

}  // namespace

std::string AdminTokenPath(const std::string& data_dir) { return data_dir + "/admin.token"; }

Result<std::string> MakeAdminToken(const std::string& data_dir) {
  std::array<uint8_t, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return Status::Error("the system gives no random bytes for the admin's token");
  std::string token = ToHex(bytes.data(), bytes.size());
  const std::string path = AdminTokenPath(data_dir);
  const std::string unfinished = path + ".new";
  if (!WriteSecret(unfinished, token) || std::rename(unfinished.c_str(), path.c_str()) != 0) {
    const std::string error = std::strerror(errno);
    unlink(unfinished.c_str());
    return Status::Error("cannot write " + path + ": " + error);
  }
  return token;
}

Result<std::string> FindAdminToken(const std::string& data_dir) {
  const std::string path = AdminTokenPath(data_dir);
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return CannotRead(path, errno);
  std::string text(kTokenDigits + 1, '\0');
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  text.resize(bytes < 0 ? 0 : static_cast<size_t>(bytes));
  if (text.ends_with('\n')) text.pop_back();
  const bool whole = text.size() == kTokenDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
  if (!whole) return Status::Error(Printable(path) + " holds no token; a relay writes one when it starts");
  return text;
}

Result<std::string> FindAdminTokenFor(const std::string& url, const std::string& data_dir) {
  const std::string lock = data_dir + "/events/" + LockFile::kName;
  const std::optional<LockHolder> holder = HolderOf(data_dir + "/events");
  if (!holder && access(lock.c_str(), R_OK) != 0 && errno == EACCES) return CannotRead(lock, errno);
  if (!holder || holder->address.empty()) {
    return Status::Error(
        "no relay runs on the data directory " + Printable(data_dir) +
        "; set WEIR_DATA_DIR to the relay's data directory, which has its token, or WEIR_ADMIN_TOKEN to the token");
  }
  if (!SamePlace(url, holder->address)) {
    return Status::Error("the relay that runs on the data directory " + Printable(data_dir) + " is at " +
                         Printable(holder->address) + ", not at " + Printable(url));
  }
  return FindAdminToken(data_dir);
}

std::string ReadAdminToken(const std::string& data_dir) {
  Result<std::string> found = FindAdminToken(data_dir);
  return found.ok() ? std::move(found).value() : "";
}

void RemoveAdminToken(const std::string& data_dir, std::string_view token) {
  if (!token.empty() && ReadAdminToken(data_dir) == token) unlink(AdminTokenPath(data_dir).c_str());
}

}  // namespace weir
