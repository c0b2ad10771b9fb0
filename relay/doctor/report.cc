#include "relay/doctor/report.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/doctor/check_words.h"

namespace weir {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kLabelColumns = 11;

// Appends the words of `text` in lines of at most 80 columns. The first line begins with `begin`, the others with as
// many blanks. A word that is too long for a line is not broken.
void AppendWrapped(std::string_view begin, std::string_view text, std::string* out) {
  const size_t indent = CharactersIn(begin);
  out->append(begin);
  size_t column = indent;
  bool first = true;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word; first = false) {
    const std::string shown = AsText(word);
    if (!first && column + 1 + CharactersIn(shown) > kColumns) {
      out->append("\n").append(indent, ' ');
      column = indent;
    } else if (!first) {
      out->append(" ");
      ++column;
    }
    out->append(shown);
    column += CharactersIn(shown);
  }
  out->append("\n");
}

void AppendFinding(const Finding& finding, std::string* out) {
  out->append("\n").append(NameOf(finding.severity)).append(": ").append(finding.name).append("\n");
  std::istringstream lines(finding.saw);
  for (std::string line; std::getline(lines, line);) AppendWrapped("  ", line, out);
  AppendWrapped("  ", finding.why, out);
  AppendWrapped("  To do: ", finding.act, out);
  for (const std::string& command : finding.commands) out->append("      ").append(AsText(command)).append("\n");
}

std::string LinesAsText(const std::string& text) {
  std::string shown;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) shown.append(shown.empty() ? "" : "\n").append(AsText(line));
  return shown;
}

std::string Verdict(const std::vector<Finding>& findings) {
  std::string text;
  for (const Severity severity : {Severity::kBroken, Severity::kWarning, Severity::kAdvice}) {
    const auto count = std::ranges::count(findings, severity, &Finding::severity);
    if (count == 0) continue;
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ");
    if (severity == Severity::kAdvice) text.append(count == 1 ? "piece of " : "pieces of ");
    text.append(NameOf(severity)).append(severity == Severity::kWarning && count > 1 ? "s" : "");
  }
  return text.empty() ? "nothing to change" : text;
}

std::string TextOf(const HostFacts& host) {
  std::string text = Count(host.cpus, "processor");
  if (host.cgroup.cpus > 0) text += " (of which " + FormatNumber(host.cgroup.cpus) + " may be used)";
  if (host.room) text += ", " + ReadableBytes(host.room->free_bytes()) + " of memory free";
  if (host.room && host.room->cgroup_limit_bytes)
    text += ", at most " + ReadableBytes(*host.room->cgroup_limit_bytes) + " by its cgroup";
  if (host.pressure)
    text += "; waits of the last minute: for a processor " + Percent(host.pressure->cpu_some / 100) + ", for memory " +
            Percent(host.pressure->memory_full / 100) + ", for a disk " + Percent(host.pressure->io_full / 100);
  return text;
}

std::string TextOf(const DirectoryFacts& d) {
  if (d.hangs) return d.holds + " in " + d.path + ": it does not answer";
  std::string text = d.holds + " in " + d.path + (d.exists ? "" : " (not made yet)") + ": " +
                     ReadableBytes(d.free_bytes) + " free of " + ReadableBytes(d.bytes);
  if (d.syncs)
    text += ", an fsync takes " + Milliseconds(d.syncs->median.count()) + ", at most " +
            Milliseconds(d.syncs->worst.count());
  return text;
}

std::string TextOf(const RocksDbFacts& r) {
  if (!r.exists) return "none yet in " + r.path;
  return "RocksDB in " + r.path + ": " + ReadableBytes(r.bytes) + " in " + Count(r.files, "file") + ", " +
         ReadableBytes(r.log_bytes) + " of them log; " + (r.holder ? "in use by " + Describe(*r.holder) : "not in use");
}

std::string TextOf(const PostgresFacts& p) {
  if (!p.reached.ok()) return p.name + ": not reached";
  return p.name + ": PostgreSQL " + std::to_string(p.version / 10000) + "." + std::to_string(p.version % 10000) + ", " +
         Count(p.standbys, "standby") + ", answers in " + Milliseconds(p.round_trip.count());
}

std::string TextOf(const InstanceFacts& i, double now_seconds) {
  if (!i.problem.empty()) return i.url + ": " + i.problem;
  const double up = now_seconds - i.metrics.Get("process_start_time_seconds");
  return i.url + ": " + (i.is_relay() ? "relay" : "gate") + ", weir " + i.metrics.Label("weir_build_info", "version") +
         ", up " + InWords(up) + ", " + i.ready_text;
}

std::string TextOf(const SettingsFacts& settings) {
  if (!settings.wrong.empty()) return "wrong";
  return std::to_string(settings.set) + " of " + std::to_string(settings.all) +
         " are set, the others as by default (weir config)";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LookedAt(const Facts& facts) {
  std::vector<std::pair<std::string, std::string>> all = {{"settings", TextOf(facts.settings)},
                                                          {"host", TextOf(facts.host)}};
  for (const DirectoryFacts& directory : facts.directories) all.emplace_back("disk", TextOf(directory));
  if (facts.rocksdb) all.emplace_back("database", TextOf(*facts.rocksdb));
  if (facts.postgres) all.emplace_back("database", TextOf(*facts.postgres));
  for (const InstanceFacts& instance : facts.instances)
    all.emplace_back("instance", TextOf(instance, facts.now_seconds));
  if (facts.instances.empty()) all.emplace_back("instance", "none runs, as far as can be seen");
  return all;
}

std::string ToText(const std::vector<Finding>& findings, const Facts& facts) {
  std::string out = "weir doctor: " + Verdict(findings) + "\n";
  for (const Finding& finding : findings) AppendFinding(finding, &out);
  out += "\n";
  const auto line = [&out](std::string label, const std::string& text) {
    label.resize(std::max(label.size() + 1, kLabelColumns), ' ');
    AppendWrapped(label, text, &out);
  };
  for (const auto& [label, text] : LookedAt(facts)) line(label, text);
  for (const std::string& unseen : facts.unseen) line("not seen", unseen);
  return out;
}

std::string ToJson(const std::vector<Finding>& findings, const Facts& facts) {
  const Severity worst = Worst(findings);
  JsonWriter json;
  json.Open('{');
  json.Member("verdict").String(NameOf(worst));
  json.Member("exit_status").Number(static_cast<int>(worst));
  json.Member("findings").Open('[');
  for (const Finding& finding : findings) {
    json.Open('{');
    json.Member("name").String(finding.name);
    json.Member("severity").String(NameOf(finding.severity));
    json.Member("saw").String(LinesAsText(finding.saw));
    json.Member("why").String(AsText(finding.why));
    json.Member("act").String(AsText(finding.act));
    json.Member("commands").Open('[');
    for (const std::string& command : finding.commands) json.String(AsText(command));
    json.Close(']');
    json.Close('}');
  }
  json.Close(']');
  json.Member("looked_at").Open('[');
  for (const auto& [what, text] : LookedAt(facts)) {
    json.Open('{');
    json.Member("what").String(what);
    json.Member("text").String(AsText(text));
    json.Close('}');
  }
  json.Close(']');
  json.Member("not_seen").Open('[');
  for (const std::string& unseen : facts.unseen) json.String(AsText(unseen));
  json.Close(']');
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
