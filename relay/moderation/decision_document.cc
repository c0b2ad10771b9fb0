#include "relay/moderation/decision_document.h"

#include <utility>

#include "config/text/json_scanner.h"
#include "config/text/json_writer.h"
#include "config/text/utf8.h"

namespace weir {

Result<std::vector<ModerationDecision>> ReadDecisions(std::string_view json) {
  if (json.size() > kMostDocumentBytes)
    return Status::Error("the document has more than " + std::to_string(kMostDocumentBytes) + " bytes");
  if (!IsUtf8(json)) return Status::Error("the document is not UTF-8");
  JsonScanner scanner(json);
  std::vector<ModerationDecision> decisions;
  uint64_t version = 0;
  bool first = true;
  scanner.Expect('{');
  while (scanner.error().empty() && scanner.NextItem('}', &first) == JsonScanner::Step::kItem) {
    JsonString name;
    if (!scanner.ReadName(&name)) break;
    if (name.raw == "weir_moderation") {
      if (!scanner.ReadWhole(&version)) return Status::Error("\"weir_moderation\" must be a number");
      continue;
    }
    if (name.raw != "decisions") return Status::Error("unknown field \"" + Printable(name.raw) + "\"");
    std::vector<std::string_view> items;
    if (!scanner.ReadList(&items)) break;
    for (const std::string_view item : items) {
      Result<ModerationDecision> decision = ReadDecision(item);
      if (!decision.ok())
        return Status::Error("decisions[" + std::to_string(decisions.size()) + "]: " + decision.status().message());
      decisions.push_back(std::move(decision).value());
    }
  }
  if (!scanner.error().empty()) return Status::Error("the document is wrong: " + scanner.error());
  if (!scanner.AtEnd()) return Status::Error("the document is wrong: there is text behind it");
  if (version != 1) return Status::Error("the document is not one of weir's: it must have \"weir_moderation\":1");
  return decisions;
}

std::string WriteDecisions(const DecisionBook& book) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("weir_moderation").Number(1);
  json.Member("decisions").Open('[');
  for (size_t i = 0; i < kDecisionLists; ++i)
    book.Visit(static_cast<DecisionList>(i),
               [&json](const ModerationDecision& decision) { AppendDecision(decision, json); });
  json.Close(']');
  json.Close('}');
  return std::move(json).Value();
}

}  // namespace weir
