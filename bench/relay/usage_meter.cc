#include "bench/relay/usage_meter.h"

#include "bench/measure/own_cpu.h"

namespace weir {

Result<UsageMeter> UsageMeter::Start(const LoadTarget& target) {
  UsageMeter meter(target);
  if (!target.db.empty()) {
    const auto disk = DiskBytes(target.db);
    if (!disk.ok()) return disk.status();
    meter.disk_ = disk.value();
  }
  if (target.pid > 0) {
    const auto written = ReadWritten(target.pid);
    if (!written.ok()) return written.status();
    meter.written_ = written.value();
    const auto time = ProcessorTime(target.pid);
    if (!time.ok()) return time.status();
    meter.server_ = time.value();
  }
  meter.own_ = OwnProcessorTime();
  return meter;
}

Status UsageMeter::AddProcessor(const std::string& piece, double how_many, LoadFigures* figures) const {
  const auto microseconds = [&](Duration d) { return ToSeconds(d) * 1e6 / how_many; };
  const Duration own = OwnProcessorTime() - own_;
  if (target_.pid > 0) {
    const auto time = ProcessorTime(target_.pid);
    if (!time.ok()) return time.status();
    figures->push_back({"server CPU per " + piece, "µs", microseconds(time.value() - server_)});
  }
  figures->push_back({"generator CPU per " + piece, "µs", microseconds(own)});
  return Status();
}

Status UsageMeter::AddDisk(const std::string& piece, double how_many, LoadFigures* figures) const {
  if (target_.pid > 0) {
    const auto now = ReadWritten(target_.pid);
    if (!now.ok()) return now.status();
    const auto kilobytes = [&](uint64_t bytes) { return static_cast<double>(bytes) / 1e3 / how_many; };
    figures->push_back({"written per " + piece, "KB", kilobytes(now.value().to_disk - written_.to_disk)});
    figures->push_back({"by write calls per " + piece, "KB", kilobytes(now.value().by_calls - written_.by_calls)});
  }
  if (target_.db.empty()) return Status();
  const auto disk = DiskBytes(target_.db);
  if (!disk.ok()) return disk.status();
  const double grown = static_cast<double>(disk.value()) - static_cast<double>(disk_);
  figures->push_back({"disk", "MB", static_cast<double>(disk.value()) / 1e6});
  figures->push_back({"disk per 100k " + piece + "s", "MB", grown / 1e6 / how_many * 1e5});
  return Status();
}

Status UsageMeter::AddMemory(LoadFigures* figures) const {
  if (target_.pid <= 0) return Status();
  const auto counted = CountMemory(target_.pid);
  if (!counted.ok()) return counted.status();
  const auto quick = ReadMemory(target_.pid);
  if (!quick.ok()) return quick.status();
  figures->push_back({"resident", "MB", counted.value().resident_mb});
  figures->push_back({"anonymous", "MB", counted.value().anonymous_mb});
  figures->push_back({"peak resident", "MB", quick.value().peak_resident_mb});
  return Status();
}

}  // namespace weir
