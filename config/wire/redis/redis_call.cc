#include "config/wire/redis/redis_call.h"

#include <array>
#include <charconv>

namespace weir {
namespace {

void AppendLength(char kind, size_t length, std::string* to) {
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), length);
  *to += kind;
  to->append(digits.data(), end);
  *to += "\r\n";
}

struct Advice {
  std::string_view kind;
  std::string_view what;
};
constexpr std::array<Advice, 12> kAdvice = {{
    {"OOM", "its memory is full: give it more (maxmemory), or take other keys out of it"},
    {"NOAUTH", "it asks for a password: give it in the store's URL"},
    {"WRONGPASS", "the user or the password in the store's URL is wrong"},
    {"NOPERM",
     "its user must be allowed the keys of the prefix, and the commands of scripts, strings, hashes, sorted sets"},
    {"LOADING", "it is still reading its data after a start, and will answer soon"},
    {"READONLY", "it is a replica: the store's URL must name the master, or the sentinels"},
    {"MASTERDOWN", "it is a replica that has lost its master"},
    {"CLUSTERDOWN", "a part of the cluster has no master"},
    {"BUSY", "another program's script keeps it busy: SCRIPT KILL ends it"},
    {"MISCONF", "it cannot save its data, and so takes no more: see its log"},
    {"NOREPLICAS", "it has fewer replicas than it must have"},
    {"WRONGTYPE", "something else is kept under the keys of the prefix: choose another prefix"},
}};

}  // namespace

std::string DescribeError(const redisReply& reply) {
  std::string text(TextOf(reply));
  for (const Advice& advice : kAdvice)
    if (IsError(reply, advice.kind)) return text + "; " + std::string(advice.what);
  return text;
}

bool IsError(const redisReply& reply, std::string_view kind) {
  if (!IsError(reply)) return false;
  const std::string_view text = TextOf(reply);
  return text.starts_with(kind) && (text.size() == kind.size() || text[kind.size()] == ' ');
}

bool IsKeyOnItsWay(const redisReply& reply) {
  return IsError(reply, "ERR") && TextOf(reply).find("non local key") != std::string_view::npos;
}

std::string FormatRedisCommand(std::span<const std::string_view> words) {
  static constexpr size_t kAroundWord = 12;
  size_t size = kAroundWord;
  for (const std::string_view word : words) size += word.size() + kAroundWord;
  std::string command;
  command.reserve(size);
  AppendLength('*', words.size(), &command);
  for (const std::string_view word : words) {
    AppendLength('$', word.size(), &command);
    command += word;
    command += "\r\n";
  }
  return command;
}

}  // namespace weir
