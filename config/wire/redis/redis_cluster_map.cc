#include "config/wire/redis/redis_cluster_map.h"

#include <charconv>
#include <string>
#include <utility>

#include "config/wire/redis/redis_slot.h"

namespace weir {

namespace {

constexpr int64_t kLastPort = 65535;
constexpr int64_t kLastSlot = kRedisSlots - 1;

bool IsArray(const redisReply& reply, size_t elements) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements >= elements;
}

bool IsInteger(const redisReply& reply, int64_t first, int64_t last) {
  return reply.type == REDIS_REPLY_INTEGER && reply.integer >= first && reply.integer <= last;
}

// Reads [host, port, id, …] into *address. Returns false if the reply has another form.
bool ReadNode(const redisReply& node, const RedisAddress& asked, RedisAddress* address) {
  if (!IsArray(node, 2) || !IsInteger(*node.element[1], 0, kLastPort)) return false;
  const redisReply& host = *node.element[0];
  address->port = static_cast<uint16_t>(node.element[1]->integer);
  if (host.type == REDIS_REPLY_NIL || (host.type == REDIS_REPLY_STRING && host.len == 0)) {
    address->host = asked.host;
    return true;
  }
  address->host = host.type == REDIS_REPLY_STRING ? std::string(host.str, host.len) : "";
  return host.type == REDIS_REPLY_STRING;
}

std::string_view CutWord(std::string_view* text) {
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(std::min(word.size() + 1, text->size()));
  return word;
}

bool ReadNumber(std::string_view text, int64_t last, uint16_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number <= last;
}

}  // namespace

Result<std::vector<RedisSlotRange>> ParseClusterSlots(const redisReply& reply, const RedisAddress& asked) {
  const auto strange = [] { return Status::Error("its answer to CLUSTER SLOTS is not that of a Redis Cluster"); };
  if (reply.type == REDIS_REPLY_ERROR) return Status::Error(std::string(reply.str, reply.len));
  if (!IsArray(reply, 0)) return strange();
  std::vector<RedisSlotRange> ranges;
  for (size_t i = 0; i < reply.elements; ++i) {
    const redisReply& range = *reply.element[i];
    if (!IsArray(range, 3) || !IsInteger(*range.element[0], 0, kLastSlot) ||
        !IsInteger(*range.element[1], range.element[0]->integer, kLastSlot)) {
      return strange();
    }
    RedisSlotRange read{.first = static_cast<uint16_t>(range.element[0]->integer),
                        .last = static_cast<uint16_t>(range.element[1]->integer)};
    if (!ReadNode(*range.element[2], asked, &read.master)) return strange();
    if (read.master.host != "?" && read.master.port != 0) ranges.push_back(std::move(read));
  }
  if (ranges.empty()) return Status::Error("it knows of no slots: is the cluster not formed yet?");
  return ranges;
}

std::optional<RedisRedirection> ParseRedirection(std::string_view error, const RedisAddress& asked) {
  RedisRedirection redirection;
  const std::string_view kind = CutWord(&error);
  redirection.ask = kind == "ASK";
  if (!redirection.ask && kind != "MOVED") return std::nullopt;
  if (!ReadNumber(CutWord(&error), kLastSlot, &redirection.slot)) return std::nullopt;
  const std::string_view address = CutWord(&error);
  const size_t colon = address.rfind(':');  // an IPv6 address has no brackets here
  if (colon == std::string_view::npos || !ReadNumber(address.substr(colon + 1), kLastPort, &redirection.to.port) ||
      redirection.to.port == 0) {
    return std::nullopt;
  }
  redirection.to.host = colon == 0 ? asked.host : std::string(address.substr(0, colon));
  if (redirection.to.host == "?") return std::nullopt;
  return redirection;
}

}  // namespace weir
