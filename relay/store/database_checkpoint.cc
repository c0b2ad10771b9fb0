#include "relay/store/database_checkpoint.h"

#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>

#include "relay/store/database.h"
#include "rocksdb/utilities/checkpoint.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// RocksDB's name for a checkpoint that is being made.
std::string Unfinished(const std::string& directory) { return directory + ".tmp"; }

// Returns true for the names of the files that form a database: not for logs for people, and not for locks.
bool IsOfTheDatabase(const std::string& name) {
  return name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") ||
         name.ends_with(".sst") || name.ends_with(".log");
}

}  // namespace

// Flushes nothing: the write-ahead log is copied. On a disk that is nearly full, a flush that fails would make the
// database refuse writes, but a copy that fails is only a checkpoint less.
Status MakeCheckpoint(rocksdb::DB* db, const std::string& directory) {
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  constexpr uint64_t kNeverFlush = std::numeric_limits<uint64_t>::max();
  if (status.ok()) status = checkpoint->CreateCheckpoint(directory, kNeverFlush);
  if (!status.ok()) return DatabaseError("cannot make the checkpoint " + directory, status);
  // RocksDB gives a checkpoint no identity, but one that is restored goes on as the same database.
  std::error_code error;
  fs::copy_file(fs::path(db->GetName()) / "IDENTITY", fs::path(directory) / "IDENTITY", fs::copy_options::skip_existing,
                error);
  return error ? Status::Error("cannot make the checkpoint " + directory + ": " + error.message()) : Status();
}

Status MakeCheckpointOfClosed(const std::string& path, const std::string& directory) {
  const auto failed = [&directory](const std::error_code& error) {
    return Status::Error("cannot make the checkpoint " + directory + ": " + error.message());
  };
  if (Status known = RecogniseDatabase(path); !known.ok()) return known;
  std::error_code error;
  if (!fs::create_directory(Unfinished(directory), error))
    return failed(error ? error : std::make_error_code(std::errc::file_exists));
  fs::directory_iterator file(path, error);
  for (; !error && file != fs::directory_iterator(); file.increment(error)) {
    const std::string name = file->path().filename().string();
    if (!IsOfTheDatabase(name)) continue;
    const fs::path copy = fs::path(Unfinished(directory)) / name;
    // Tables never change. The database may go on with the other files.
    if (name.ends_with(".sst")) {
      fs::create_hard_link(file->path(), copy, error);
    } else {
      fs::copy_file(file->path(), copy, error);
    }
    if (error) return failed(error);
  }
  if (!error) fs::rename(Unfinished(directory), directory, error);
  return error ? failed(error) : Status();
}

Status RemoveCheckpoint(const std::string& directory) {
  for (const std::string& part : {directory, Unfinished(directory)}) {
    std::error_code error;
    fs::remove_all(part, error);
    if (error) return Status::Error("cannot remove the checkpoint " + part + ": " + error.message());
  }
  return {};
}

}  // namespace weir
