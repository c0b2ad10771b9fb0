#include "relay/running/attachment.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "config/settings.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/admin/admin.h"
#include "relay/process/lock_file.h"

namespace weir {
namespace {

// Returns true if the text is not empty and has only characters that are safe in a request header.
bool IsToken(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "0123456789abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~+/=") == text.npos;
}

Result<std::string> ReadTokenFile(const std::string& path) {
  constexpr size_t kMostBytes = 4096;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return Status::Error("cannot read " + Printable(path) + ": " + std::strerror(errno));
  std::array<char, kMostBytes> bytes{};
  const std::string text(bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get()));
  const std::string token(TrimBlanks(text));
  if (!IsToken(token)) return Status::Error(Printable(path) + " holds no token");
  return token;
}

std::string DatabaseOf(const RelayConfiguration& configuration) { return configuration.data_dir + "/events"; }

Result<std::string> WhereItIs(const RelayConfiguration& configuration) {
  const std::string& data_dir = configuration.data_dir;
  if (!IsEmbedded(configuration.storage)) return OwnUrl(configuration.server);
  const std::optional<LockHolder> holder = HolderOf(DatabaseOf(configuration));
  if (!holder)
    return Status::Error("no relay runs on the data directory " + AsText(data_dir) +
                         "; name its directory by --data-dir, or its address by --url");
  if (holder->address.empty())
    return Status::Error(AsText(data_dir) + " is in use by " + AsText(Describe(*holder)) + ", which is no relay");
  return holder->address;
}

Result<std::string> TokenFor(const std::string& url, const RelayConfiguration& configuration,
                             const AttachOptions& options) {
  if (!options.token_file.empty()) return ReadTokenFile(options.token_file);
  if (options.url.empty()) return FindAdminToken(configuration.data_dir);
  if (!options.admin_token.empty() && !IsToken(options.admin_token))
    return Status::Error("WEIR_ADMIN_TOKEN is no token");
  if (!options.admin_token.empty()) return options.admin_token;
  return FindAdminTokenFor(url, configuration.data_dir);
}

std::string Advice(const Result<std::string>& token, const RelayConfiguration& configuration,
                   const AttachOptions& options) {
  if (!token.ok())
    return "No token was shown: " + token.status().message() +
           "; --token-file names a file with it, or --data-dir the relay's directory.";
  if (!options.token_file.empty())
    return "The token is that of " + AsText(options.token_file) +
           ", which is read again each time: put there what is in admin.token in the relay's data directory.";
  if (!options.url.empty() && !options.admin_token.empty())
    return "The token is WEIR_ADMIN_TOKEN, and each start of a relay makes a new one: --token-file names a file with "
           "the token, which is read again each time.";
  return "The token is that of " + AsText(AdminTokenPath(configuration.data_dir)) + ", which is read again each time.";
}

}  // namespace

void AddTo(CommandLine& line, AttachOptions& options) {
  line.Add("--url", &options.url,
           "the relay, such as http://127.0.0.1:3334 or https://relay.example (default: the one that uses the data "
           "directory)")
      .Check("URL", [](const std::string& url) { return ParseServerUrl(url).status(); });
  line.Add("--token-file", &options.token_file,
           "a file with the token (default: admin.token in the data directory; with --url, WEIR_ADMIN_TOKEN if it is "
           "set)");
  line.AddSetting("--data-dir", "DATA_DIR", "the relay's data directory, instead of WEIR_DATA_DIR");
}

Status LoadSettings(const CommandLine& line, AttachOptions* options, RelayConfiguration* configuration) {
  SettingTable table;
  table.AddSecret("ADMIN_TOKEN", &options->admin_token, "shown to the relay that --url names");
  return LoadRelayConfiguration(table, ProcessEnvironment(), line.settings(), configuration);
}

bool NoRelayRuns(const RelayConfiguration& configuration, const AttachOptions& options) {
  return options.url.empty() && IsEmbedded(configuration.storage) && !HolderOf(DatabaseOf(configuration));
}

Result<Attachment> FindAttachment(const RelayConfiguration& configuration, const AttachOptions& options) {
  const Result<std::string> where = options.url.empty() ? WhereItIs(configuration) : Result<std::string>(options.url);
  if (!where.ok()) return where.status();
  Result<ServerUrl> url = ParseServerUrl(where.value());
  if (!url.ok()) return Status::Error(AsText(where.value()) + ": " + url.status().message());
  Attachment attachment{.url = std::move(url).value(), .is_own = options.url.empty()};
  const Result<std::string> token = TokenFor(where.value(), configuration, options);
  attachment.advice = Advice(token, configuration, options);
  if (!token.ok()) return attachment;
  if (!attachment.url.tls && !attachment.is_own && !attachment.url.is_loopback())
    return Status::Error("the token is not sent to " + attachment.url.Origin() +
                         ": http can be overheard; name it by https, or go through a tunnel, "
                         "`ssh -L 3334:127.0.0.1:3334 …`, and --url http://127.0.0.1:3334");
  attachment.token = token.value();
  return attachment;
}

}  // namespace weir
