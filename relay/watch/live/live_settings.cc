#include "relay/watch/live/live_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr auto kChangeable = std::to_array<std::string_view>(
    {"RATE_LIMIT_SETPOINT", "RATE_LIMIT_WRITE_KP", "RATE_LIMIT_WRITE_KI", "RATE_LIMIT_WRITE_KD", "IMPORT_SETPOINT",
     "IMPORT_WRITE_KP", "IMPORT_WRITE_KI", "IMPORT_WRITE_KD", "RATE_LIMIT_READ_SETPOINT", "RATE_LIMIT_READ_KP",
     "RATE_LIMIT_READ_KI", "RATE_LIMIT_READ_KD", "LOG_LEVEL"});

bool IsChangeable(std::string_view name) { return std::ranges::find(kChangeable, name) != kChangeable.end(); }

}  // namespace

LiveSettings::LiveSettings(AdaptiveLimiter& limiter) : limiter_(limiter), rows_(RowsOf(Read())) {}

SettingTable LiveSettings::TableOf(Values& values) {
  SettingTable table;
  Declare(table, values.limiter);
  Declare(table, values.log_level, values.log_format);
  return table;
}

// Returns the rows in the order of kChangeable.
std::vector<SettingRow> LiveSettings::RowsOf(const Values& values) {
  Values copy = values;
  const SettingTable table = TableOf(copy);
  std::vector<SettingRow> rows;
  for (const std::string_view name : kChangeable)
    rows.push_back(*std::ranges::find(table.rows(), name, &SettingRow::name));
  return rows;
}

LiveSettings::Values LiveSettings::Read() const {
  Values values;
  const auto read = [this](Operation operation, WorkClass c, ControlSettings* s) {
    const Tuning tuning = limiter_.TuningOf(operation, c);
    s->gains = tuning.gains;
    s->setpoint = tuning.setpoint;
  };
  read(Operation::kWrite, WorkClass::kInteractive, &values.limiter.write);
  read(Operation::kWrite, WorkClass::kBulk, &values.limiter.bulk);
  read(Operation::kRead, WorkClass::kInteractive, &values.limiter.read);
  values.log_level = CurrentLogLevel();
  return values;
}

void LiveSettings::Use(const Values& values) {
  const LimiterSettings& s = values.limiter;
  limiter_.SetWriteGains(s.write.gains);
  limiter_.SetSetpoint(Operation::kWrite, s.write.setpoint);
  limiter_.SetWriteGains(s.bulk.gains, WorkClass::kBulk);
  limiter_.SetSetpoint(Operation::kWrite, s.bulk.setpoint, WorkClass::kBulk);
  limiter_.SetReadGains(s.read.gains);
  limiter_.SetSetpoint(Operation::kRead, s.read.setpoint);
  SetLogLevel(values.log_level);
}

std::vector<LiveSetting> LiveSettings::Now() const {
  std::vector<LiveSetting> settings;
  const std::vector<SettingRow> now = RowsOf(Read());
  for (size_t i = 0; i < now.size(); ++i) settings.push_back({now[i].name, now[i].value, rows_[i].value});
  return settings;
}

Result<std::vector<std::string>> LiveSettings::Apply(const std::vector<Change>& changes) {
  const MutexLock lock(mutex_);
  Values values = Read();
  const std::vector<SettingRow> before = RowsOf(values);
  // Gives every setting a value. A setting without a value inherits that of another setting, and would change with it.
  Environment environment;
  for (const SettingRow& row : before) environment["WEIR_" + row.name] = row.value;
  for (const auto& [given, value] : changes) {
    const std::string name = given.starts_with("WEIR_") ? given.substr(5) : given;
    if (!IsChangeable(name))
      return Status::Error(Printable(name) + " cannot be changed while the relay runs; these can: " +
                           Join({kChangeable.begin(), kChangeable.end()}, ", "));
    if (TrimBlanks(value).empty()) return Status::Error("WEIR_" + name + " has no value");
    environment["WEIR_" + name] = value;
  }
  if (Status status = TableOf(values).Load(environment); !status.ok()) return status;
  if (Status status = Check(values.limiter); !status.ok()) return status;
  Use(values);
  const std::vector<SettingRow> after = RowsOf(values);
  std::vector<std::string> changed;
  for (size_t i = 0; i < after.size(); ++i)
    if (after[i].value != before[i].value)
      changed.push_back(after[i].name + " " + before[i].value + " → " + after[i].value);
  return changed;
}

}  // namespace weir
