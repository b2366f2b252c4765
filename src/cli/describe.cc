// mlxcel completion and mlxcel man: made from the same options as the help.
#include <cctype>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/cat.h"
#include "cli/command.h"
#include "cli/environment.h"
#include "cli/version.h"

namespace mlxcel {
namespace {

// One command of the program: "run", "bench decode".
struct Entry {
  std::string path, summary, footer;
  std::vector<std::string> positionals, words;  // words: what a positional may be
  std::vector<OptionFacts> flags;
  std::vector<std::string> nested;
};

Entry entry_of(const CommandFacts& command, const std::string& path) {
  Entry e;
  e.path = path, e.summary = command.summary, e.footer = command.footer;
  for (const OptionFacts& o : command.options) {
    if (o.positional.empty()) {
      e.flags.push_back(o);
      continue;
    }
    e.positionals.push_back(o.positional);
    e.words.insert(e.words.end(), o.choices.begin(), o.choices.end());
  }
  for (const CommandFacts& c : command.commands) e.nested.push_back(c.name);
  return e;
}

// The program first, then its commands, each followed by its own, and where wanted by its aliases.
std::vector<Entry> entries_of(const CommandFacts& root, bool aliases) {
  std::vector<Entry> all = {entry_of(root, "")};
  for (const CommandFacts& c : root.commands) {
    all.push_back(entry_of(c, c.name));
    if (aliases) {
      for (const std::string& alias : c.aliases) all.push_back(entry_of(c, alias));
    }
    for (const CommandFacts& nested : c.commands)
      all.push_back(entry_of(nested, cat(c.name, " ", nested.name)));
  }
  return all;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string s;
  for (const std::string& w : words) s += cat(s.empty() ? "" : between, w);
  return s;
}

std::string flag_words(const Entry& e) {
  std::string s;
  for (const OptionFacts& f : e.flags) s += cat(s.empty() ? "" : " ", joined(f.names, " "));
  return s;
}

bool takes_model(const Entry& e) { return e.path == "run" || e.path == "rm"; }

bool names_model(const OptionFacts& f) { return f.names.back() == "--model"; }

// `text` inside single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string s = "'";
  for (const char c : text) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}

void print_bash(const std::vector<Entry>& all) {
  std::printf(
      "# mlxcel for bash: source <(mlxcel completion bash)\n"
      "_mlxcel() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= names=\n"
      "  local path=${COMP_WORDS[1]} models='mlxcel list -q 2>/dev/null'\n"
      "  [ \"$COMP_CWORD\" -eq 1 ] && path=\n"
      "  case \"$path ${COMP_WORDS[2]}\" in\n");
  for (const Entry& e : all) {
    if (e.path.find(' ') != e.path.npos && e.nested.empty())
      std::printf("    '%s') [ \"$COMP_CWORD\" -gt 2 ] && path='%s' ;;\n", e.path.c_str(),
                  e.path.c_str());
  }
  std::printf(
      "  esac\n  case \"$path $prev\" in\n    *' -m'|*' --model') words=$(eval \"$models\") ;;\n");
  for (const Entry& e : all) {
    for (const OptionFacts& f : e.flags) {
      if (f.choices.empty()) continue;
      for (const std::string& n : f.names)
        std::printf("    '%s %s') COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n",
                    e.path.c_str(), n.c_str(), joined(f.choices, " ").c_str());
    }
  }
  std::printf("  esac\n  case \"$path\" in\n");
  for (const Entry& e : all) {
    std::printf("    '%s') names='%s'; words=\"$words %s %s\"%s ;;\n", e.path.c_str(),
                flag_words(e).c_str(), joined(e.nested, " ").c_str(), joined(e.words, " ").c_str(),
                takes_model(e) ? "; words=\"$words $(eval \"$models\")\"" : "");
  }
  std::printf(
      "  esac\n"
      "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$names\" -- \"$cur\"))\n"
      "  elif [ -z \"$path\" ]; then COMPREPLY=($(compgen -W \"$words help\" -- \"$cur\"))\n"
      "  else COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")); fi\n"
      "}\ncomplete -o filenames -F _mlxcel mlxcel\n");
}

// For zsh's _arguments and _describe: no brackets and colons in texts.
std::string zsh_text(std::string text) {
  for (char& c : text) c = c == '[' ? '(' : c == ']' ? ')' : c == ':' ? ';' : c;
  return text;
}

void print_zsh(const std::vector<Entry>& all) {
  std::printf(
      "#compdef mlxcel\n# mlxcel for zsh: source <(mlxcel completion zsh)\n"
      "_mlxcel_models() { compadd -- ${(f)\"$(mlxcel list -q 2>/dev/null)\"}; _files }\n"
      "_mlxcel() {\n  local -a commands\n  commands=(\n");
  for (const Entry& e : all) {
    if (!e.path.empty() && e.path.find(' ') == e.path.npos)
      std::printf("    %s\n", quoted(cat(e.path, ":", zsh_text(e.summary))).c_str());
  }
  std::printf(
      "    'help:Show the help of a command'\n  )\n"
      "  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      "  shift words; (( CURRENT-- ))\n"
      "  local command=$words[1]\n  case \"$words[1] $words[2]\" in\n");
  for (const Entry& e : all) {
    if (e.path.find(' ') != e.path.npos)
      std::printf(
          "    '%s') (( CURRENT > 2 )) && { command='%s'; shift words; (( CURRENT-- )) } ;;\n",
          e.path.c_str(), e.path.c_str());
  }
  std::printf("  esac\n  case $command in\n");
  for (const Entry& e : all) {
    if (e.path.empty()) continue;
    std::printf("    '%s') _arguments", e.path.c_str());
    for (const OptionFacts& f : e.flags) {
      const std::string values = !f.takes_value      ? ""
                                 : names_model(f)    ? ":model:_mlxcel_models"
                                 : f.choices.empty() ? ":value:_files"
                                                     : cat(":value:(", joined(f.choices, " "), ")");
      for (const std::string& n : f.names)
        std::printf(" \\\n      %s",
                    quoted(cat("*", n, "[", zsh_text(f.what), "]", values)).c_str());
    }
    if (!e.nested.empty())
      std::printf(" \\\n      '1:command:(%s)'", joined(e.nested, " ").c_str());
    std::printf(" \\\n      '*:%s' ;;\n",
                takes_model(e)    ? "model:_mlxcel_models"
                : e.words.empty() ? "argument:_files"
                                  : cat("argument:(", joined(e.words, " "), ")").c_str());
  }
  // A file of fpath is the function itself at its first use.
  std::printf(
      "  esac\n}\n"
      "if [[ $funcstack[1] == _mlxcel ]]; then _mlxcel \"$@\"; else compdef _mlxcel mlxcel; fi\n");
}

void print_fish(const std::vector<Entry>& all) {
  std::printf("# mlxcel for fish: mlxcel completion fish | source\n");
  for (const Entry& e : all) {
    std::string when = "__fish_use_subcommand";
    if (!e.path.empty()) {
      const size_t blank = e.path.find(' ');
      when = cat("__fish_seen_subcommand_from ", e.path.substr(0, blank));
      if (blank != e.path.npos)
        when += cat("; and __fish_seen_subcommand_from ", e.path.substr(blank + 1));
    }
    if (!e.path.empty() && e.path.find(' ') == e.path.npos)
      std::printf("complete -c mlxcel -n __fish_use_subcommand -f -a %s -d %s\n", e.path.c_str(),
                  quoted(e.summary).c_str());
    if (!e.nested.empty() && !e.path.empty())
      std::printf("complete -c mlxcel -n '%s' -f -a '%s'\n", when.c_str(),
                  joined(e.nested, " ").c_str());
    for (const OptionFacts& f : e.flags) {
      std::string names;
      for (const std::string& n : f.names)
        names += n.starts_with("--") ? cat(" -l ", n.substr(2)) : cat(" -s ", n.substr(1));
      std::string values = f.takes_value ? " -r" : "";
      if (!f.choices.empty()) values = cat(" -x -a '", joined(f.choices, " "), "'");
      if (names_model(f)) values = " -r -a '(mlxcel list -q 2>/dev/null)'";
      std::printf("complete -c mlxcel -n '%s'%s%s -d %s\n", when.c_str(), names.c_str(),
                  values.c_str(), quoted(f.what).c_str());
    }
    if (!e.words.empty())
      std::printf("complete -c mlxcel -n '%s' -f -a '%s'\n", when.c_str(),
                  joined(e.words, " ").c_str());
    if (takes_model(e))
      std::printf("complete -c mlxcel -n '%s' -a '(mlxcel list -q 2>/dev/null)'\n", when.c_str());
  }
}

// Text for troff: no line starts with a dot or a quote, hyphens are hyphens.
std::string roff(const std::string& text) {
  std::string s;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) s += "\\&";
    if (c == '\\')
      s += "\\e";
    else if (c == '-')
      s += "\\-";
    else
      s += c;
    line_start = c == '\n';
  }
  return s;
}

void print_man(const std::vector<Entry>& all) {
  std::printf(".TH MLXCEL 1 \"\" \"mlxcel %s\" \"User commands\"\n", version_number().c_str());
  std::printf(".SH NAME\nmlxcel \\- %s\n.SH SYNOPSIS\n.B mlxcel\n.I COMMAND\n[\\fIOPTION\\fR]...\n",
              roff("run language models on this machine").c_str());
  std::printf(".SH DESCRIPTION\n%s\n.SH COMMANDS\n", roff(all.front().summary).c_str());
  for (const Entry& e : all) {
    if (e.path.empty()) continue;
    std::string line = e.path;
    for (const std::string& p : e.positionals) {
      std::string name = p;
      for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      line += " [" + name + "]";
    }
    std::printf(".SS mlxcel %s\n%s.\n", roff(line).c_str(), roff(e.summary).c_str());
    for (const OptionFacts& f : e.flags) {
      std::printf(".TP\n\\fB%s\\fR%s\n%s\n", roff(joined(f.names, ", ")).c_str(),
                  f.takes_value ? " \\fIVALUE\\fR" : "", roff(f.what).c_str());
    }
    if (!e.footer.empty()) std::printf(".PP\n.nf\n%s\n.fi\n", roff(e.footer).c_str());
  }
  std::printf(".SH EXIT STATUS\n");
  for (const Described& d : kStatuses)
    std::printf(".TP\n%s\n%s\n", d.name, roff(d.meaning).c_str());
  std::printf(".SH ENVIRONMENT\n");
  for (const Described& d : kEnvironment)
    std::printf(".TP\n.B %s\n%s\n", d.name, roff(d.meaning).c_str());
}

}  // namespace

Run add_completion(CommandLine& sub) {
  auto shell = std::make_shared<std::string>();
  sub.add_option("shell", *shell, "bash, zsh or fish")->required()->one_of({"bash", "zsh", "fish"});
  sub.footer(
      "Examples:\n  source <(mlxcel completion bash)\n"
      "  mlxcel completion bash > ~/.local/share/bash-completion/completions/mlxcel\n"
      "  source <(mlxcel completion zsh)\n"
      "  mlxcel completion fish > ~/.config/fish/completions/mlxcel.fish");
  return [shell, root = sub.parent()]() -> Result<int> {
    const auto all = entries_of(root->facts(), true);
    *shell == "bash" ? print_bash(all) : *shell == "zsh" ? print_zsh(all) : print_fish(all);
    return 0;
  };
}

Run add_man(CommandLine& sub) {
  sub.footer(
      "Examples:\n  mlxcel man | man -l -\n"
      "  mlxcel man > ~/.local/share/man/man1/mlxcel.1");
  return [root = sub.parent()]() -> Result<int> {
    print_man(entries_of(root->facts(), false));
    return 0;
  };
}

}  // namespace mlxcel
