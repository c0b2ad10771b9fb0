// Attacks on the memory and the work of the limiters, by HTTP and by gRPC.
#include <algorithm>

#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/http2_bytes.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Sends numbered requests, many in one piece, as fast as the relay takes them.
std::string Requests(Arena& arena, double scale, const std::function<std::string(uint64_t number)>& request) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 16);
  uint64_t number = 0;
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) {
    std::string piece;
    for (int n = 0; n < 100; ++n) piece += request(++number);
    return piece;
  });
  return std::to_string(crowd.open()) + " still open, " + std::to_string(number) + " requests";
}

std::string Reservations(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) {
    return Post("/v1/reserve", R"({"model":"local-)" + std::to_string(n % 50) + R"(","tokens":1,"ttl_seconds":86400})");
  });
}

std::string NamedRequests(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) {
    return Post("/v1/record", R"({"model":"m","tokens":1,"user":"u)" + std::to_string(n) + R"(","idempotency_key":")" +
                                  std::string(200, 'k') + std::to_string(n) + "\"}");
  });
}

std::string Models(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) {
    return Post("/v1/reserve", R"({"model":")" + std::string(200, 'm') + std::to_string(n) + R"(","user":")" +
                                   std::string(200, 'u') + std::to_string(n) + R"(","tokens":1})");
  });
}

std::string Keys(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) { return Get("/rate/" + std::string(200, 'k') + std::to_string(n)); });
}

// HTTP/2 connections that all send the bytes of `bytes`.
std::string Connections(Arena& arena, double scale, size_t count, const std::function<std::string(size_t)>& bytes) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), Scaled(count, scale));
  crowd.SendOnce(bytes, Scaled(8s, scale), Reads::kAll);
  return std::to_string(crowd.open()) + " still open";
}

std::string KeysThatWait(Arena& arena, double scale) {
  return Connections(arena, scale, 190, [](size_t connection) {
    std::string all = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "");
    for (uint32_t n = 0; n < 128; ++n) {
      const std::string key = "k" + std::to_string(connection % 10);
      all += Http2Frame(kHeaders, kWholeRequest, 2 * n + 1, HeaderBlock("/rate/" + key + "?canWait"));
    }
    return all;
  });
}

// Requests that wait for their turn, and leave before it comes.
std::string KeysThatLeave(Arena& arena, double scale) {
  std::string all = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "");
  for (uint32_t n = 0; n < 127; ++n)
    all += Http2Frame(kHeaders, kWholeRequest, 2 * n + 1, HeaderBlock("/rate/one?canWait"));
  return ComeAgain(arena, scale, all);
}

// 100 addresses ask for the pages and read nothing.
std::string Unread(Arena& arena, double scale, const std::vector<std::string>& targets) {
  Crowd crowd = Crowd::Plain(
      arena.port(), [](size_t n) { return StrangerAddress(n); }, 100);
  std::string all;
  for (int n = 0; n < 20; ++n)
    for (const std::string& target : targets) all += Get(target, Authorization(arena));
  crowd.SendOnce([&](size_t) { return all; }, Scaled(8s, scale), Reads::kNothing);
  return std::to_string(crowd.open()) + " still open";
}

std::string UnreadPages(Arena& arena, double scale) {
  const std::string keys = Requests(arena, scale / 4, [](uint64_t n) {
    std::string key;
    for (int byte = 0; byte < 150; ++byte) key += "%01";
    return Get("/rate/" + key + std::to_string(n % 1000)) + Get("/queue/" + std::to_string(n % 1000)) +
           Post("/v1/record", R"({"model":"m)" + std::to_string(n % 1000) + R"(","tokens":1})");
  });
  return keys + "; " +
         Unread(arena, scale, {"/debug", "/debug/endpoints", "/v1/models", "/live/state", "/metrics", "/api/metrics"});
}

// Each request adds an entry to a window, for 2,000 users and 5 models.
std::string WindowEntries(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) {
    return Post("/v1/record", R"({"model":"m)" + std::to_string(n % 5) + R"(","user":"u)" + std::to_string(n % 2000) +
                                  R"(","tokens":1})");
  });
}

std::string Descriptors(Arena& arena, double scale) {
  return Requests(arena, scale, [](uint64_t n) {
    std::string body = R"({"domain":"edge","descriptors":[)";
    for (int k = 0; k < 10; ++k)
      body += std::string(k == 0 ? "" : ",") + R"({"entries":[{"key":"customer","value":")" + std::string(400, 'c') +
              std::to_string(10 * n + static_cast<uint64_t>(k)) + "\"}]}";
    return Post("/json", body + "]}");
  });
}

constexpr std::string_view kWindows = R"(quota:
  models:
    m0: {max_rpm: 1000000, max_tpm: 100000000, max_rpd: 0}
  tiers:
    default:
      user_model: [{requests: 1000000, per: 1h}, {tokens: 50000000, per: 7d}]
endpoints:
  - {path: /queue, rate: 1000000, unit: rps, algorithm: strict}
)";
constexpr std::string_view kEnvoy = R"(domain: edge
descriptors:
  - key: customer
    rate_limit: {unit: day, requests_per_unit: 10}
)";

// Watches whose answers have no window.
std::string Watches(Arena& arena, double scale) {
  return Connections(arena, scale, 190, [](size_t connection) {
    std::string all(kHttp2Preface);
    all += Http2Frame(kSettings, 0, 0, std::string("\0\4\0\0\0\0", 6));
    for (uint32_t n = 0; n < 64; ++n) {
      const std::string model = "m" + std::to_string(connection) + "-" + std::to_string(n);
      all += Http2Frame(kHeaders, kEndsHeaders, 4 * n + 1, GrpcBlock("/weir.v1.Quota/Watch"));
      all += Http2Frame(kData, kEndsStream, 4 * n + 1, GrpcBytes(ProtoText(1, model)));
      all += Http2Frame(kHeaders, kEndsHeaders, 4 * n + 3, GrpcBlock("/grpc.health.v1.Health/Watch"));
      all += Http2Frame(kData, kEndsStream, 4 * n + 3, GrpcBytes(""));
    }
    return all;
  });
}

// Calls on connections that come again and again: each sends as much as it may before the server reads any of it.
std::string Calls(Arena& arena, double scale, std::string_view path, const std::vector<std::string>& bodies) {
  constexpr size_t kWindowBytes = 65'535;
  std::string all = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "");
  size_t body_bytes = 0;
  for (uint32_t n = 0; n < 128; ++n) {
    const std::string& body = bodies[n % bodies.size()];
    body_bytes += body.size();
    if (body_bytes > kWindowBytes) break;
    all += Http2Frame(kHeaders, kEndsHeaders, 2 * n + 1, GrpcBlock(path));
    all += Http2Frame(kData, kEndsStream, 2 * n + 1, body);
  }
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  size_t connections = 0;
  while (std::chrono::steady_clock::now() < end) {
    Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 32);
    crowd.SendOnce([&](size_t) { return all; }, 100ms, Reads::kAll);
    connections += crowd.open();
  }
  return std::to_string(connections) + " connections";
}

std::string NoMessages(Arena& arena, double scale) {
  const std::string garbage(1000, '\xff');
  return Calls(arena, scale, "/weir.v1.Quota/Decide",
               {GrpcBytes(garbage), GrpcBytes("", UINT32_MAX), GrpcBytes(garbage, 1000, 1), GrpcBytes(garbage, 10),
                std::string(3, '\0'), GrpcBytes(ProtoText(1, std::string(8'000, 'm'))), ""});
}

std::string Reflection(Arena& arena, double scale) {
  std::string questions;
  for (const int number : {3, 4, 6, 7}) questions += GrpcBytes(ProtoText(number, std::string(200, 's')));
  std::string files;
  for (int n = 0; n < 20; ++n) files += GrpcBytes(ProtoText(4, "weir.v1.Quota"));
  return Calls(arena, scale, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", {questions, files});
}

// Messages that never end, a byte at a time.
std::string EndlessMessages(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 64);
  std::vector<uint32_t> pieces(crowd.size());
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t i) {
    std::string piece;
    if (pieces[i]++ == 0) {
      piece = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "");
      for (uint32_t n = 0; n < 128; ++n) {
        piece += Http2Frame(kHeaders, kEndsHeaders, 2 * n + 1, GrpcBlock("/weir.v1.Quota/Decide"));
        piece += Http2Frame(kData, 0, 2 * n + 1, GrpcBytes("", 65'000));
      }
      return piece;
    }
    for (uint32_t n = 0; n < 128; ++n) piece += Http2Frame(kData, 0, 2 * n + 1, "x");
    return pieces[i] < 200 ? piece : std::string();
  });
  return std::to_string(crowd.open()) + " still open";
}

}  // namespace

std::vector<Attack> LimiterAttacks() {
  // The limiters' own bounds, so low that everything they hold stays within the bound of one attacker.
  const std::vector<std::string> open = {"WEIR_QUOTA_API=all",
                                         "WEIR_KEYED_API=all",
                                         "WEIR_QUOTA_MAX_MODELS=20000",
                                         "WEIR_QUOTA_MAX_TIER_KEYS=50000",
                                         "WEIR_QUOTA_MAX_RESERVATIONS=50000",
                                         "WEIR_KEYED_MAX_KEYS=100000",
                                         "WEIR_KEYED_MAX_WAITING=10000",
                                         "WEIR_RATELIMIT_API=all",
                                         "WEIR_RATELIMIT_MAX_MIB=32",
                                         "WEIR_QUEUED_API=all"};
  const auto counted = [&](std::string_view name, std::string_view does, auto run) {
    return Attack{.name = name, .does = does, .settings = open, .run = run, .is_counted = true};
  };
  const auto held = [&](std::string_view name, std::string_view does, auto run) {
    return Attack{.name = name, .does = does, .settings = open, .run = run};
  };
  const auto with_limits = [&](std::string_view name, std::string_view does, std::string_view limits,
                               const std::string& setting, auto run) {
    Attack attack = counted(name, does, run);
    attack.config = limits;
    attack.settings.push_back(setting);
    return attack;
  };
  Attack unread = with_limits("unread_pages", "100 addresses of an administrator ask for long pages and read nothing",
                              kWindows, "WEIR_CONFIG={dir}/config/limits.yaml", UnreadPages);
  unread.most_mb = kMostOfAllMb;
  return {
      counted("reservations", "reservations for a day, of 50 models, that nobody settles", Reservations),
      counted("named_requests", "records with an idempotency key and a user of their own", NamedRequests),
      counted("models", "reservations of models and users that nobody has heard of", Models),
      counted("keys", "requests of keys that nobody has heard of", Keys),
      with_limits("window_entries", "records of 2,000 users and 5 models, each an entry of a window", kWindows,
                  "WEIR_CONFIG={dir}/config/limits.yaml", WindowEntries),
      with_limits("descriptors", "requests of Envoy with 10 descriptors that nobody has heard of", kEnvoy,
                  "WEIR_RATELIMIT_CONFIG={dir}/config", Descriptors),
      unread,
      held("keys_that_leave", "32 connections at a time of requests that wait and leave", KeysThatLeave),
      held("keys_that_wait", "190 connections of 128 requests that wait for their turn", KeysThatWait),
      held("watches", "190 connections of 128 watches whose answers have no window", Watches),
      held("no_messages", "32 connections at a time of gRPC messages that are none", NoMessages),
      held("endless_messages", "64 connections of 128 messages that come by the byte and never end", EndlessMessages),
      held("reflection", "32 connections at a time that ask the server to describe itself", Reflection),
  };
}

}  // namespace weir
