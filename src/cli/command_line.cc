#include "cli/command_line.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>

#include "cli/domains.h"

namespace mlxcel {
namespace {

// What an option takes, as people write it: "N", "1..1024", "name|size", "TEXT".
std::string value_text(const std::string& type) {
  constexpr std::string_view kRange = " in [";
  const size_t range = type.find(kRange), set = type.find('{');
  if (range != type.npos && type.ends_with(']')) {
    std::string text = type.substr(range + kRange.size());
    text.pop_back();
    const size_t dash = text.find(" - ");
    return dash == text.npos ? text : text.replace(dash, 3, "..");
  }
  if (set != type.npos && type.ends_with('}')) {
    std::string text = type.substr(set + 1, type.size() - set - 2);
    for (char& c : text) c = c == ',' ? '|' : c;
    return text;
  }
  return type == "INT" || type == "UINT" || type == "FLOAT" ? "N" : type;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }

  std::string make_option_opts(const CLI::Option* o) const override {
    std::string text = CLI::Formatter::make_option_opts(o);
    const std::string type = o->get_type_name();
    if (const size_t at = text.find(type); !type.empty() && at != text.npos)
      text.replace(at, type.size(), value_text(type));
    const size_t excludes = text.find(" Excludes:");  // the description says it
    return text.substr(0, excludes);
  }
};

// What holds for the options of all commands.
void check_values(CLI::App& app) {
  for (CLI::Option* o : app.get_options()) {
    if (o->check_lname("model")) o->check(no_empty_text);
    if (const Domain number = number_domain(o->get_type_name(), o->get_default_str()))
      o->check(number);
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) check_values(*sub);
}

// "TEXT:{name,size}" -> name, size
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> all;
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == type.npos || close == type.npos) return all;
  std::string one;
  for (size_t i = open + 1; i <= close; i++) {
    if (type[i] != ',' && i != close) {
      one += type[i];
    } else {
      all.push_back(one);
      one.clear();
    }
  }
  return all;
}

CommandFacts facts_of(const CLI::App& app) {
  CommandFacts c;
  c.name = app.get_name(), c.summary = app.get_description(), c.footer = app.get_footer();
  c.aliases = app.get_aliases();
  c.needs_command = app.get_require_subcommand_min() > 0;
  for (const CLI::Option* o : app.get_options()) {
    OptionFacts f;
    if (o->get_positional()) f.positional = o->get_name();
    for (const std::string& n : o->get_snames()) f.names.push_back("-" + n);
    for (const std::string& n : o->get_lnames()) f.names.push_back("--" + n);
    f.what = o->get_description(), f.choices = choices_of(o->get_type_name());
    f.takes_value = o->get_items_expected_max() > 0;
    c.options.push_back(std::move(f));
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    c.commands.push_back(facts_of(*sub));
  return c;
}

}  // namespace

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::check(Domain domain) {
  option_->check(std::move(domain));
  return this;
}

Option* Option::range(int low, int high) {
  option_->check(CLI::Range(low, high));
  return this;
}

Option* Option::range(double low, double high) {
  option_->check(CLI::Range(low, high));
  return this;
}

Option* Option::one_of(std::vector<std::string> words) {
  option_->check(CLI::IsMember(std::move(words)));
  return this;
}

Option* Option::existing_directory() {
  option_->check(CLI::ExistingDirectory);
  return this;
}

Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::delimiter(char between) {
  option_->delimiter(between);
  return this;
}

Option* Option::take_all() {
  option_->take_all();
  return this;
}

Option* Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}

Option* Option::needs(Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}

bool Option::given() const { return option_->count() > 0; }

CommandLine::CommandLine(const char* program, const char* summary, const std::string& version)
    : program_(std::make_unique<CLI::App>(summary, program)), app_(program_.get()) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(0, 1);
  app_->formatter(std::make_shared<HelpFormatter>());
}

CommandLine::CommandLine(CLI::App* app, CommandLine* parent) : app_(app), parent_(parent) {}

CommandLine::~CommandLine() = default;

Option* CommandLine::add(CLI::Option* option) { return &options_.emplace_back(option); }

template <class T>
Option* CommandLine::add_option(const std::string& names, T& value, const std::string& what) {
  return add(app_->add_option(names, value, what));
}

Option* CommandLine::add_option_function(const std::string& names,
                                         const std::function<void(const std::string&)>& set,
                                         const std::string& what) {
  return add(app_->add_option_function<std::string>(names, set, what));
}

Option* CommandLine::add_flag(const std::string& names, bool& value, const std::string& what) {
  return add(app_->add_flag(names, value, what));
}

Option* CommandLine::get_option(const std::string& name) { return add(app_->get_option(name)); }

void CommandLine::footer(const std::string& text) { app_->footer(text); }

void CommandLine::alias(const std::string& name) { app_->alias(name); }

CommandLine* CommandLine::add_command(const char* name, const char* summary) {
  commands_.emplace_back(new CommandLine(app_->add_subcommand(name, summary), this));
  return commands_.back().get();
}

void CommandLine::require_command() { app_->require_subcommand(1); }

CommandFacts CommandLine::facts() const { return facts_of(*app_); }

std::string CommandLine::help() const { return app_->help(); }

Reading CommandLine::read(const std::vector<std::string>& words) {
  Reading reading;
  check_values(*app_);
  try {  // CLI11 reports a wrong command line by throwing; it goes no further than here
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& e) {
    app_->exit(e);  // prints what was asked
    reading.end = Reading::End::kAnswered;
  } catch (const CLI::ParseError& e) {
    reading.end = Reading::End::kRefused;
    reading.complaint = e.what();
  }
  const CLI::App* used = app_;
  while (!used->get_subcommands().empty()) {
    used = used->get_subcommands().front();
    reading.commands.push_back(used->get_name());
  }
  if (const auto unknown = used->remaining(); !unknown.empty())
    reading.unknown_word = unknown.front();
  return reading;
}

bool CommandLine::parsed() const { return app_->parsed(); }

void CommandLine::answered() { throw CLI::Success(); }

using Words = const std::string&;
template Option* CommandLine::add_option(Words, std::string&, Words);
template Option* CommandLine::add_option(Words, int&, Words);
template Option* CommandLine::add_option(Words, int64_t&, Words);
template Option* CommandLine::add_option(Words, uint64_t&, Words);
template Option* CommandLine::add_option(Words, float&, Words);
template Option* CommandLine::add_option(Words, double&, Words);
template Option* CommandLine::add_option(Words, std::vector<std::string>&, Words);
template Option* CommandLine::add_option(Words, std::vector<int>&, Words);
template Option* CommandLine::add_option(Words, std::vector<double>&, Words);
template Option* CommandLine::add_option(Words, std::optional<int64_t>&, Words);
template Option* CommandLine::add_option(Words, std::optional<double>&, Words);
template Option* CommandLine::add_option(Words, std::optional<uint64_t>&, Words);

}  // namespace mlxcel
