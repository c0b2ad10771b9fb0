#include "config/wire/redis/redis_core.h"

#include <algorithm>

#include "config/wire/redis/redis_lua.h"
#include "config/wire/redis/redis_stream.h"

namespace weir {
namespace {

// The deadline of AskAll, in timeouts: its commands read or change many keys, so the server takes longer for them.
constexpr int kPatience = 4;
// A connection ends if the server sends nothing for this many timeouts while calls wait.
constexpr int kSilence = 4;

std::vector<std::string> WithProbe(std::vector<std::string> load_scripts) {
  load_scripts.push_back(LoadRedisScript(RedisProbeScript()));
  return load_scripts;
}

// The topology of one server, which has all keys.
class StandaloneTopology final : public RedisTopology {
 public:
  StandaloneTopology(RedisLoop& loop, const RedisEndpoint& endpoint, const RedisServerOptions& servers)
      : server_(std::make_shared<RedisServer>(loop, endpoint.addresses, servers, nullptr)) {}

  void Send(RedisCallPtr call) override { server_->Send(std::move(call)); }
  void FindMasters(TimePoint /*deadline*/, std::function<void(Result<Servers>)> done) override {
    done(Servers{server_});
  }
  RedisTopologyHealth Health() const override {
    return {
        .breaker = server_->breaker(),
        .reconnects = server_->reconnects(),
        .writes = server_->writes(),
        .warning = server_->warning(),
        .problem = server_->problem(),
    };
  }

 private:
  std::shared_ptr<RedisServer> server_;
};

std::unique_ptr<RedisTopology> MakeTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                            const RedisServerOptions& servers) {
  switch (endpoint.kind) {
    case RedisEndpoint::Kind::kSentinel:
      return MakeSentinelTopology(loop, endpoint, servers);
    case RedisEndpoint::Kind::kCluster:
      return MakeClusterTopology(loop, endpoint, servers);
    case RedisEndpoint::Kind::kStandalone:
      break;
  }
  return std::make_unique<StandaloneTopology>(loop, endpoint, servers);
}

}  // namespace

RedisCore::RedisCore(const RedisEndpoint& endpoint, const RedisClientOptions& options,
                     std::vector<std::string> load_scripts, std::function<void()> on_well)
    : timeout_(options.timeout),
      servers_{.connection = {.user = endpoint.user,
                              .password = endpoint.password,
                              .database = endpoint.database,
                              .tls = nullptr,
                              .connect_timeout = options.connect_timeout,
                              .silence = kSilence * options.timeout,
                              .prelude = WithProbe(std::move(load_scripts)),
                              .reply = options.reply,
                              .checks_server = true},
               .timeout = options.timeout,
               .probe = FormatRedisCommand({"EVALSHA", RedisScriptSha(RedisProbeScript()), "0"}),
               .breaker_failures = options.breaker_failures,
               .retry_first = options.retry_first,
               .retry_longest = options.retry_longest},
      on_well_(std::move(on_well)),
      check_first_(options.retry_first),
      check_longest_(options.retry_longest),
      check_pause_(options.retry_first) {
  if (endpoint.tls) {
    Result<std::shared_ptr<RedisTls>> tls = RedisTls::Make(options);
    if (!tls.ok()) {
      problem_ = tls.status().message();
      return;
    }
    servers_.connection.tls = std::move(tls).value();
  }
  loop_.Call([&] {
    topology_ = MakeTopology(loop_, endpoint, servers_);
    check_timer_.emplace(loop_);
  });
}

RedisCore::~RedisCore() {
  loop_.Call([this] {
    Drain();
    check_timer_.reset();
    topology_.reset();
    problem_ = "the store is closed";
    Drain();  // calls that were submitted by the callbacks of the calls above
  });
}

void RedisCore::Submit(Command command, std::function<void(RedisOutcome)> done, RedisCall::Late late) {
  auto call = std::make_unique<RedisCall>();
  call->command = std::move(command.text);
  call->slot = command.slot;
  call->deadline = loop_.Now() + timeout_;
  call->done = std::move(done);
  call->late = std::move(late);
  {
    const MutexLock lock(mutex_);
    inbox_.push_back(std::move(call));
    if (inbox_.size() > 1) return;  // the first call in inbox_ has posted Drain
  }
  loop_.InLoop() ? loop_.AtEndOfTurn([this] { Drain(); }) : loop_.Post([this] { Drain(); });
}

void RedisCore::Drain() {
  std::vector<RedisCallPtr> calls;
  {
    const MutexLock lock(mutex_);
    calls.swap(inbox_);
  }
  for (RedisCallPtr& call : calls) Send(std::move(call));
}

void RedisCore::Send(RedisCallPtr call) {
  if (topology_) return topology_->Send(std::move(call));
  RedisCall::Answer(std::move(call), {.problem = problem_});
}

std::vector<RedisOutcome> RedisCore::AskAll(std::vector<Command> commands) {
  // The state is shared, because the loop may still be in the task below when the last outcome has let AskAll return.
  struct Asked {
    explicit Asked(size_t count) : outcomes(count), left(count) {}

    Mutex mutex;
    Condition changed;
    std::vector<RedisOutcome> outcomes WEIR_GUARDED_BY(mutex);
    size_t left WEIR_GUARDED_BY(mutex);
  };
  auto asked = std::make_shared<Asked>(commands.size());
  const TimePoint deadline = loop_.Now() + kPatience * timeout_;
  loop_.Post([this, asked, deadline, commands = std::move(commands)] {
    for (size_t i = 0; i < commands.size(); ++i) {
      auto call = std::make_unique<RedisCall>();
      call->command = commands[i].text;
      call->slot = commands[i].slot;
      call->deadline = deadline;
      call->done = [asked, i](RedisOutcome outcome) {
        const MutexLock lock(asked->mutex);
        asked->outcomes[i] = std::move(outcome);
        if (--asked->left == 0) asked->changed.notify_one();
      };
      Send(std::move(call));
    }
  });
  MutexLock lock(asked->mutex);
  asked->changed.wait(lock, [&]() WEIR_REQUIRES(asked->mutex) { return asked->left == 0; });
  return std::move(asked->outcomes);
}

RedisOutcome RedisCore::Ask(Command command) {
  std::vector<Command> commands;
  commands.push_back(std::move(command));
  return std::move(AskAll(std::move(commands)).front());
}

// --- Checks whether all servers answer again

void RedisCore::CheckSoon() {
  loop_.Post([this] { ArmCheck(); });
}

void RedisCore::ArmCheck() {
  if (!check_timer_ || std::exchange(checking_, true)) return;
  check_timer_->After(check_pause_, [this] { Check(); });
  check_pause_ = std::min(2 * check_pause_, check_longest_);
}

void RedisCore::Check() {
  topology_->FindMasters(loop_.Now() + timeout_,
                         [this](const Result<RedisTopology::Servers>& masters) { OnMasters(masters); });
}

void RedisCore::OnMasters(const Result<RedisTopology::Servers>& masters) {
  struct Probes {
    size_t left = 0;
    bool well = true;
  };
  if (!masters.ok() || masters.value().empty()) return OnChecked(false);
  const auto probes = std::make_shared<Probes>();
  probes->left = masters.value().size();
  for (const std::shared_ptr<RedisServer>& server : masters.value()) {
    auto call = std::make_unique<RedisCall>();
    call->command = servers_.probe;
    call->deadline = loop_.Now() + timeout_;
    call->done = [this, probes](const RedisOutcome& outcome) {
      if (!outcome.answered() || IsError(*outcome.reply)) probes->well = false;
      if (--probes->left == 0) OnChecked(probes->well);
    };
    server->Send(std::move(call));
  }
}

void RedisCore::OnChecked(bool well) {
  checking_ = false;
  if (!well) return ArmCheck();
  check_pause_ = check_first_;
  on_well_();
}

RedisTopologyHealth RedisCore::ServersHealth() const {
  RedisTopologyHealth health{.breaker = RedisBreaker::State::kOpen};
  loop_.Call([&] {
    if (topology_) health = topology_->Health();
  });
  return health;
}

}  // namespace weir
