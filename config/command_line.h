// CommandLine: what a program takes behind its name, and what its --help says of that.
//
//   CommandLine line("weir dig", "Digs a hole.");
//   line.Add("PLACE", &place, "where").Required();
//   line.Add("--depth", &depth, "metres").Within(1, 100).ShowDefault();
//   line.Add("--quiet", &quiet, "say nothing but errors");
//   if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
//
// A shell that completes asks with "--complete" as the first word: then Parse prints what may stand in the place of the
// last one (config/completion.h).
//
// The library that parses takes ten seconds to compile, so command_line.cc alone includes it.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "config/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
class Option;
}  // namespace CLI

namespace weir {

// Runs what a program does and returns its exit status. Where it throws, for want of memory or of a thread say, it says
// so as "weir dig: …" on standard error, and the status is 1.
int RunGuarded(const std::string& name, const std::function<int()>& run);

// A copy is the same command line. The variables must live until it is parsed.
class CommandLine {
 public:
  static constexpr int kWrong = 2;  // what a program exits with that was asked for something wrong

  class Argument {
   public:
    Argument Required();
    Argument ShowDefault();  // --help tells what the variable has now
    template <typename Number>
    Argument Within(Number least, Number most);  // int, int64_t, uint64_t, double
    Argument OneOf(std::vector<std::string> words);
    Argument ExistingFile();
    Argument ExistingDirectory();
    // --help calls it by its form, such as "NAME=COMMAND".
    Argument Check(std::string form, std::function<Status(const std::string& text)> check);
    // The other was added before; whoever gives both is refused.
    Argument Excludes(const std::string& other);
    // An option that is a list takes one word each time. Without this it takes all words that follow.
    Argument OneWordEach();
    Argument SplitAt(char delimiter);

   private:
    friend CommandLine;
    Argument(CLI::App* app, CLI::Option* option) : app_(app), option_(option) {}

    CLI::App* app_;
    CLI::Option* option_;
  };

  CommandLine(const std::string& name, const std::string& meaning);
  void SetFooter(const std::string& text);

  // A name without dashes is a positional argument's. A bool is a flag, a vector of strings takes several words; others
  // are strings, paths and numbers, and optional ones.
  template <typename Variable>
  Argument Add(const std::string& name, Variable* variable, const std::string& meaning);
  // An option in the place of a setting of the environment.
  void AddSetting(const std::string& flag, const std::string& setting, const std::string& meaning);
  // One that was added.
  Argument Find(const std::string& name) const;

  // Where there are any, one must be named.
  CommandLine AddSubcommand(const std::string& name, const std::string& meaning);
  // Its own options may also stand behind the subcommand.
  void LetOptionsFollow();
  // What single arguments cannot say; looked at when all are read.
  void Check(std::function<Status()> check);

  // Nothing where the program goes on. Else it has said what was asked or what is wrong, and exits with this: 0 after
  // --help, else kWrong.
  std::optional<int> Parse(int argc, char** argv);
  std::optional<int> Parse(int argc, char** argv, std::ostream& out, std::ostream& err);

  std::string subcommand() const;  // empty where none is named
  const std::vector<SettingFlag>& settings() const { return *settings_; }

  // Says "weir dig: …" on standard error and returns the code.
  int Fail(const Status& why, int code = kWrong) const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app);
  void Complete(const std::vector<std::string>& words, std::ostream& out) const;

  std::shared_ptr<CLI::App> app_;
  std::shared_ptr<std::vector<SettingFlag>> settings_;
};

}  // namespace weir
