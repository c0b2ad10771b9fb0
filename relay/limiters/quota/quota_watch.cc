#include "relay/limiters/quota/quota_watch.h"

#include <pthread.h>

#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "config/text/rfc3339.h"
#include "config/text/utf8.h"
#include "relay/limiters/quota/quota_json.h"
#include "relay/limiters/quota/quota_table.h"

namespace weir {
namespace {

using Style = WatchParts::Style;

// Control sequences: to draw, move to the upper left corner, and clear only the rest of each line and of the screen. A
// cleared screen (kClear, only before the first table) would flicker.
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kLineEnd = "\x1b[K\n";
constexpr std::string_view kRest = "\x1b[J";
constexpr std::string_view kClear = "\x1b[2J";

Result<std::string> AskForModels(QuotaClient& client) {
  Result<HttpResponse> answer = AskForAll(client, {.call = QuotaRoute::Call::kModels});
  if (!answer.ok()) return answer.status();
  HttpResponse& response = answer.value();
  if (response.status != 200) {
    const std::string message = ErrorMessage(response.body);
    return Status::Error(client.name() + " answers " + std::to_string(response.status) + ": " +
                         (message.empty() ? Printable(response.body) : message));
  }
  if (const auto models = ReadModelsJson(response.body); !models.ok())
    return Status::Error(client.name() + ": " + models.status().message());
  return std::move(response.body);
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

// Returns the number of lines for the table: all lines of the terminal except that of the head and the last, in which
// the cursor stays.
size_t Room(TerminalSize size) { return size.rows > 4 ? size.rows - 2 : 2; }

std::string Screen(const std::string& head, const std::string& table, TerminalSize size) {
  std::vector<std::string_view> lines = Lines(table);
  const size_t room = Room(size);
  std::string more;
  if (lines.size() > room) {
    more = "… and " + std::to_string(lines.size() - room + 1) + " more";
    lines.resize(room - 1);
    lines.push_back(more);
  }
  std::string screen(kHome);
  screen.append(FirstCharacters(head, size.columns)).append(kLineEnd);
  for (const std::string_view line : lines) screen.append(FirstCharacters(line, size.columns)).append(kLineEnd);
  return screen.append(kRest);
}

bool InUse(const ModelStats& stats) {
  const ModelUsage& usage = stats.usage;
  return usage.rpm > 0 || usage.tpm > 0 || usage.rpd > 0 || usage.open_reservations > 0;
}

std::string ShareText(std::string_view what, int64_t used, int64_t limit) {
  std::string text = " " + std::string(what) + " " + std::to_string(used);
  return limit > 0 ? text + "/" + std::to_string(limit) : text;
}

std::string LogLines(const std::vector<ModelStats>& models, WallTime now) {
  const std::string time = FormatTime(std::chrono::floor<std::chrono::seconds>(now));
  std::string text;
  for (const ModelStats& stats : models) {
    if (!InUse(stats)) continue;
    const ModelQuota quota = stats.quota.value_or(ModelQuota{});
    text += time + " " + AsText(stats.model) + ShareText("rpm", stats.usage.rpm, quota.max_rpm) +
            ShareText("tpm", stats.usage.tpm, quota.max_tpm) + ShareText("rpd", stats.usage.rpd, quota.max_rpd) +
            ShareText("reserved", stats.usage.open_reservations, 0) + "\n";
  }
  return text.empty() ? time + " nothing is in use\n" : text;
}

class Watch {
 public:
  Watch(QuotaClient& client, const WatchParts& parts) : client_(client), parts_(parts) {}

  void Show(const Result<std::string>& answer) {
    if (parts_.style == Style::kTable) return Draw(answer);
    if (!answer.ok()) return parts_.complain(answer.status().message());
    if (parts_.style == Style::kJson) return parts_.write(answer.value());
    parts_.write(LogLines(ReadModelsJson(answer.value()).value(), parts_.clock.Now()));
  }

 private:
  void Draw(const Result<std::string>& answer) {
    const WallTime now = parts_.clock.Now();
    if (answer.ok()) models_ = ReadModelsJson(answer.value()).value();
    std::string head = client_.name() + ", " + FormatTime(std::chrono::floor<std::chrono::seconds>(now));
    if (!answer.ok()) head += ", as it was before: " + answer.status().message();
    if (!std::exchange(drawn_, true)) parts_.write(kClear);
    const TerminalSize size = parts_.size();
    std::vector<ModelStats> models = models_;
    if (models.size() + 1 > Room(size)) SortFullestFirst(models);
    parts_.write(Screen(head, UsageTable(models, now, true, size.columns), size));
  }

  QuotaClient& client_;
  const WatchParts& parts_;
  std::vector<ModelStats> models_;
  bool drawn_ = false;
};

}  // namespace

Status WatchQuotas(QuotaClient& client, const WatchParts& parts) {
  Watch watch(client, parts);
  for (uint64_t turn = 1;; ++turn) {
    const Result<std::string> answer = AskForModels(client);
    if (turn == 1 && !answer.ok()) return answer.status();
    watch.Show(answer);
    if ((parts.times && turn >= *parts.times) || !parts.wait()) return {};
  }
}

Interrupts::Interrupts() {
  sigemptyset(&set_);
  sigaddset(&set_, SIGINT);
  sigaddset(&set_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::Wait(Duration time) const {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec longest{.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
  return sigtimedwait(&set_, nullptr, &longest) < 0;
}

}  // namespace weir
