#include "bench/relay/server_usage.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>

namespace weir {
namespace {

namespace fs = std::filesystem;

// Reads lines like "VmRSS:     1234 kB" of /proc/PID/<file>; returns the numbers as they are, in bytes or kilobytes.
Result<std::map<std::string, uint64_t>> ReadFields(pid_t pid, const std::string& file) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  std::ifstream in(path);
  std::map<std::string, uint64_t> fields;
  for (std::string line; std::getline(in, line);)
    if (const size_t colon = line.find(':'); colon != std::string::npos)
      fields[line.substr(0, colon)] = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
  if (fields.empty()) return Status::Error("cannot read " + path + ": is the server gone?");
  return fields;
}

double KilobytesAsMb(uint64_t kilobytes) { return static_cast<double>(kilobytes) * 1024 / 1e6; }

}  // namespace

Result<ServerMemory> ReadMemory(pid_t pid) {
  auto fields = ReadFields(pid, "status");
  if (!fields.ok()) return fields.status();
  auto& f = fields.value();
  return ServerMemory{.resident_mb = KilobytesAsMb(f["VmRSS"]),
                      .anonymous_mb = KilobytesAsMb(f["RssAnon"]),
                      .peak_resident_mb = KilobytesAsMb(f["VmHWM"])};
}

Result<ServerMemory> CountMemory(pid_t pid) {
  auto fields = ReadFields(pid, "smaps_rollup");
  if (!fields.ok()) return fields.status();
  auto& f = fields.value();
  return ServerMemory{.resident_mb = KilobytesAsMb(f["Rss"]), .anonymous_mb = KilobytesAsMb(f["Anonymous"])};
}

Result<Duration> ProcessorTime(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return Status::Error("process " + std::to_string(pid) + " is gone");
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

Result<WrittenBytes> ReadWritten(pid_t pid) {
  auto fields = ReadFields(pid, "io");
  if (!fields.ok()) return fields.status();
  return WrittenBytes{.to_disk = fields.value()["write_bytes"], .by_calls = fields.value()["wchar"]};
}

Result<uint64_t> DiskBytes(const fs::path& directory) {
  std::error_code error;
  uint64_t bytes = 0;
  // Files come and go while the server works.
  for (auto at = fs::recursive_directory_iterator(directory, error); !error && at != fs::end(at); at.increment(error)) {
    struct stat file {};
    if (stat(at->path().c_str(), &file) == 0) bytes += static_cast<uint64_t>(file.st_blocks) * 512;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Status::Error("cannot read " + directory.string() + ": " + error.message());
  return bytes;
}

void MemoryPeak::Start(pid_t pid, Loop* loop) {
  pid_ = pid;
  loop_ = loop;
  if (pid_ > 0) Look(Loop::Now());
}

void MemoryPeak::Look(TimePoint at) {
  if (const auto now = ReadMemory(pid_); now.ok()) {
    most_.resident_mb = std::max(most_.resident_mb, now.value().resident_mb);
    most_.anonymous_mb = std::max(most_.anonymous_mb, now.value().anonymous_mb);
    most_.peak_resident_mb = now.value().peak_resident_mb;
  }
  loop_->At(at + std::chrono::milliseconds(20), [this](TimePoint next) { Look(next); });
}

}  // namespace weir
