#include "relay/upkeep/backup_directory.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "config/sync_directory.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/process/lock_file.h"
#include "relay/store/database.h"
#include "relay/upkeep/owner.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part";
constexpr std::string_view kGone = ".gone";
constexpr std::string_view kNameForm = "dddd-dd-ddTddddddZ";
constexpr const char* kStanding = "/standing";

bool IsBackupName(std::string_view name) {
  return std::equal(name.begin(), name.end(), kNameForm.begin(), kNameForm.end(),
                    [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

std::string NameAt(uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char name[32];
  return {name, std::strftime(name, sizeof(name), "%Y-%m-%dT%H%M%SZ", &utc)};
}

uint64_t SecondsOf(const std::string& name) {
  std::tm utc{};
  strptime(name.c_str(), "%Y-%m-%dT%H%M%SZ", &utc);
  return static_cast<uint64_t>(timegm(&utc));
}

std::string NameOf(const std::string& path) { return fs::path(path).filename().string(); }

// Returns the name of a new backup, which is behind those that there are, even if the clock was set back.
std::string NextName(const std::vector<std::string>& backups, uint64_t now_seconds) {
  std::string name = NameAt(now_seconds);
  if (backups.empty() || name > NameOf(backups.back())) return name;
  return NameAt(SecondsOf(NameOf(backups.back())) + 1);
}

bool IsDataDirectory(const std::string& directory) {
  std::error_code error;
  return fs::exists(directory + "/events/CURRENT", error) || fs::exists(directory + "/CURRENT", error);
}

Status CheckPlace(const std::string& directory, const std::string& data_dir) {
  std::error_code error;
  const std::string place = fs::weakly_canonical(directory, error).string() + "/";
  if (error) return Status::Error("cannot read " + Printable(directory) + ": " + error.message());
  const std::string data = fs::canonical(data_dir, error).string() + "/";
  if (error) return Status::Error("cannot read " + Printable(data_dir) + ": " + error.message());
  if (place.starts_with(data))
    return Status::Error(Printable(directory) + " is in the data directory " + Printable(data_dir) +
                         ", and would go with it; name a directory outside, on another disk if there is one");
  if (IsDataDirectory(directory))
    return Status::Error(Printable(directory) + " is itself a data directory or a backup; name the directory above it");
  return {};
}

std::string IdentityIn(const std::string& database) {
  std::string identity;
  if (FILE* const file = std::fopen((database + "/IDENTITY").c_str(), "re")) {
    char text[256];
    identity.assign(text, std::fread(text, 1, sizeof(text), file));
    std::fclose(file);
  }
  return identity;
}

Status CheckIdentity(const std::string& data_dir, const std::string& backup) {
  if (IdentityIn(data_dir + "/events") == IdentityIn(backup + "/events")) return {};
  return Status::Error(Printable(backup) +
                       " is a backup of another database; name a directory of its own for this one");
}

bool IsOnSameFileSystem(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev;
}

Status MakeOwnDirectory(const std::string& path, const std::string& model) {
  if (mkdir(path.c_str(), 0700) != 0)
    return Status::Error("cannot make the directory " + Printable(path) + ": " + std::strerror(errno));
  GiveToOwnerOf(model, path);
  return {};
}

}  // namespace

std::vector<std::string> BackupsIn(const std::string& directory) {
  std::vector<std::string> backups;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (IsBackupName(entry->path().filename().string())) backups.push_back(entry->path().string());
  std::ranges::sort(backups);
  return backups;
}

Result<std::unique_ptr<BackupDirectory>> BackupDirectory::Take(const std::string& directory,
                                                               const std::string& data_dir) {
  if (Status place = CheckPlace(directory, data_dir); !place.ok()) return place;
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    if (Status made = MakeOwnDirectory(directory, data_dir); !made.ok()) return made;
    SyncDirectoryOf(fs::path(directory).has_filename() ? directory : fs::path(directory).parent_path().string());
  }
  std::unique_ptr<BackupDirectory> taken(new BackupDirectory(directory));
  const std::string lock = directory + "/backup.lock";
  const HeldFile::Outcome outcome = taken->lock_.Open(lock, HeldFile::Links::kRefuse);
  if (outcome == HeldFile::Outcome::kFailed)
    return Status::Error("cannot write " + Printable(lock) + ": " + std::strerror(errno));
  if (outcome == HeldFile::Outcome::kInUse)
    return Status::Error("a backup into " + Printable(directory) + " is under way, by " +
                         Describe(FindHolder(lock).value_or(LockHolder())));
  taken->lock_.Say(std::to_string(getpid()) + " weir backup\n");
  GiveToOwnerOf(data_dir, lock);
  if (const std::vector<std::string> backups = BackupsIn(directory); !backups.empty())
    if (Status same = CheckIdentity(data_dir, backups.back()); !same.ok()) return same;
  for (const std::string& gone : taken->WithEnding(kGone)) fs::remove_all(gone, error);
  return taken;
}

// Returns the paths of the backups that have this ending after their names.
std::vector<std::string> BackupDirectory::WithEnding(std::string_view ending) const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(ending) && IsBackupName(std::string_view(name).substr(0, name.size() - ending.size())))
      found.push_back(entry->path().string());
  }
  return found;
}

Result<BackupReport> BackupDirectory::Make(const BackupOrder& order) {
  BackupReport report{.path = directory_ + "/" + NextName(BackupsIn(directory_), order.now_seconds)};
  const std::vector<std::string> left_over = WithEnding(kPart);
  std::string part = report.path + std::string(kPart);
  while (std::ranges::find(left_over, part) != left_over.end()) {
    report.path = directory_ + "/" + NameAt(SecondsOf(NameOf(report.path)) + 1);
    part = report.path + std::string(kPart);
  }
  std::error_code error;
  Status filled = Fill(order, part, &report);
  if (filled.ok()) {
    fs::rename(part, report.path, error);
    if (error) filled = Status::Error("cannot name the backup " + Printable(report.path) + ": " + error.message());
  }
  if (!filled.ok()) {
    fs::remove_all(part, error);
    return filled;
  }
  SyncDirectoryOf(report.path);
  return report;
}

Status BackupDirectory::Fill(const BackupOrder& order, const std::string& part, BackupReport* report) const {
  const std::string events = part + "/events";
  for (const std::string& made : {part, events})
    if (Status status = MakeOwnDirectory(made, order.data_dir); !status.ok()) return status;
  Result<std::vector<Copy>> copies = LinkTables(order, part, report);
  if (!copies.ok()) return copies.status();
  std::error_code error;
  // The files that an interrupted backup has left are linked now, or of no use.
  for (const std::string& left_over : WithEnding(kPart))
    if (left_over != part) fs::remove_all(left_over, error);
  if (const std::string standing = order.data_dir + kStanding; fs::exists(standing, error))
    copies.value().push_back({.from = standing, .to = part + kStanding, .bytes = fs::file_size(standing, error)});
  uint64_t bytes = 0;
  for (const Copy& copy : copies.value()) bytes += copy.bytes;
  if (Status room = CheckRoom(bytes); !room.ok()) return room;
  for (const Copy& copy : copies.value()) {
    if (Status copied = CopyFile(copy.from, copy.to, order.data_dir, order.after_piece); !copied.ok()) return copied;
    report->copied_bytes += copy.bytes;
  }
  if (Status known = RecogniseDatabase(events); !known.ok()) return known;
  SyncDirectoryOf(events + "/CURRENT");
  SyncDirectoryOf(events);
  return {};
}

// Links the tables that can be had that way. Returns the copies that have to be made of the others, and of all other
// files, because a relay on the backup would write to these.
Result<std::vector<BackupDirectory::Copy>> BackupDirectory::LinkTables(const BackupOrder& order,
                                                                       const std::string& part,
                                                                       BackupReport* report) const {
  std::vector<std::string> earlier = WithEnding(kPart);
  std::erase(earlier, part);
  if (const std::vector<std::string> backups = BackupsIn(directory_); !backups.empty())
    earlier.push_back(backups.back());
  const bool may_link = IsOnSameFileSystem(order.checkpoint, part);
  std::vector<Copy> copies;
  std::error_code error;
  fs::directory_iterator file(order.checkpoint, error);
  for (; !error && file != fs::directory_iterator(); file.increment(error)) {
    const std::string name = file->path().filename().string();
    const Copy copy{.from = file->path().string(),
                    .to = (fs::path(part) / "events" / name).string(),
                    .bytes = file->file_size(error)};
    if (error) break;
    const bool is_table = name.ends_with(".sst");
    const bool shared = is_table && std::ranges::any_of(earlier, [&](const std::string& backup) {
                          const std::string there = (fs::path(backup) / "events" / name).string();
                          return IsSameTable(copy.from, there) && LinkFile(there, copy.to);
                        });
    if (shared) {
      report->shared_bytes += copy.bytes;
    } else if (is_table && may_link && LinkFile(copy.from, copy.to)) {
      report->linked_bytes += copy.bytes;
    } else {
      copies.push_back(copy);
    }
  }
  if (error) return Status::Error("cannot read the checkpoint " + Printable(order.checkpoint) + ": " + error.message());
  return copies;
}

Status BackupDirectory::CheckRoom(uint64_t bytes) const {
  struct statvfs disk {};
  if (statvfs(directory_.c_str(), &disk) != 0) return {};
  const uint64_t free = disk.f_bavail * disk.f_frsize;
  if (bytes <= free) return {};
  return Status::Error("the backup needs " + ReadableBytes(bytes) + ", and the disk of " + Printable(directory_) +
                       " has " + ReadableBytes(free) + "; remove old backups there (--keep), or name a larger disk");
}

Result<size_t> BackupDirectory::Keep(size_t most) {
  const std::vector<std::string> backups = BackupsIn(directory_);
  size_t removed = 0;
  for (size_t i = 0; i + most < backups.size(); ++i) {
    const std::string& backup = backups[i];
    if (HolderOf(backup + "/events")) continue;
    std::error_code error;
    const std::string gone = backup + std::string(kGone);
    fs::rename(backup, gone, error);
    if (!error) fs::remove_all(gone, error);
    if (error) return Status::Error("cannot remove the old backup " + Printable(backup) + ": " + error.message());
    ++removed;
  }
  return removed;
}

}  // namespace weir
