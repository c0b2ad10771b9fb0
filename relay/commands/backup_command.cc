#include "relay/commands/backup_command.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <future>
#include <string>

#include "config/clock.h"
#include "config/command_line.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/commands/backup_pace.h"
#include "relay/commands/progress_line.h"
#include "relay/process/lock_file.h"
#include "relay/running/running_relay.h"
#include "relay/store/database_checkpoint.h"
#include "relay/upkeep/backup_directory.h"
#include "relay/upkeep/checkpoint_place.h"
#include "relay/upkeep/owner.h"

namespace weir {
namespace {

struct BackupFlags {
  std::string directory;
  uint64_t keep = 0;
};

void AddTo(CommandLine& line, BackupFlags& flags) {
  line.Add("DIR", &flags.directory, "the directory of the backups; each is a directory in it, by the time in UTC")
      .Required();
  line.Add("--keep", &flags.keep, "remove all but the newest so many backups (default: remove none)")
      .Within(uint64_t{1}, uint64_t{100'000});
  line.AddSetting("--data-dir", "DATA_DIR", "the relay's data directory, instead of WEIR_DATA_DIR");
  line.SetFooter(
      "Run it as root or as the relay's user. What an earlier backup in DIR has already costs nothing again.\n"
      "\n"
      "Examples:\n"
      "  weir backup /backup/weir --keep 14\n"
      "  weir check /backup/weir                                        checks the newest backup\n"
      "  weir relay --data-dir /backup/weir/2026-11-30T015947Z          a relay on a backup\n"
      "\n"
      "Exit status: 0 the backup is on disk, and its path was printed; 1 it could not be made; 2 wrong flags or\n"
      "settings.");
}

// Lets the relay go before this thread, for the processor and, with some schedulers, for the disk.
void GiveWay() {
  constexpr int kIoPrioWhoProcess = 1;
  constexpr int kLowestBestEffort = (2 << 13) | 7;
  constexpr int kLowestPriority = 19;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
  (void)syscall(SYS_ioprio_set, kIoPrioWhoProcess, 0, kLowestBestEffort);
}

Status CheckStoreIsHere(const RelayConfiguration& configuration) {
  if (!IsEmbedded(configuration.storage))
    return Status::Error("the events are in " + StoreName(configuration.storage.store) +
                         ", whose own programs make backups: pg_dump, or pg_basebackup of the whole server");
  std::error_code error;
  const std::string database = configuration.data_dir + "/events";
  if (!std::filesystem::exists(database, error) && !error)
    return Status::Error("there is no database in " + Printable(database) + "; a relay or an import makes one");
  return {};
}

// Lets the relay make the checkpoint, or makes it if no process has the database open.
Status MakeCheckpoint(const RelayConfiguration& configuration, const std::string& database,
                      const CheckpointPlace& place) {
  if (NoRelayRuns(configuration, {})) {
    const Result<LockFile> lock = LockFile::Take(database);
    if (!lock.ok()) return lock.status();
    Status made = MakeCheckpointOfClosed(database, place.checkpoint());
    // The relay has to lock the database, and to remove the checkpoint if this process is killed.
    for (const std::string& path : {database + "/" + LockFile::kName, place.checkpoint()})
      GiveToOwnerOf(database, path);
    return made;
  }
  const Result<RunningRelay> relay = RunningRelay::Find(configuration, {});
  return relay.ok() ? relay.value().Call("makecheckpoint", {}).status() : relay.status();
}

// A failure is no reason to make no backup.
void Keep(const BackupFlags& flags, BackupDirectory* directory) {
  if (flags.keep == 0) return;
  const Result<size_t> removed = directory->Keep(flags.keep);
  if (!removed.ok()) std::fprintf(stderr, "weir backup: %s\n", removed.status().message().c_str());
}

Result<BackupReport> MakeBackup(const RelayConfiguration& configuration, const BackupFlags& flags) {
  const std::string database = configuration.data_dir + "/events";
  Result<std::unique_ptr<BackupDirectory>> directory = BackupDirectory::Take(flags.directory, configuration.data_dir);
  if (!directory.ok()) return directory.status();
  Result<std::unique_ptr<CheckpointPlace>> place = CheckpointPlace::Take(database);
  if (!place.ok()) return place.status();
  if (Status made = MakeCheckpoint(configuration, database, *place.value()); !made.ok()) return made;
  Keep(flags, directory.value().get());  // makes room
  BackupPace pace(configuration);
  Result<BackupReport> report =
      directory.value()->Make({.data_dir = configuration.data_dir,
                               .checkpoint = place.value()->checkpoint(),
                               .now_seconds = WallClock::System().NowSeconds(),
                               .after_piece = [&pace](uint64_t bytes) { return pace.After(bytes); }});
  ShowProgress("");
  if (report.ok()) Keep(flags, directory.value().get());
  return report;
}

std::string TextOf(const BackupReport& report) {
  std::string text = "copied " + ReadableBytes(report.copied_bytes);
  if (report.shared_bytes > 0) text += "; " + ReadableBytes(report.shared_bytes) + " are in the backup before, too";
  if (report.linked_bytes > 0) text += "; " + ReadableBytes(report.linked_bytes) + " are links to the database's files";
  return text;
}

}  // namespace

int BackupCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Copies the database of the data directory into DIR, as it is at one moment. The relay may run, and\n"
      "its clients go first. Each backup is a whole data directory, on which a relay can run.");
  BackupFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  AttachOptions attach;
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  if (const Status here = CheckStoreIsHere(configuration); !here.ok()) return line.Fail(here);
  // A program that calls this keeps its own priority, which only root could give back.
  const Result<BackupReport> report = std::async(std::launch::async, [&] {
                                        GiveWay();
                                        return MakeBackup(configuration, flags);
                                      }).get();
  if (!report.ok()) return line.Fail(report.status(), 1);
  std::fprintf(stderr, "%s\n", TextOf(report.value()).c_str());
  return line.Print(report.value().path + "\n");
}

}  // namespace weir
