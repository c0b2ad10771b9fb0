#include "import/links/link_state.h"

#include <simdjson.h>

namespace weir {
namespace {

void Write(const ReasonCounts& reasons, std::string_view name, JsonWriter& json) {
  json.Member(name).Open('{');
  for (const auto& [reason, count] : reasons.counts()) json.Member(reason).Number(count);
  json.Close('}');
}

uint64_t Sum(simdjson::simdjson_result<simdjson::dom::element> counts) {
  uint64_t sum = 0;
  simdjson::dom::object object;
  if (counts.get(object) != simdjson::SUCCESS) return 0;
  for (const auto& [reason, value] : object) {
    uint64_t count = 0;
    if (value.get(count) == simdjson::SUCCESS) sum += count;
  }
  return sum;
}

}  // namespace

std::string_view NameOf(LinkPhase phase) {
  switch (phase) {
    case LinkPhase::kComparing:
      return "comparing";
    case LinkPhase::kLive:
      return "live";
    case LinkPhase::kWaiting:
      return "waiting";
    case LinkPhase::kConnecting:
      break;
  }
  return "connecting";
}

void WriteState(const LinkState& state, JsonWriter& json) {
  const SyncCounts& counts = state.counts;
  json.Open('{');
  json.Member("id").Number(state.id);
  json.Member("group").String(state.order.group);
  json.Member("url").String(state.order.url);
  json.Member("dir").String(NameOf(state.order.direction));
  json.Member("state").String(NameOf(state.phase));
  json.Member("for_s").Number(static_cast<uint64_t>(std::chrono::floor<std::chrono::seconds>(state.lasts).count()));
  json.Member("trouble").String(state.trouble);
  json.Member("connections").Number(state.connections);
  json.Member("received").Number(counts.received);
  json.Member("saved").Open('{');
  for (size_t i = 0; i < kLineOutcomes; ++i)
    json.Member(KeyOf(static_cast<LineOutcome>(i))).Number(state.came.saved.lines[i]);
  json.Close('}');
  Write(state.came.rejected, "rejected", json);
  json.Member("unasked").Number(counts.unasked);
  json.Member("missing").Number(counts.missing);
  json.Member("accepted").Number(counts.accepted);
  Write(counts.refused, "refused", json);
  json.Member("withheld").Number(counts.withheld);
  json.Member("bytes_sent").Number(counts.bytes_sent);
  json.Member("bytes_received").Number(counts.bytes_received);
  json.Close('}');
}

Result<LinkFigures> ReadFigures(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element state;
  LinkFigures figures;
  std::string_view phase, trouble;
  if (parser.parse(json.data(), json.size()).get(state) != simdjson::SUCCESS ||
      state["id"].get(figures.id) != simdjson::SUCCESS || state["state"].get(phase) != simdjson::SUCCESS ||
      state["trouble"].get(trouble) != simdjson::SUCCESS ||
      state["received"].get(figures.received) != simdjson::SUCCESS ||
      state["saved"]["imported"].get(figures.imported) != simdjson::SUCCESS ||
      state["accepted"].get(figures.accepted) != simdjson::SUCCESS)
    return Status::Error("the relay answers with something else than the state of a link");
  figures.phase = phase;
  figures.trouble = trouble;
  figures.rejected = Sum(state["rejected"]);
  figures.refused = Sum(state["refused"]);
  return figures;
}

}  // namespace weir
