#include "bench/quota/redis_process.h"

#include <hiredis/hiredis.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "bench/relay/endpoint.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

struct CloseConnection {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using OwnedReply = std::unique_ptr<redisReply, FreeReply>;
using Socket = std::unique_ptr<redisContext, CloseConnection>;

Socket ConnectTo(uint16_t port) {
  Socket socket(redisConnectWithTimeout("127.0.0.1", port, kPatience));
  if (socket == nullptr || socket->err != 0) return nullptr;
  redisSetTimeout(socket.get(), kPatience);
  return socket;
}

// Returns the server's answer to a command of one word; empty if there is none.
std::string Ask(uint16_t port, const char* word) {
  const Socket socket = ConnectTo(port);
  if (socket == nullptr) return "";
  const OwnedReply reply(static_cast<redisReply*>(redisCommand(socket.get(), word)));
  return reply == nullptr || reply->str == nullptr ? "" : std::string(reply->str, reply->len);
}

// Debian's redis-tools has the server too: the same program is the server if its name is redis-server.
std::string Program(const fs::path& directory) {
  if (std::system("command -v redis-server > /dev/null") == 0) return "redis-server";
  const fs::path link = directory / "redis-server";
  std::error_code error;
  fs::create_symlink("/usr/bin/redis-check-rdb", link, error);
  return link.string();
}

std::string WithLastWord(const std::string& script, const std::vector<std::string>& words) {
  const size_t arguments = words.size() - 3 - std::stoul(words[2]);
  std::string text = "local ARGV = {";
  for (size_t i = 1; i < arguments; ++i) text += "ARGV[" + std::to_string(i) + "], ";
  text += '"';
  for (const char c : words.back()) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\%03u", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += escaped;
  }
  return text + "\"}\n" + script;
}

// Returns the arguments in a line of MONITOR, such as `1700000000.12 [0 127.0.0.1:5000] "EVALSHA" "ab\x00"`. Returns an
// empty list if the line does not show a client's command.
std::vector<std::string> WordsOfMonitor(const std::string& line) {
  std::vector<std::string> words;
  if (line.find(" lua] ") != line.npos) return words;
  for (size_t at = line.find('"'); at != line.npos; at = line.find('"', at)) {
    std::string& word = words.emplace_back();
    for (++at; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] != '\\' || at + 1 >= line.size()) {
        word += line[at];
        continue;
      }
      const char escaped = line[++at];
      if (escaped == 'x' && at + 2 < line.size()) {
        word += static_cast<char>(std::stoi(line.substr(at + 1, 2), nullptr, 16));
        at += 2;
      } else {
        constexpr std::string_view kNames = "nrtab";
        constexpr std::string_view kBytes = "\n\r\t\a\b";
        const size_t name = kNames.find(escaped);
        word += name == kNames.npos ? escaped : kBytes[name];
      }
    }
    if (at >= line.size()) break;
    ++at;
  }
  return words;
}

}  // namespace

Result<std::unique_ptr<RedisProcess>> RedisProcess::Start(const fs::path& directory) {
  const Result<uint16_t> port = FreePort();
  if (!port.ok()) return port.status();
  const fs::path log = directory / "redis.log";
  const std::string command = "exec " + Program(directory) + " --port " + std::to_string(port.value()) +
                              " --bind 127.0.0.1 --save '' --appendonly no --dir " + directory.string();
  auto process = Process::Start(command, log);
  if (!process.ok()) return process.status();
  for (int tries = 0; tries < 500; ++tries) {
    if (Ask(port.value(), "PING") == "PONG")
      return std::unique_ptr<RedisProcess>(new RedisProcess(std::move(process).value(), port.value()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Status::Error("redis-server does not answer; is the package redis-tools installed? It said: " + LastLine(log));
}

struct EvalshaSpy::Connection {
  // Returns the script's SHA-1; empty if it is no script.
  std::string Load(const std::string& script) {
    const OwnedReply reply(
        static_cast<redisReply*>(redisCommand(asking.get(), "SCRIPT LOAD %b", script.data(), script.size())));
    return reply == nullptr || reply->type != REDIS_REPLY_STRING ? "" : std::string(reply->str, reply->len);
  }

  Socket monitor;
  Socket asking;
};

EvalshaSpy::EvalshaSpy(uint16_t port) : connection_(new Connection{ConnectTo(port), ConnectTo(port)}) {
  if (connection_->monitor != nullptr)
    const OwnedReply monitoring(static_cast<redisReply*>(redisCommand(connection_->monitor.get(), "MONITOR")));
}
EvalshaSpy::~EvalshaSpy() = default;

Result<std::vector<std::string>> EvalshaSpy::Words() {
  if (connection_->monitor == nullptr || connection_->asking == nullptr)
    return Status::Error("redis-server does not answer");
  void* reply = nullptr;
  std::vector<std::string> scripts;
  while (redisGetReply(connection_->monitor.get(), &reply) == REDIS_OK) {
    const OwnedReply line(static_cast<redisReply*>(reply));
    std::vector<std::string> words = WordsOfMonitor(line->str == nullptr ? "" : line->str);
    if (words.size() == 3 && words[0] == "SCRIPT") scripts.push_back(words[2]);
    if (words.size() < 4 || words[0] != "EVALSHA") continue;
    for (const std::string& script : scripts) {
      if (connection_->Load(script) != words[1]) continue;
      words[1] = connection_->Load(WithLastWord(script, words));
      words.pop_back();
      return words;
    }
    return Status::Error("redis-server does not show the script");
  }
  return Status::Error("redis-server shows no EVALSHA");
}

}  // namespace weir
