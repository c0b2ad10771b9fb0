#include "relay/ladder_plugin.h"

#include <algorithm>
#include <array>
#include <vector>

#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

// The part of the byte budget (relay/account/byte_budget.h) that strangers' events may hold while they wait.
constexpr uint64_t kPartOfStrangers = 4;

std::vector<PublicKey> OwnList(const RelayConfiguration& configuration) {
  std::vector<PublicKey> keys = TrustFrom(configuration.standing);
  return keys.empty() ? TrustFrom({.trust_from = configuration.relay.admin_pubkey}) : keys;
}

// From the highest, as people read a ladder.
constexpr std::array<Rung, kRungs> kFromTheTop{Rung::kTrusted, Rung::kRegular, Rung::kNewcomer, Rung::kStranger,
                                               Rung::kReported};

}  // namespace

LadderPlugin::LadderPlugin(ManagementMethods& methods) {
  methods.Add({.name = "explainstanding",
               .right = AdminRight::kRead,
               .parameters = {{.name = "public key"}},
               .run = [this](const ManagementCall& call) { return ExplainStanding(call.values[0]); }});
}

Status LadderPlugin::Start(const RelayServices& services) {
  const RelayConfiguration& configuration = services.configuration;
  if (configuration.standing.mode == LadderMode::kOff) return Status();
  RelayContext& context = services.context;
  AdaptiveLimiter& limiter = context.limiter;
  standings_ = std::make_unique<Standings>(configuration.standing, context.store, configuration.data_dir + "/standing",
                                           AdmitAsBulk(limiter, Operation::kRead), context.clock, context.wall_clock);
  standings_->Open();
  standings_->SetOwnList(OwnList(configuration));
  const bool is_on = configuration.standing.mode == LadderMode::kOn;
  share_ = std::make_unique<StrangerShare>([&limiter] { return limiter.View(); },
                                           is_on ? context.budget.bytes() / kPartOfStrangers : 0, context.clock);
  ladder_ = std::make_unique<Ladder>(configuration.standing.mode, *standings_, *share_);
  standings_->Start();
  share_->Start();
  context.ladder = ladder_.get();
  open_ = true;
  return Status();
}

void LadderPlugin::Stop() {
  if (!open_) return;
  share_->Stop();
  standings_->Stop();
}

Result<ManagementResult> LadderPlugin::ExplainStanding(const std::string& text) const {
  if (!open_) return Status::Error("the ladder is off: WEIR_LADDER=observe measures standing");
  const Result<PublicKey> key = ParsePublicKey(text);
  if (!key.ok()) return Status::Error(PrintableKey(text) + " " + key.status().message());
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("pubkey").String(ToHex(key.value()));
  json.Member("npub").String(ToNpub(key.value()));
  json.Member("rung").String(NameOf(standings_->RungOf(key.value())));
  json.Member("ladder").String(ladder_->is_on() ? "on" : "observe");
  json.Member("explanation").Open('[');
  for (const std::string& sentence : standings_->Explain(key.value())) json.String(sentence);
  json.Close(']').Close('}');
  return ManagementResult{.json = std::move(json).Value()};
}

void LadderPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  const StandingsStats standings = standings_->Stats();
  families.Gauge("weir_ladder_authors", "Authors whose standing is remembered, by rung");
  for (const Rung rung : kFromTheTop)
    families.Add(standings.authors[static_cast<size_t>(rung)], {{"rung", NameOf(rung)}});
  families.Counter("weir_ladder_events_total",
                   "Events to be stored, by the rung of their author and what became of them at the gates");
  for (const Rung rung : kFromTheTop) {
    for (size_t i = 0; i < kLadderOutcomes; ++i)
      families.Add(ladder_->Counted(rung, static_cast<LadderOutcome>(i)),
                   {{"rung", NameOf(rung)}, {"outcome", kLadderOutcomeNames[i]}});
  }
  families.Gauge("weir_ladder_bytes", "Bytes of the table of authors").Add(standings.bytes);
  families.Counter("weir_ladder_not_kept_total", "Events of authors for whom the table of authors had no room")
      .Add(standings.not_kept);
  const StrangerShare::State share = share_->Now();
  families.Gauge("weir_ladder_share", "The share of the writes that strangers may take; 1: no limit").Add(share.share);
  families.Counter("weir_ladder_pressures_total", "How often pressure has begun").Add(share.pressures);
  families.Counter("weir_ladder_admitted_bytes_total", "Bytes by the throttle's count that strangers were admitted")
      .Add(share.admitted_bytes);
  families.Gauge("weir_ladder_waiting_events", "Events of strangers that wait for their share").Add(share.waiting);
  families.Gauge("weir_ladder_waiting_bytes", "Bytes of the budget that strangers' waiting events hold")
      .Add(share.held_bytes);
}

void LadderPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  const StrangerShare::State share = share_->Now();
  const std::string limit = share.share == 1 ? "strangers are not limited"
                                             : Percent(share.share) + " of the writes for strangers, " +
                                                   std::to_string(share.waiting) + " wait";
  LiveTable& table = tables.Add("standing", "Standing of authors: " + limit,
                                {{"rung"},
                                 {"authors", true},
                                 {"events/s", true},
                                 {ladder_->is_on() ? "waited" : "would wait", true},
                                 {"refused", true}});
  const StandingsStats standings = standings_->Stats();
  for (const Rung rung : kFromTheTop) {
    const auto counted = [&](LadderOutcome outcome) { return ladder_->Counted(rung, outcome); };
    const uint64_t held = counted(LadderOutcome::kWaited) + counted(LadderOutcome::kWouldWait);
    const uint64_t all = counted(LadderOutcome::kPassed) + held + counted(LadderOutcome::kRefused);
    const std::string name(NameOf(rung));
    table.AddRow({name, ShortNumber(standings.authors[static_cast<size_t>(rung)]),
                  ShortNumber(RoundedCount(tables.PerSecond("standing." + name, static_cast<double>(all)))),
                  ShortNumber(held), ShortNumber(counted(LadderOutcome::kRefused))});
  }
}

}  // namespace weir
