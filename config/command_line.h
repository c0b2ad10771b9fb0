// CommandLine: the arguments that a program takes, and its --help.
//
//   CommandLine line("weir dig", "Digs a hole.");
//   line.Add("PLACE", &place, "where").Required();
//   line.Add("--depth", &depth, "metres").Within(1, 100).ShowDefault();
//   line.Add("--quiet", &quiet, "say nothing but errors");
//   if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
//
// For completion a shell calls the program with "--complete" as the first word: then Parse prints the words that may
// stand in the place of the last one (config/completion.h).
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

// Calls `run` and returns its exit status. If it throws, for example for want of memory or of a thread, prints
// "weir dig: …" on standard error and returns 1.
int RunGuarded(const std::string& name, const std::function<int()>& run);

// A copy is the same command line. The variables must live until it is parsed.
class CommandLine {
 public:
  static constexpr int kWrong = 2;  // exit status of a program that was asked for something wrong

  class Argument {
   public:
    Argument Required();
    Argument ShowDefault();  // --help shows the variable's present value
    template <typename Number>
    Argument Within(Number least, Number most);  // int, int64_t, uint64_t, double
    Argument OneOf(std::vector<std::string> words);
    Argument ExistingFile();
    Argument ExistingDirectory();
    // Refuses a text for which `check` returns an error. --help shows the value as `form`, such as "NAME=COMMAND".
    Argument Check(std::string form, std::function<Status(const std::string& text)> check);
    // Refuses a command line that has both. `other` must have been added before.
    Argument Excludes(const std::string& other);
    // A list option takes one word each time it is given. Without this it takes all words that follow.
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

  // A name without dashes makes a positional argument. A bool makes a flag, a vector of strings takes several words;
  // other variables are strings, paths and numbers, and optional strings and numbers.
  template <typename Variable>
  Argument Add(const std::string& name, Variable* variable, const std::string& meaning);
  // Adds an option that replaces a setting of the environment.
  void AddSetting(const std::string& flag, const std::string& setting, const std::string& meaning);
  // Returns an argument that was added.
  Argument Find(const std::string& name) const;

  // If a command line has subcommands, the user must name one.
  CommandLine AddSubcommand(const std::string& name, const std::string& meaning);
  // Lets this command line's own options also stand behind the subcommand.
  void LetOptionsFollow();
  // Sets a check that single arguments cannot make; it is called when all are read.
  void Check(std::function<Status()> check);

  // Returns nullopt if the program should go on. Otherwise the help, the completions or the error are already printed,
  // and the result is the exit status: kWrong after an error, else 0.
  std::optional<int> Parse(int argc, char** argv);
  std::optional<int> Parse(int argc, char** argv, std::ostream& out, std::ostream& err);

  std::string subcommand() const;  // empty if none is named
  const std::vector<SettingFlag>& settings() const { return *settings_; }

  // Prints "weir dig: …" on standard error and returns `code`.
  int Fail(const Status& why, int code = kWrong) const;

 private:
  explicit CommandLine(std::shared_ptr<CLI::App> app);
  void Complete(const std::vector<std::string>& words, std::ostream& out) const;

  std::shared_ptr<CLI::App> app_;
  std::shared_ptr<std::vector<SettingFlag>> settings_;
};

}  // namespace weir
