#include "throttle/c/attach_setup.h"

#include "config/text/parse.h"

namespace weir {

void AttachSetup::DeclareAll(SettingTable& table, Settings& settings) {
  Declare(table, settings.monitor);
  Declare(table, settings.limiter);
  Declare(table, settings.memory);
}

Status AttachSetup::Set(const std::string& name, const std::string& value) {
  constexpr std::string_view kPrefix = "WEIR_";
  SettingTable table;
  Settings settings;
  DeclareAll(table, settings);
  const Environment one{{name, value}};
  for (const std::string& warning : table.UnknownNames(one)) return Status::Error(warning);
  if (!name.starts_with(kPrefix))
    return Status::Error(Printable(name) + " is not a setting: the names begin with WEIR_, as in config/SETTINGS.md");
  if (Status loaded = table.Load(one); !loaded.ok()) return loaded;
  given_[name] = value;
  return {};
}

Result<uint64_t> AttachSetup::MemoryTarget(MemoryTargetSettings memory, double emergency) {
  MemoryProbe probe;
  const Result<MemoryUse> use = probe.ReadUse();
  const Result<MemoryRoom> room = probe.ReadRoom();
  if (memory.target_memory_mb == 0 && use.ok() && room.ok()) {
    const double free_bytes = kShareOfFree * static_cast<double>(room.value().free_bytes());
    memory.target_memory_mb = (use.value().bytes() + static_cast<uint64_t>(free_bytes)) >> 20;
  }
  return ResolveMemoryTarget(memory, probe, emergency);
}

Result<AttachSetup::Resolved> AttachSetup::Resolve(const Environment& environment) const {
  Environment all = given_;
  all.insert(environment.begin(), environment.end());  // keeps what was given
  SettingTable table;
  Settings settings;
  DeclareAll(table, settings);
  if (Status loaded = table.Load(all); !loaded.ok()) return loaded;
  if (Status checked = Check(settings.limiter); !checked.ok()) return checked;
  const Result<uint64_t> target = MemoryTarget(settings.memory, settings.limiter.emergency);
  if (!target.ok()) return target.status();
  if (directory.empty() && !options_text)
    return Status::Error("neither the directory of the database nor the text of its options is given");
  if (set_options && !settings.limiter.ReplacesBrakes())
    return Status::Error(
        "RocksDB's brakes cannot be moved while the limiter is off or opens when the sensor is lost: leave "
        "weir_setup_set_options out");
  Resolved resolved;
  resolved.monitor.set_options = set_options;
  resolved.limiter = settings.limiter;
  resolved.monitor.monitor = settings.monitor;
  resolved.monitor.memory_target_bytes = target.value();
  if (!families.empty()) resolved.monitor.families = families;
  if (options_text) {
    resolved.monitor.options = [text = *options_text] { return ParseOptionsText(text); };
  } else {
    resolved.monitor.options = [path = directory] { return ReadNewestOptions(path); };
  }
  return resolved;
}

}  // namespace weir
