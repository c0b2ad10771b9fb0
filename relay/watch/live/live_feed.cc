#include "relay/watch/live/live_feed.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "config/text/json_writer.h"

namespace weir {
namespace {

constexpr Duration kBeat = std::chrono::seconds(1);

using Listeners = std::vector<std::weak_ptr<LiveListener>>;

void ForgetThoseWhoLeft(Listeners& listeners) {
  std::erase_if(listeners, [](const auto& listener) { return listener.expired(); });
}

void Tell(const Listeners& listeners, std::string_view name, const std::string& json) {
  std::string event = "event: ";
  event.append(name).append("\ndata: ").append(json).append("\n");
  const auto shared = std::make_shared<const std::string>(std::move(event));
  for (const auto& weak : listeners)
    if (const auto listener = weak.lock()) listener->OnEvent(shared);
}

void Write(const LiveState& state, JsonWriter& json) {
  json.Member("mood").String(NameOf(state.mood));
  json.Member("summary").String(state.summary);
  json.Member("reasons").Open('{');
  json.Member("write").String(state.write);
  json.Member("bulk").String(state.bulk);
  json.Member("read").String(state.read);
  json.Close('}').Member("tables").Open('[');
  for (const LiveTable& table : state.tables)
    if (!table.rows.empty() || !table.empty.empty()) table.Write(json);
  json.Close(']').Member("settings").Open('{');
  for (const LiveSetting& setting : state.settings) json.Member(setting.name).String(setting.value);
  json.Close('}').Member("changed").Open('{');
  for (const LiveSetting& setting : state.settings)
    if (setting.value != setting.at_start) json.Member(setting.name).String(setting.at_start);
  json.Close('}');
}

void Write(const LiveMark& mark, JsonWriter& json) {
  json.Open('{').Member("at").Number(mark.at);
  json.Member("kind").String(mark.kind);
  json.Member("text").String(mark.text);
  if (!mark.who.empty()) json.Member("who").String(mark.who);
  json.Close('}');
}

std::string TimeOfDay(double seconds_since_1970) {
  const auto seconds = static_cast<unsigned>(std::fmod(std::max(0.0, seconds_since_1970), 86'400));
  char text[32];
  std::snprintf(text, sizeof(text), "%02u:%02u:%02u", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return text;
}

// Lists the newest mark first.
LiveTable TableOf(const std::deque<LiveMark>& marks) {
  LiveTable table{.name = "marks",
                  .title = "What happened",
                  .columns = {{"at (UTC)"}, {"what"}, {"who"}},
                  .rows = {},
                  .left_out = 0,
                  .empty = "nothing yet"};
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    table.AddRow({TimeOfDay(mark->at), mark->text, mark->who});
  }
  return table;
}

}  // namespace

std::string_view NameOf(LiveMood mood) {
  static constexpr std::array<std::string_view, 5> kNames = {"calm", "limiting", "unthrottled", "sensor lost",
                                                             "emergency"};
  return kNames[static_cast<size_t>(mood)];
}

LiveFeed::LiveFeed(Source source, About about, const Clock& clock)
    : source_(std::move(source)), about_(std::move(about)), clock_(clock) {}

void LiveFeed::Start() {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "weir-live");
}

void LiveFeed::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    wake_up_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  askers_.clear();
}

void LiveFeed::Run() {
  for (TimePoint next = clock_.Now();;) {
    if (const TimePoint now = clock_.Now(); now >= next) {
      Tick();
      next += kBeat;
      // After a stall, skips the ticks that were missed.
      if (next <= now) next = now + kBeat;
    }
    Serve();
    MutexLock lock(mutex_);
    wake_up_.wait_for(lock, next - clock_.Now(),
                      [this]() WEIR_REQUIRES(mutex_) { return stopped_ || !joining_.empty() || !askers_.empty(); });
    if (stopped_) return;
  }
}

bool LiveFeed::Join(const std::shared_ptr<LiveListener>& listener) {
  const MutexLock lock(mutex_);
  ForgetThoseWhoLeft(listeners_);
  if (stopped_ || listeners_.size() == kMostListeners) return false;
  listeners_.push_back(listener);
  joining_.push_back(listener);
  wake_up_.notify_all();
  return true;
}

bool LiveFeed::Ask(Asker asker) {
  const MutexLock lock(mutex_);
  if (stopped_ || askers_.size() == kMostAskers) return false;
  askers_.push_back(std::move(asker));
  wake_up_.notify_all();
  return true;
}

void LiveFeed::Mark(LiveMark mark) {
  const MutexLock lock(mutex_);
  if (new_marks_.size() < kMostMarks) new_marks_.push_back(std::move(mark));
}

size_t LiveFeed::listeners() const {
  const MutexLock lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(listeners_, [](const auto& one) { return !one.expired(); }));
}

void LiveFeed::Tick() {
  Sample sample = source_.sample();
  history_.Add(sample.row);
  ForgetState();
  TakeMarks(std::move(sample.marks));
  Listeners told;
  {
    const MutexLock lock(mutex_);
    TakeMarks(std::exchange(new_marks_, {}));
    ForgetThoseWhoLeft(listeners_);
    ForgetThoseWhoLeft(joining_);
    // Leaves out the listeners in joining_: Serve sends them the state, whose history includes this tick.
    std::ranges::copy_if(listeners_, std::back_inserter(told), [this](const auto& one) WEIR_REQUIRES(mutex_) {
      return std::ranges::none_of(joining_, [&one](const auto& joining) { return joining.lock() == one.lock(); });
    });
  }
  if (!told.empty()) Tell(told, "tick", Json(false));
}

void LiveFeed::TakeMarks(std::vector<LiveMark> marks) {
  for (LiveMark& mark : marks) marks_.push_back(std::move(mark));
  while (marks_.size() > kMostMarks) marks_.pop_front();
}

void LiveFeed::ForgetState() {
  state_.reset();
  json_.reset();
}

void LiveFeed::Serve() {
  Listeners joining;
  std::vector<Asker> askers;
  std::vector<LiveMark> marks;
  {
    const MutexLock lock(mutex_);
    std::swap(joining, joining_);
    std::swap(askers, askers_);
    std::swap(marks, new_marks_);
  }
  if (!marks.empty()) ForgetState();  // so that the client that changed a setting sees its mark
  TakeMarks(std::move(marks));
  if (!joining.empty()) Tell(joining, "state", *StateJson());
  if (askers.empty()) return;
  const LiveMoment moment{State(), history_[history_.size() - 1], marks_, [this] { return StateJson(); }};
  for (const Asker& asker : askers) asker(moment);
}

const LiveState& LiveFeed::State() {
  if (state_) return *state_;
  if (history_.size() == 0) Tick();
  rates_.Begin(clock_.Now());
  state_.emplace(source_.describe(rates_));
  state_->tables.push_back(TableOf(marks_));
  return *state_;
}

SharedText LiveFeed::StateJson() {
  if (!json_) json_ = std::make_shared<const std::string>(Json(true));
  return json_;
}

std::string LiveFeed::Json(bool with_history) {
  const LiveState& state = State();
  const LiveRow& row = history_[history_.size() - 1];
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("format").Number(1);
  json.Member("run").Number(about_.run);
  json.Member("at").Number(row.at);
  json.Member("relay").Open('{');
  json.Member("name").String(about_.name);
  json.Member("version").String(about_.version);
  json.Member("store").String(about_.store);
  json.Close('}');
  Write(state, json);
  json.Member("now");
  Write(row, json);
  json.Member("marks").Open('[');
  for (const LiveMark& mark : marks_) Write(mark, json);
  json.Close(']').Member("listeners").Number(listeners());
  if (with_history) {
    json.Member("history");
    history_.Write(json);
  }
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
