#include "relay/management/removal_methods.h"

#include <string>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

using Type = ManagementParameter::Type;

}  // namespace

void AddRemovalMethods(ManagementMethods& methods, RemovalJobs& jobs) {
  methods.Add({.name = "removeevents",
               .right = AdminRight::kAll,
               .parameters = {{.name = "removal", .type = Type::kJson}},
               .run = [&jobs](const ManagementCall& call) -> Result<ManagementResult> {
                 Result<RemovalOrder> order = ReadRemovalOrder(call.values[0]);
                 if (!order.ok()) return order.status();
                 const Result<RemovalState> begun = jobs.Begin(std::move(order).value(), call.by);
                 if (!begun.ok()) return begun.status();
                 JsonWriter json(JsonWriter::Layout::kCompact);
                 WriteState(begun.value(), json);
                 return ManagementResult{.json = std::move(json).Value()};
               },
               .takes_document = true});
  methods.Add({.name = "listeventremovals",
               .right = AdminRight::kRead,
               .run = [&jobs](const ManagementCall&) -> Result<ManagementResult> {
                 JsonWriter json(JsonWriter::Layout::kCompact);
                 json.Open('[');
                 for (const RemovalState& state : jobs.List()) WriteState(state, json);
                 json.Close(']');
                 return ManagementResult{.json = std::move(json).Value()};
               }});
  methods.Add({.name = "cancelremoval",
               .right = AdminRight::kAll,
               .parameters = {{.name = "id of a removal", .type = Type::kNumber}},
               .run = [&jobs](const ManagementCall& call) -> Result<ManagementResult> {
                 const Result<uint64_t> id = ParseUnsigned(call.values[0], {.min = 0, .max = 1e18});
                 if (id.ok() && jobs.Cancel(id.value())) return ManagementResult();
                 return Status::Error("no removal " + call.values[0] +
                                      " goes on; listeventremovals lists the last ones");
               }});
}

}  // namespace weir
