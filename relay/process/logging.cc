#include "relay/process/logging.h"

#include <spdlog/async.h>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>

#include "config/text/json_string.h"

namespace weir {
namespace {

// The most lines that may wait for the reader of standard error. spdlog allocates room for them at the start, about 2
// MB.
constexpr size_t kLongestQueue = 4096;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view NameOf(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::warn:
      return "warn";
    case spdlog::level::err:
      return "error";
    default:
      break;
  }
  const auto name = spdlog::level::to_string_view(level);
  return {name.data(), name.size()};
}

// A message may contain a client's text, so it is escaped.
class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string text = "{\"time\":";
    AppendTime(message, &text);
    text += ",\"level\":\"";
    text += NameOf(message.level);
    text += "\",\"message\":";
    AppendJsonString({message.payload.data(), message.payload.size()}, &text);
    text += "}\n";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonLines>(); }

 private:
  void AppendTime(const spdlog::details::log_msg& message, std::string* out) {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    out->append("\"").append(time.data(), time.size()).append("\"");
  }

  spdlog::pattern_formatter time_{"%Y-%m-%dT%H:%M:%S.%eZ", spdlog::pattern_time_type::utc, ""};
};

}  // namespace

void SetUpLogging(LogLevel level, LogFormat format) {
  const auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>();
  if (format == LogFormat::kJson) {
    sink->set_color_mode(spdlog::color_mode::never);
    sink->set_formatter(std::make_unique<JsonLines>());
  } else {
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-7l%$ %v");
  }
  spdlog::init_thread_pool(kLongestQueue, 1);
  auto logger = std::make_shared<spdlog::async_logger>("weir", sink, spdlog::thread_pool(),
                                                       spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::err);
  spdlog::set_default_logger(std::move(logger));
}

void LogAsked(const std::string& text) { spdlog::log(std::max(spdlog::level::info, spdlog::get_level()), "{}", text); }

void SetLogLevel(LogLevel level) { spdlog::default_logger_raw()->set_level(ToSpdlog(level)); }

LogLevel CurrentLogLevel() {
  for (const LogLevel level : {LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn})
    if (spdlog::default_logger_raw()->level() == ToSpdlog(level)) return level;
  return LogLevel::kError;
}

// Does not call spdlog::shutdown(), which removes the default logger while other threads may still be about to use it.
void StopLogging() { spdlog::details::registry::instance().set_tp(nullptr); }

void Declare(SettingTable& table, LogLevel& level, LogFormat& format) {
  table.Add<LogLevel>("LOG_LEVEL", &level,
                      {{"trace", LogLevel::kTrace},
                       {"debug", LogLevel::kDebug},
                       {"info", LogLevel::kInfo},
                       {"warn", LogLevel::kWarn},
                       {"error", LogLevel::kError}},
                      "least severity that is logged; debug: a line for each connection");
  table.Add<LogFormat>("LOG_FORMAT", &format, {{"text", LogFormat::kText}, {"json", LogFormat::kJson}},
                       "how a line of the log looks: text for people, or a JSON object");
}

}  // namespace weir
