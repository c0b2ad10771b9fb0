#include <memory>
#include <utility>

#include "config/wire/redis/redis_topology.h"

namespace weir {
namespace {

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

}  // namespace

std::unique_ptr<RedisTopology> MakeStandaloneTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                      const RedisServerOptions& servers) {
  return std::make_unique<StandaloneTopology>(loop, endpoint, servers);
}

}  // namespace weir
