#include "relay/upkeep/upkeep_methods.h"

#include "config/text/json_writer.h"

namespace weir {
namespace {

using Outcome = Result<ManagementResult>;

Outcome OutcomeOf(const Status& status) {
  if (!status.ok()) return status;
  return ManagementResult();
}

std::string JsonOf(const Compaction& compaction) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("runs").Bool(compaction.runs);
  json.Member("waits").Bool(compaction.waits);
  json.Member("done").Number(compaction.done, 3);
  json.Member("bytes_then").Number(compaction.bytes_then);
  json.Member("bytes_now").Number(compaction.bytes_now);
  json.Member("error").String(compaction.error);
  json.Close('}');
  return std::move(json).Value();
}

}  // namespace

void AddUpkeepMethods(ManagementMethods& methods, Upkeep& upkeep) {
  methods.Add({.name = "makecheckpoint",
               .run = [&upkeep](const ManagementCall&) -> Outcome { return OutcomeOf(upkeep.MakeCheckpoint()); }});
  methods.Add({.name = "bulkwork", .right = AdminRight::kRead, .run = [&upkeep](const ManagementCall&) -> Outcome {
                 return ManagementResult{.json = upkeep.is_held() ? R"({"held":true})" : R"({"held":false})"};
               }});
  methods.Add({.name = "compact",
               .run = [&upkeep](const ManagementCall&) -> Outcome { return OutcomeOf(upkeep.BeginCompaction()); }});
  methods.Add({.name = "stopcompaction", .run = [&upkeep](const ManagementCall&) -> Outcome {
                 return upkeep.CancelCompaction() ? Outcome(ManagementResult()) : Status::Error("no compaction runs");
               }});
  methods.Add(
      {.name = "listcompaction", .right = AdminRight::kRead, .run = [&upkeep](const ManagementCall&) -> Outcome {
         return ManagementResult{.json = JsonOf(upkeep.compaction())};
       }});
}

}  // namespace weir
