#include "relay/upkeep/checkpoint_place.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "config/text/parse.h"
#include "relay/store/database_checkpoint.h"
#include "relay/upkeep/owner.h"

namespace weir {
namespace {

std::string LockIn(const std::string& database) { return database + "/checkpoint.lock"; }

}  // namespace

Result<std::unique_ptr<CheckpointPlace>> CheckpointPlace::Take(const std::string& database) {
  std::unique_ptr<CheckpointPlace> place(new CheckpointPlace(CheckpointIn(database)));
  switch (place->lock_.Open(LockIn(database), HeldFile::Links::kRefuse)) {
    case HeldFile::Outcome::kFailed:
      return Status::Error("cannot write " + Printable(LockIn(database)) + ": " + std::strerror(errno) +
                           (errno == EACCES ? "; run this as the user of the relay, or as root" : ""));
    case HeldFile::Outcome::kInUse:
      return Status::Error("a backup of " + Printable(database) + " is under way, by " +
                           Describe(FindHolder(LockIn(database)).value_or(LockHolder())));
    case HeldFile::Outcome::kHeld:
      break;
  }
  place->lock_.Say(std::to_string(getpid()) + " weir backup\n");
  GiveToOwnerOf(database, LockIn(database));
  if (Status removed = RemoveCheckpoint(place->checkpoint_); !removed.ok()) return removed;
  return place;
}

CheckpointPlace::~CheckpointPlace() {
  if (!lock_.is_open()) return;
  (void)RemoveCheckpoint(checkpoint_).ok();
  lock_.Say("");
}

bool CheckpointPlace::IsTaken(const std::string& database) { return FindHolder(LockIn(database)).has_value(); }

Status CheckpointPlace::RemoveAbandoned(const std::string& database) {
  const std::string checkpoint = CheckpointIn(database);
  std::error_code error;
  if (!std::filesystem::exists(checkpoint, error) && !std::filesystem::exists(checkpoint + ".tmp", error)) return {};
  HeldFile lock;
  if (lock.Open(LockIn(database), HeldFile::Links::kRefuse) != HeldFile::Outcome::kHeld) return {};
  return RemoveCheckpoint(checkpoint);
}

}  // namespace weir
