// Tests of the fixtures that the other tests of this folder rely on.
#include "tests/fixtures/redis_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/throttle/limits/quota/redis/cluster_servers.h"
#include "tests/throttle/limits/quota/redis/sentinel_group.h"

namespace weir {
namespace {

TEST(RedisProcess, AnswersAndKeepsDataOverARestart) {
  RedisProcess server;
  EXPECT_EQ(server.Command({"PING"}).text, "PONG");
  EXPECT_TRUE(server.Command({"SET", "a", std::string("b\0c", 3)}).ok());
  server.Restart(RedisProcess::Data::kKept);
  EXPECT_EQ(server.Command({"GET", "a"}).text, std::string("b\0c", 3));
  server.Restart(RedisProcess::Data::kEmpty);
  EXPECT_EQ(server.Command({"GET", "a"}).kind, RedisAnswer::Kind::kNil);
}

TEST(RedisProcess, IsGoneWhenKilledAndBackAtTheSamePort) {
  RedisProcess server;
  const uint16_t port = server.port();
  server.Kill();
  EXPECT_EQ(server.Command({"PING"}).kind, RedisAnswer::Kind::kNone);
  server.Start();
  EXPECT_EQ(server.port(), port);
  EXPECT_EQ(RedisClient(port).Command({"PING"}).text, "PONG");
}

TEST(RedisProcess, GoesOnAfterAPause) {
  RedisProcess server;
  server.Pause();
  server.Resume();
  EXPECT_EQ(server.Command({"PING"}).text, "PONG");
}

TEST(RedisProcess, RefusesWithoutThePassword) {
  RedisProcess server({.password = "secret"});
  EXPECT_EQ(server.Command({"PING"}).text, "PONG");
  EXPECT_TRUE(RedisClient(server.port()).Command({"PING"}).text.starts_with("NOAUTH"));
}

TEST(RedisProcess, EndsWithTheProcessThatStartedIt) {
  const TempDirectory directory;  // the child leaves its files here
  int ports[2];
  ASSERT_EQ(::pipe(ports), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("TMPDIR", directory.path().c_str(), 1);
    RedisProcess server;
    const uint16_t port = server.port();
    const ssize_t written = ::write(ports[1], &port, sizeof port);
    ::kill(::getpid(), written == sizeof port ? SIGKILL : SIGABRT);
  }
  uint16_t port = 0;
  ASSERT_EQ(::read(ports[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return !RedisClient(port).Command({"PING"}).ok(); }));
  ::close(ports[0]);
  ::close(ports[1]);
}

TEST(SentinelGroup, ReplacesAMasterThatIsGone) {
  SentinelGroup group({.password = "secret"});
  RedisProcess& first = *group.servers()[0];
  ASSERT_EQ(group.MasterPort(), first.port());
  ASSERT_TRUE(first.Command({"SET", "a", "b"}).ok());
  ASSERT_TRUE(group.Replicated());
  first.Kill();
  ASSERT_TRUE(group.FailsOverFrom(first.port()));
  EXPECT_EQ(group.Server(group.MasterPort()).Command({"GET", "a"}).text, "b");
}

TEST(ClusterServers, EachHasAThirdOfTheSlotsAndOneCanBeMoved) {
  ClusterServers cluster;
  const int slot = cluster.SlotOf("{a}");
  const size_t from = cluster.OwnerOf(slot);
  const size_t to = (from + 1) % cluster.size();
  ASSERT_TRUE(cluster.node(from).Command({"SET", "{a}:1", "x"}).ok());
  EXPECT_TRUE(cluster.node(to).Command({"GET", "{a}:1"}).text.starts_with("MOVED"));
  cluster.BeginMove(slot, to);
  EXPECT_EQ(cluster.node(from).Command({"GET", "{a}:1"}).text, "x");
  EXPECT_TRUE(cluster.node(from).Command({"GET", "{a}:2"}).text.starts_with("ASK"));
  cluster.MoveKeys(slot, to);
  EXPECT_TRUE(cluster.node(from).Command({"GET", "{a}:1"}).text.starts_with("ASK"));
  cluster.EndMove(slot, to);
  EXPECT_TRUE(cluster.node(from).Command({"GET", "{a}:1"}).text.starts_with("MOVED"));
  EXPECT_EQ(cluster.node(to).Command({"GET", "{a}:1"}).text, "x");
}

}  // namespace
}  // namespace weir
