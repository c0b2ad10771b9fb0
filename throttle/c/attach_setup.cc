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

Result<AttachSetup::Resolved> AttachSetup::Resolve(const Environment& environment) const {
  Environment all = given_;
  all.insert(environment.begin(), environment.end());  // keeps what was given
  SettingTable table;
  Settings settings;
  DeclareAll(table, settings);
  if (Status loaded = table.Load(all); !loaded.ok()) return loaded;
  if (Status checked = Check(settings.limiter); !checked.ok()) return checked;
  const Result<uint64_t> target = ResolveMemoryTarget(settings.memory, MemoryProbe(), settings.limiter.emergency);
  if (!target.ok()) return target.status();
  if (directory.empty() && !options_text)
    return Status::Error("neither the directory of the database nor the text of its options is given");
  Resolved resolved;
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
