#include "relay/management/report_methods.h"

#include <string>
#include <utility>

#include "relay/moderation/reports.h"

namespace weir {
namespace {

Verdict VerdictOf(const Moderation& moderation, DecisionList banned, DecisionList allowed, const Bytes32& subject) {
  const std::string hex = ToHex(subject);
  if (moderation.Find(banned, hex)) return Verdict::kBanned;
  return moderation.Find(allowed, hex) ? Verdict::kAllowed : Verdict::kNone;
}

Verdicts VerdictsOf(const Moderation& moderation) {
  return {.of_author =
              [&moderation](const PublicKey& author) {
                return VerdictOf(moderation, DecisionList::kBannedAuthors, DecisionList::kAllowedAuthors, author);
              },
          .of_event =
              [&moderation](const EventId& event) {
                return VerdictOf(moderation, DecisionList::kBannedEvents, DecisionList::kAllowedEvents, event);
              }};
}

// Reads a page of reports, and returns it in the form that `write` gives it.
Result<ManagementResult> Read(const EventStore& store, const Moderation& moderation, const WallClock& clock,
                              const ReportQuestion& question, std::string (*write)(const ReportPage& page)) {
  ReportReader reader(store, VerdictsOf(moderation), question, clock.NowSeconds());
  for (;;) {
    const Result<Progress> progress = reader.Next({});
    if (!progress.ok()) return Status::Error("the reports cannot be read: " + progress.status().message());
    if (progress.value() == Progress::kDone) break;
  }
  return ManagementResult{.json = write(reader.page()), .after = reader.page().after};
}

}  // namespace

void AddReportMethods(ManagementMethods& methods, const EventStore& store, const Moderation& moderation,
                      const WallClock& clock) {
  methods.Add({.name = "listreports",
               .right = AdminRight::kRead,
               .parameters = {{.name = "open or all", .optional = true}, {.name = "after", .optional = true}},
               .run = [&](const ManagementCall& call) -> Result<ManagementResult> {
                 const Result<ReportQuestion> question = ReadReportQuestion(call.values[0], call.values[1]);
                 if (!question.ok()) return question.status();
                 return Read(store, moderation, clock, question.value(), &ToJson);
               }});
  methods.Add({.name = "listeventsneedingmoderation",
               .right = AdminRight::kRead,
               .parameters = {{.name = "after", .optional = true}},
               .run = [&](const ManagementCall& call) -> Result<ManagementResult> {
                 Result<ReportQuestion> question = ReadReportQuestion("open", call.values[0]);
                 if (!question.ok()) return question.status();
                 question.value().most = kMostReports;
                 return Read(store, moderation, clock, question.value(), &EventsNeedingModeration);
               }});
}

}  // namespace weir
