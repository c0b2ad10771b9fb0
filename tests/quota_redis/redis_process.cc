#include "tests/quota_redis/redis_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/quota_redis/certificates.h"

namespace weir {

namespace {

// A port that nobody listens on, below those that the kernel gives to clients: a client that asks for a server which is
// down would be given the very port and talk to itself.
uint16_t FreePort() {
  static std::mt19937 random{std::random_device{}()};
  for (;;) {
    const auto port = static_cast<uint16_t>(std::uniform_int_distribution<int>(12000, 32000)(random));
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(socket);
    if (bound == 0) return port;
  }
}

bool InPath(const std::string& program) {
  std::stringstream path(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string directory; std::getline(path, directory, ':');) {
    if (::access((std::filesystem::path(directory) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Debian's redis-tools alone has the server too, under another name: it goes by how it is called.
std::string Program(const TempDirectory& directory) {
  if (InPath("redis-server")) return "redis-server";
  std::string link = directory / "redis-server";
  if (!std::filesystem::exists(link)) std::filesystem::create_symlink("/usr/bin/redis-check-rdb", link);
  return link;
}

}  // namespace

RedisProcess::RedisProcess(RedisProcessOptions options) : options_(std::move(options)) {
  if (options_.tls && options_.certificates.empty()) MakeCertificates(directory_.path());
  for (int attempt = 0; attempt < 10; ++attempt) {  // another may take the port first
    port_ = FreePort();
    command_port_ = options_.tls ? FreePort() : port_;
    bus_port_ = FreePort();
    client_ = std::make_unique<RedisClient>(command_port_, options_.user, options_.password);
    WriteConfig();
    Launch();
    if (ComesUp()) return;
    Kill();
  }
  throw std::runtime_error("redis-server does not start:\n" + Log());
}

RedisProcess::~RedisProcess() { Kill(); }

void RedisProcess::WriteConfig() {
  using Kind = RedisProcessOptions::Kind;
  std::ofstream file(directory_ / "redis.conf");
  file << "bind 127.0.0.1\nprotected-mode no\ndaemonize no\ndir " << directory_.path() << "\nport " << command_port_
       << "\n";
  if (options_.tls) {
    file << "tls-port " << port_ << "\ntls-auth-clients no\ntls-cert-file " << certificates() << "/server.crt\n"
         << "tls-key-file " << certificates() << "/server.key\ntls-ca-cert-file " << certificates() << "/ca.crt\n";
  }
  if (!options_.password.empty() && options_.user.empty()) file << "requirepass " << options_.password << "\n";
  if (options_.kind != Kind::kSentinel) {
    file << "save \"\"\nappendonly no\nenable-debug-command local\nrepl-diskless-sync-delay 0\n"
         << "repl-ping-replica-period 1\n";
    if (!options_.password.empty()) file << "masterauth " << options_.password << "\n";
    if (!options_.password.empty() && !options_.user.empty()) file << "masteruser " << options_.user << "\n";
  }
  if (options_.kind == Kind::kClusterNode) {
    file << "cluster-enabled yes\ncluster-port " << bus_port_ << "\ncluster-require-full-coverage no\n"
         << (options_.tls ? "tls-cluster yes\n" : "");
  }
  if (options_.replica_of != 0) file << "replicaof 127.0.0.1 " << options_.replica_of << "\n";
  for (const std::string& line : options_.config) file << line << "\n";
}

void RedisProcess::Launch() {
  const std::string program = Program(directory_);
  const std::string config = directory_ / "redis.conf";
  std::vector<char*> arguments{const_cast<char*>(program.c_str()), const_cast<char*>(config.c_str())};
  if (options_.kind == RedisProcessOptions::Kind::kSentinel) arguments.push_back(const_cast<char*>("--sentinel"));
  arguments.push_back(nullptr);
  const int log = ::open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(log);
  if (pid_ < 0) throw std::runtime_error("no process for redis-server");
}

bool RedisProcess::ComesUp() {
  return Eventually([this] {
           int status = 0;
           if (::waitpid(pid_, &status, WNOHANG) == pid_) {
             pid_ = -1;
             return true;
           }
           // Another's server may have the port.
           return Info("server", "process_id") == std::to_string(pid_);
         }) &&
         running();
}

std::string RedisProcess::Info(const std::string& section, std::string_view field) {
  return Command({"INFO", section}).Field(field);
}

std::string RedisProcess::Log() const {
  std::ifstream file(directory_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

void RedisProcess::Reap() {
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  client_->Close();
}

void RedisProcess::Stop() {
  if (!running()) return;
  Command({"SHUTDOWN", "SAVE"});
  Reap();
}

void RedisProcess::Kill() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  Reap();
}

void RedisProcess::Pause() {
  ::kill(pid_, SIGSTOP);
  ::waitpid(pid_, nullptr, WUNTRACED);
}

void RedisProcess::Resume() { ::kill(pid_, SIGCONT); }

void RedisProcess::Start() {
  Launch();
  if (!ComesUp()) throw std::runtime_error("redis-server does not start again:\n" + Log());
}

void RedisProcess::Restart(Data data) {
  if (data == Data::kKept) {
    Stop();
  } else {
    Kill();
    std::filesystem::remove(directory_ / "dump.rdb");
  }
  Start();
}

}  // namespace weir
