#include "config/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <type_traits>
#include <utility>

namespace weir {

using Argument = CommandLine::Argument;

Argument Argument::Required() { return {app_, option_->required()}; }
Argument Argument::ShowDefault() { return {app_, option_->capture_default_str()}; }

template <typename Number>
Argument Argument::Within(Number least, Number most) {
  return {app_, option_->check(CLI::Range(least, most))};
}

Argument Argument::OneOf(std::vector<std::string> words) {
  return {app_, option_->check(CLI::IsMember(std::move(words)))};
}
Argument Argument::ExistingFile() { return {app_, option_->check(CLI::ExistingFile)}; }
Argument Argument::ExistingDirectory() { return {app_, option_->check(CLI::ExistingDirectory)}; }

Argument Argument::Check(std::string form, std::function<Status(const std::string&)> check) {
  const auto problem = [check = std::move(check)](const std::string& text) { return check(text).message(); };
  return {app_, option_->check(CLI::Validator(problem, std::move(form)))};
}
Argument Argument::Excludes(const std::string& other) { return {app_, option_->excludes(app_->get_option(other))}; }
Argument Argument::OneWordEach() { return {app_, option_->allow_extra_args(false)}; }
Argument Argument::SplitAt(char delimiter) { return {app_, option_->delimiter(delimiter)}; }

CommandLine::CommandLine(const std::string& name, const std::string& meaning)
    : CommandLine(std::make_shared<CLI::App>(meaning, name)) {}

CommandLine::CommandLine(std::shared_ptr<CLI::App> app)
    : app_(std::move(app)), settings_(std::make_shared<std::vector<SettingFlag>>()) {}

void CommandLine::SetFooter(const std::string& text) { app_->footer(text); }

template <typename Variable>
Argument CommandLine::Add(const std::string& name, Variable* variable, const std::string& meaning) {
  if constexpr (std::is_same_v<Variable, bool>) {
    return {app_.get(), app_->add_flag(name, *variable, meaning)};
  } else {
    return {app_.get(), app_->add_option(name, *variable, meaning)};
  }
}

void CommandLine::AddSetting(const std::string& flag, const std::string& setting, const std::string& meaning) {
  const auto take = [settings = settings_, flag, setting](const std::string& text) {
    settings->push_back({flag, setting, text});
  };
  app_->add_option_function<std::string>(flag, take, meaning);
}

Argument CommandLine::Find(const std::string& name) const { return {app_.get(), app_->get_option(name)}; }

CommandLine CommandLine::AddSubcommand(const std::string& name, const std::string& meaning) {
  app_->require_subcommand(1);
  return CommandLine(app_->get_subcommand_ptr(app_->add_subcommand(name, meaning)));
}

void CommandLine::LetOptionsFollow() { app_->fallthrough(); }

void CommandLine::Check(std::function<Status()> check) {
  app_->callback([check = std::move(check)] {
    if (const Status status = check(); !status.ok()) throw CLI::ValidationError(status.message());
  });
}

std::optional<int> CommandLine::Parse(int argc, char** argv) { return Parse(argc, argv, std::cout, std::cerr); }

std::optional<int> CommandLine::Parse(int argc, char** argv, std::ostream& out, std::ostream& err) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e, out, err) == 0 ? 0 : kWrong;
  }
  return std::nullopt;
}

std::string CommandLine::subcommand() const {
  const std::vector<CLI::App*> named = app_->get_subcommands();
  return named.empty() ? "" : named.front()->get_name();
}

int CommandLine::Fail(const Status& why, int code) const {
  std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(), why.message().c_str());
  return code;
}

template Argument Argument::Within(int, int);
template Argument Argument::Within(int64_t, int64_t);
template Argument Argument::Within(uint64_t, uint64_t);
template Argument Argument::Within(double, double);

template Argument CommandLine::Add(const std::string&, bool*, const std::string&);
template Argument CommandLine::Add(const std::string&, int*, const std::string&);
template Argument CommandLine::Add(const std::string&, uint32_t*, const std::string&);
template Argument CommandLine::Add(const std::string&, uint64_t*, const std::string&);
template Argument CommandLine::Add(const std::string&, double*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::string*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::filesystem::path*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::vector<std::string>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<int>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<int64_t>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<uint64_t>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<double>*, const std::string&);
template Argument CommandLine::Add(const std::string&, std::optional<std::string>*, const std::string&);

}  // namespace weir
