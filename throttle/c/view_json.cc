#include "throttle/c/view_json.h"

#include <utility>

#include "config/text/json_writer.h"

namespace weir {
namespace {

constexpr int kDigits = 4;

void AddWrites(const LimiterView::Write& write, const char* name, JsonWriter* json) {
  json->Member(name).Open('{');
  json->Member("open").Bool(write.open);
  json->Member("bytes_per_second").Number(write.bytes_per_second, kDigits);
  json->Member("drain_bytes_per_second").Number(write.drain_bytes_per_second, kDigits);
  json->Member("level").Number(write.level, kDigits);
  json->Member("setpoint").Number(write.setpoint, kDigits);
  json->Member("reason").String(write.reason);
  json->Close('}');
}

}  // namespace

std::string ViewJson(const LimiterView& view, const Status& sensor) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("signals").Open('{');
  for (const Signal& signal : view.sample.signals()) json.Member(signal.name).Number(signal.level, kDigits);
  json.Close('}');
  AddWrites(view[WorkClass::kInteractive], "interactive_writes", &json);
  AddWrites(view[WorkClass::kBulk], "bulk_writes", &json);
  json.Member("read_level").Number(view.read_level, kDigits);
  json.Member("scans_at_once").Number(view.scans_at_once);
  json.Member("read_reason").String(view.read_reason);
  json.Member("memory_bytes").Number(view.sample.memory_bytes);
  json.Member("memory_pressure").Number(view.sample.memory_pressure, kDigits);
  json.Member("escapes").Number(view.sample.escapes);
  json.Member("emergency").Bool(view.emergency);
  json.Member("sensor_lost").Bool(view.sensor_lost);
  json.Member("sensor_error").String(sensor.message());
  json.Close('}');
  return std::move(json).Value();
}

}  // namespace weir
