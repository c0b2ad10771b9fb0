#include "relay/commands/admin_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/command_line.h"
#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/management/management_methods.h"
#include "relay/running/running_relay.h"

namespace weir {
namespace {

// A verb with at most two arguments, and perhaps a reason, which are the parameters of the method.
struct AdminVerb {
  std::string_view name;
  std::string_view method;
  std::string_view meaning;
  std::string_view first;  // the name of the argument
  std::string_view second = "";
  bool has_reason = false;
  std::string_view done;  // the text that is printed; {} stands for the first argument
};

constexpr AdminVerb kAdminVerbs[] = {
    {"ban", "banpubkey", "hide the events of an author at once, remove them, and take no more", "NPUB", "", true,
     "{} is banned; the events are hidden, and are being removed"},
    {"unban", "unbanpubkey", "take events of the author again", "NPUB", "", true, "{} is not banned any more"},
    {"allow", "allowpubkey", "take events of the author whatever the rules of weir.yaml say", "NPUB", "", true,
     "{} is allowed"},
    {"unallow", "unallowpubkey", "let the rules decide about the author again", "NPUB", "", true,
     "the rules decide about {} again"},
    {"ban-event", "banevent", "hide an event at once, remove it, and do not take it again", "ID", "", true,
     "{} is banned"},
    {"allow-event", "allowevent", "settle the reports about an event, or end its ban", "ID", "", true, "{} is allowed"},
    {"unban-event", "unbanevent", "take the event again", "ID", "", true, "{} is not banned any more"},
    {"block", "blockip", "neither take events from an address nor serve it", "ADDRESS", "", true, "{} is blocked"},
    {"unblock", "unblockip", "end the block of an address", "ADDRESS", "", true, "{} is not blocked any more"},
    {"allow-kind", "allowkind", "take events of this kind; if it was not disallowed, of listed kinds only", "KIND", "",
     true, "kind {} is allowed"},
    {"disallow-kind", "disallowkind", "take no events of this kind", "KIND", "", true, "kind {} is disallowed"},
    {"name", "changerelayname", "change the relay's name; empty: that of WEIR_RELAY_NAME", "TEXT", "", false,
     "the name is changed"},
    {"description", "changerelaydescription", "change the relay's description", "TEXT", "", false,
     "the description is changed"},
    {"icon", "changerelayicon", "change the address of the relay's picture", "URL", "", false, "the icon is changed"},
    {"create-role", "createrole", "make a role; its members may write as allowed authors may", "ROLE", "", false,
     "the role {} is made"},
    {"edit-role", "editrole", "change the texts of a role", "ROLE", "", false, "the role {} is changed"},
    {"delete-role", "deleterole", "remove a role from all of its members, and the role", "ROLE", "", true,
     "the role {} is gone"},
    {"assign-role", "assignrole", "give a role to an author", "NPUB", "ROLE", false, "{} has the role"},
    {"unassign-role", "unassignrole", "take a role from an author", "NPUB", "ROLE", false,
     "{} does not have the role any more"},
};

struct AdminListName {
  const char* name;
  std::string_view method;
};
constexpr AdminListName kAdminLists[] = {
    {"bans", "listbannedpubkeys"},
    {"allowed", "listallowedpubkeys"},
    {"events", "listbannedevents"},
    {"reports", "listeventsneedingmoderation"},
    {"kinds", "listallowedkinds"},
    {"disallowed-kinds", "listdisallowedkinds"},
    {"addresses", "listblockedips"},
    {"roles", "listroles"},
    {"members", "listmembers"},
    {"removals", "listremovals"},
    {"event-removals", "listeventremovals"},
    {"methods", "supportedmethods"},
};

// The longest document that `import` reads; all lists of a relay together are shorter.
constexpr size_t kMostDocumentBytes = size_t{512} << 20;
// The longest part of a document that a relay gets at once.
constexpr size_t kPartBytes = ManagementMethods::kMostDocumentBytes - 1024;

struct AdminFlags {
  AttachOptions attach;
  bool json = false;
  std::string first;
  std::string second;
  std::string reason;
  std::string label, description, color, order;  // the texts of a role
  std::string list;
  std::string file;
};

bool IsOfRoleTexts(std::string_view verb) { return verb == "create-role" || verb == "edit-role"; }

// Returns the parameters of the verb's method. An option that is missing is null.
std::vector<std::string> ParametersOf(const AdminVerb& verb, const AdminFlags& flags) {
  std::vector<std::string> parameters{QuotedJson(flags.first)};
  if (!verb.second.empty()) parameters.push_back(QuotedJson(flags.second));
  if (verb.has_reason && !flags.reason.empty()) parameters.push_back(QuotedJson(flags.reason));
  if (!IsOfRoleTexts(verb.name)) return parameters;
  for (const std::string* text : {&flags.label, &flags.description, &flags.color, &flags.order})
    parameters.push_back(text->empty() ? "null" : QuotedJson(*text));
  return parameters;
}

Result<std::string> ReadDocument(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (std::vector<char> buffer(1 << 16); in && text.size() <= kMostDocumentBytes;) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  if (in.bad() || (path != "-" && !file.is_open())) return Status::Error("cannot read " + path);
  if (text.size() > kMostDocumentBytes)
    return Status::Error(path + " has more than 512 MiB, which is more than the decisions of a relay take");
  if (TrimBlanks(text).empty()) return Status::Error(path + " is empty; it must be a document of `weir admin export`");
  return text;
}

int PrintList(const CommandLine& line, const AdminFlags& flags, const RunningRelay& relay) {
  const auto* const list = std::ranges::find(kAdminLists, flags.list, &AdminListName::name);
  const Result<std::vector<std::string>> items = relay.List(list->method);
  if (!items.ok()) return line.Fail(items.status(), 1);
  if (flags.json) return line.Print("[" + Join(items.value(), ",") + "]\n");
  if (items.value().empty()) return line.Print("the list is empty\n");
  std::vector<std::string> lines;
  for (const std::string& item : items.value()) lines.push_back(LineOf(item));
  return line.Print(Join(lines, "\n") + "\n");
}

// Imports a document, in parts if it is long.
int ImportDecisions(const CommandLine& line, const AdminFlags& flags, const RunningRelay& relay) {
  const Result<std::string> document = ReadDocument(flags.file);
  if (!document.ok()) return line.Fail(document.status());
  uint64_t imported = 0;
  for (const std::string& part : PartsOfDocument(document.value(), kPartBytes)) {
    const Result<ManagementAnswer> answer = relay.Call("importmoderation", {part});
    const Result<uint64_t> more =
        answer.ok() ? ParseUnsigned(answer.value().result, {.min = 0, .max = 1e9}) : answer.status();
    if (more.ok()) {
      imported += more.value();
      continue;
    }
    if (imported == 0) return line.Fail(more.status(), 1);
    const std::string before =
        "the first " + std::to_string(imported) + " decisions are in force; of those after them: ";
    return line.Fail(Status::Error(before + more.status().message()), 1);
  }
  return line.Print(std::to_string(imported) + (flags.json ? "\n" : " decisions are in force\n"));
}

int RunAdmin(const CommandLine& line, const AdminFlags& flags, const RunningRelay& relay) {
  const std::string verb_name = line.subcommand();
  if (verb_name == "list") return PrintList(line, flags, relay);
  if (verb_name == "import") return ImportDecisions(line, flags, relay);
  std::string_view method = "exportmoderation";
  std::vector<std::string> parameters;
  const auto* const verb = std::ranges::find(kAdminVerbs, verb_name, &AdminVerb::name);
  if (verb != std::end(kAdminVerbs)) {
    method = verb->method;
    parameters = ParametersOf(*verb, flags);
  }
  const Result<ManagementAnswer> answer = relay.Call(method, parameters);
  if (!answer.ok()) return line.Fail(answer.status(), 1);
  if (flags.json || verb_name == "export") return line.Print(answer.value().result + "\n");
  return line.Print(fmt::format(fmt::runtime(verb->done), AsText(flags.first)) + "\n");
}

std::string MeaningOf(std::string_view argument) {
  if (argument == "NPUB") return "public key of the author, an npub or 64 hex digits";
  if (argument == "ID") return "id of the event, 64 hex digits";
  if (argument == "ADDRESS") return "an IP address, or a network such as 192.0.2.0/24";
  if (argument == "KIND") return "number of the kind";
  if (argument == "ROLE") return "id of the role";
  return argument == "URL" ? "an address that begins with https://" : "the text";
}

void AddVerb(CommandLine line, const AdminVerb& verb, AdminFlags& flags) {
  line.Add(std::string(verb.first), &flags.first, MeaningOf(verb.first)).Required();
  if (!verb.second.empty()) line.Add(std::string(verb.second), &flags.second, MeaningOf(verb.second)).Required();
  if (verb.has_reason) line.Add("--reason", &flags.reason, "why; kept with the decision, and logged");
  if (!IsOfRoleTexts(verb.name)) return;
  line.Add("--label", &flags.label, "name that clients show");
  line.Add("--description", &flags.description, "what the role is for");
  line.Add("--color", &flags.color, "hue, 0 to 360");
  line.Add("--order", &flags.order, "place in a list of roles");
}

void AddVerbs(CommandLine& line, AdminFlags& flags) {
  for (const AdminVerb& verb : kAdminVerbs)
    AddVerb(line.AddSubcommand(std::string(verb.name), std::string(verb.meaning)), verb, flags);
  std::vector<std::string> lists;
  for (const AdminListName& list : kAdminLists) lists.emplace_back(list.name);
  line.AddSubcommand("list", "print a list of decisions, or of the methods that there are")
      .Add("LIST", &flags.list, "the list")
      .Required()
      .OneOf(lists);
  line.AddSubcommand("export", "print all decisions as JSON");
  line.AddSubcommand(
          "import",
          "add the decisions of an export to those that there are; none of a part of 16 MiB in which one is wrong")
      .Add("FILE", &flags.file, "the export, or - for standard input")
      .Required();
}

void AddWhere(CommandLine& line, AdminFlags& flags) {
  AddTo(line, flags.attach);
  line.Add("--json", &flags.json, "print the result as JSON");
  line.LetOptionsFollow();
}

}  // namespace

int AdminCommand(int argc, char** argv) {
  CommandLine line(argv[0],
                   "Manages a relay that runs: bans, allowed authors, kinds and addresses, roles, its name.\n"
                   "The same is possible over HTTP by NIP-86. `weir admin <verb> --help` lists a verb's flags.");
  AdminFlags flags;
  AddWhere(line, flags);
  AddVerbs(line, flags);
  line.SetFooter(
      "Examples:\n"
      "  weir admin ban npub1… --reason spam\n"
      "  weir admin list bans\n"
      "  weir admin block 192.0.2.0/24\n"
      "  weir admin export >decisions.json\n"
      "  weir admin import decisions.json --url https://relay.example --token-file token\n"
      "\n"
      "Exit status: 0 done, 1 the relay refused or could not be reached, 2 wrong flags or settings.");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &flags.attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  const Result<RunningRelay> relay = RunningRelay::Find(configuration, flags.attach);
  return relay.ok() ? RunAdmin(line, flags, relay.value()) : line.Fail(relay.status(), 1);
}

}  // namespace weir
