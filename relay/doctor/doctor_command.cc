#include "relay/doctor/doctor_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "config/command_line.h"
#include "config/text/parse.h"
#include "config/text/url.h"
#include "relay/doctor/check.h"
#include "relay/doctor/gather.h"
#include "relay/doctor/report.h"

namespace weir {
namespace {

struct DoctorFlags {
  GatherOptions gather;
  std::vector<std::string> ignored;
  bool json = false;
};

Status CheckName(const std::string& name) {
  const std::vector<std::string_view> names = CheckNames();
  if (std::ranges::find(names, name) != names.end()) return {};
  const std::string_view nearest = NearestName(name, names);
  return Status::Error("no finding has that name" +
                       (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?"));
}

Status CheckUrl(const std::string& url) { return ParseServerUrl(url).status(); }

void AddTo(CommandLine& line, DoctorFlags& flags) {
  line.Add("--data-dir", &flags.gather.data_dir, "the relay's data directory (default: WEIR_DATA_DIR, else ./data)");
  line.Add("--url", &flags.gather.url,
           "the relay or gate to ask, such as http://127.0.0.1:3334 (default: the relay that uses the data directory, "
           "and any relay or gate on WEIR_PORT)")
      .Check("URL", CheckUrl);
  line.Add("--as-running", &flags.gather.as_running,
           "judge the settings that the relay on the data directory was started with, not this environment's");
  line.Add("--ignore", &flags.ignored, "name of a finding to leave out; may be repeated")
      .Check("NAME", CheckName)
      .OneWordEach();
  line.Add("--json", &flags.json, "one JSON object: verdict, exit_status, findings, looked_at, not_seen");
  line.SetFooter(
      "It looks at the settings of the environment, this machine, the disk (some 100 KB are written and synced), the\n"
      "database and the running relay or gate, for a few seconds, and changes nothing. It does not need root; it\n"
      "lists what this user may not see. It shows WEIR_ADMIN_TOKEN, or the token in the data directory, only to a\n"
      "relay or gate on this machine or by https, and only to ask what is wrong with the store of its quotas.\n"
      "\n"
      "Examples:\n"
      "  weir doctor\n"
      "  weir doctor --data-dir /var/lib/weir --as-running           the relay of the service, as root\n"
      "  weir doctor --ignore sync-off --ignore clock-not-kept       in a cron job, if these are intended\n"
      "  weir doctor --json | jq -r '.findings[].name'\n"
      "\n"
      "Exit status: 0 nothing to change, 1 advice, 2 a warning, 3 broken, whichever is worst; 64 wrong flags.");
}

}  // namespace

int DoctorCommand(int argc, char** argv) {
  CommandLine line(argv[0],
                   "Says what to change, and why, the worst first: about settings, this machine, the database and the\n"
                   "running relay or gate.");
  DoctorFlags flags;
  AddTo(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code == 0 ? 0 : kDoctorNotAsked;
  flags.gather.environment = ProcessEnvironment();
  const Result<Facts> facts = Gather(std::move(flags.gather));
  if (!facts.ok()) return line.Fail(facts.status(), kDoctorNotAsked);
  const std::vector<Finding> findings = Examine(facts.value(), flags.ignored);
  std::fputs((flags.json ? ToJson(findings, facts.value()) : ToText(findings, facts.value())).c_str(), stdout);
  return static_cast<int>(Worst(findings));
}

}  // namespace weir
