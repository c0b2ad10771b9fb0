#include "relay/commands/rules_command.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/command_line.h"
#include "config/text/parse.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/npub.h"
#include "relay/protocol/policy.h"
#include "relay/rules/describe_rules.h"
#include "relay/rules/rules_reader.h"

namespace weir {
namespace {

struct RulesFlags {
  std::string file;  // FILE or --config; empty: WEIR_CONFIG
  std::string event;
  std::string address;
  std::vector<std::string> authed;  // --authed
  std::string rung = "stranger";    // --rung
};

// The rules of a file, and the settings that also decide about events.
struct Loaded {
  RelaySettings relay;
  std::string config_file;
  RulesRead read;
};

void AddCheck(CommandLine line, RulesFlags& flags) {
  line.Add("FILE", &flags.file, "weir.yaml; without it, the file of WEIR_CONFIG");
  line.SetFooter(
      "Prints a line for each rule, or file:line:column of each mistake and what was expected there.\n"
      "Exit status: 0 the file is right, 2 it is wrong or cannot be read.");
}

void AddTest(CommandLine line, RulesFlags& flags) {
  line.Add("EVENT", &flags.event, "an event as JSON, a file with an event a line, or - for standard input").Required();
  line.Add("--config", &flags.file, "weir.yaml, instead of WEIR_CONFIG");
  line.Add("--address", &flags.address, "address from which the event would come");
  line.Add("--authed", &flags.authed, "key that the sender has proved by AUTH, npub or hex; may be repeated")
      .OneWordEach();
  line.Add("--rung", &flags.rung,
           "rung of the author for relay.retention: reported, stranger, newcomer, regular, trusted");
  line.SetFooter(
      "Signatures are not checked, rates are not counted, and nothing is stored.\n"
      "Exit status: 0 the relay would take every event, 1 it would refuse one, 2 an argument or the file is wrong.");
}

Result<Loaded> Load(const RulesFlags& flags) {
  Loaded loaded;
  SettingTable table;
  Declare(table, loaded.relay);
  table.Add("CONFIG", &loaded.config_file, "path of weir.yaml");
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  if (!flags.file.empty()) loaded.config_file = flags.file;
  if (loaded.config_file.empty()) return Status::Error("name a file, or set WEIR_CONFIG");
  std::vector<std::string> files;
  Result<RulesRead> read = ReadRules(loaded.config_file, &files);
  if (!read.ok()) return read.status();
  loaded.read = std::move(read).value();
  return loaded;
}

int CheckRules(const CommandLine& line, const RulesFlags& flags) {
  const Result<Loaded> loaded = Load(flags);
  if (!loaded.ok()) return line.Fail(loaded.status());
  const RulesRead& read = loaded.value().read;
  for (const std::string& text : DescribeRules(read.rules->set())) std::printf("%s\n", text.c_str());
  std::printf("%s: %s\n", loaded.value().config_file.c_str(), read.summary.c_str());
  return 0;
}

Result<std::vector<std::string>> ReadEventTexts(const std::string& argument) {
  if (argument.starts_with('{')) return std::vector{argument};
  std::ifstream file;
  if (argument != "-") {
    file.open(argument);
    if (!file) return Status::Error(argument + " is no event and cannot be read as a file; an event begins with {");
  }
  std::vector<std::string> texts;
  for (std::string text; std::getline(argument == "-" ? std::cin : file, text);)
    if (!TrimBlanks(text).empty()) texts.push_back(text);
  if (texts.empty()) return Status::Error(argument + " has no event; expected one a line");
  return texts;
}

Result<std::shared_ptr<const Identity>> IdentityOf(const std::vector<std::string>& keys) {
  std::shared_ptr<const Identity> identity = Identity::Nobody();
  for (const std::string& text : keys) {
    const Result<PublicKey> key = ParsePublicKey(text);
    if (!key.ok()) return Status::Error("--authed " + PrintableKey(text) + " " + key.status().message());
    identity = Identity::With(*identity, key.value());
  }
  return identity;
}

Result<Rung> ReadRungFlag(const std::string& text) {
  const Result<size_t> index = ParseWord(text, {kRungNames.begin(), kRungNames.end()});
  if (!index.ok()) return Status::Error("--rung " + Printable(text) + " " + index.status().message());
  return static_cast<Rung>(index.value());
}

// Prints the decision of each rule. Returns true if the relay would take the event.
bool TestEvent(EventView event, const Rules& rules, const RelaySettings& settings, const Identity& identity,
               const std::optional<AddressBytes>& address, Rung rung) {
  const uint64_t now = WallClock::System().NowSeconds();
  std::printf("%s, kind %u, by %s\n", ToHex(event.id()).c_str(), unsigned{event.kind()},
              ToNpub(event.pubkey()).c_str());
  std::string refusal =
      settings.auth_required && identity.empty() ? kEventNeedsAuth : RefusalOfEvent(event, settings, identity, now);
  std::printf("  settings: %s\n", refusal.empty() ? "passes" : refusal.c_str());
  for (const RuleOutcome& rule : rules.Explain(event, {.proved = identity.keys(), .address = address}, now)) {
    std::printf("  %s: %s\n", rule.rule.c_str(), rule.outcome.c_str());
    if (rule.refused && refusal.empty()) refusal = rule.outcome;
  }
  if (!rules.MaySee(event)) std::printf("  relay.read: no client is shown the event\n");
  const RetentionRules& retention = rules.set().retention;
  if (!retention.empty()) std::printf("  %s\n", retention.Explain(event, rung, now).c_str());
  std::printf("%s\n", refusal.empty() ? "accepted, if its rates are not used up" : ("refused: " + refusal).c_str());
  return refusal.empty();
}

int TestRules(const CommandLine& line, const RulesFlags& flags) {
  const Result<Loaded> loaded = Load(flags);
  if (!loaded.ok()) return line.Fail(loaded.status());
  const RelaySettings& settings = loaded.value().relay;
  const Result<std::shared_ptr<const Identity>> identity = IdentityOf(flags.authed);
  if (!identity.ok()) return line.Fail(identity.status());
  const std::optional<AddressBytes> address = ParseAddressBytes(flags.address);
  if (!flags.address.empty() && !address)
    return line.Fail(Status::Error("--address " + flags.address + " is no address"));
  const Result<Rung> rung = ReadRungFlag(flags.rung);
  if (!rung.ok()) return line.Fail(rung.status());
  const Result<std::vector<std::string>> texts = ReadEventTexts(flags.event);
  if (!texts.ok()) return line.Fail(texts.status());
  EventParser parser(EventLimitsOf(settings));
  bool all_taken = true;
  for (const std::string& text : texts.value()) {
    const Result<Event> event = parser.Parse(text);
    if (!event.ok()) return line.Fail(Status::Error("the event is wrong: " + event.status().message()));
    const bool taken =
        TestEvent(event.value().view(), *loaded.value().read.rules, settings, *identity.value(), address, rung.value());
    all_taken = all_taken && taken;
  }
  return all_taken ? 0 : 1;
}

}  // namespace

int RulesCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Checks the rules about who may write and read, and about what is kept (the section `relay` of weir.yaml).");
  RulesFlags flags;
  AddCheck(line.AddSubcommand("check", "print what the rules of a file say, or where it is wrong"), flags);
  AddTest(line.AddSubcommand("test", "say what the relay would do with an event, and by which rule"), flags);
  line.SetFooter(
      "Examples:\n"
      "  weir rules check weir.yaml\n"
      "  weir scan '{\"limit\":1}' | weir rules test - --config weir.yaml --address 192.0.2.7");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  return line.subcommand() == "check" ? CheckRules(line, flags) : TestRules(line, flags);
}

}  // namespace weir
