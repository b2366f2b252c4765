#include "cli/line_reader.h"

#include <editline/readline.h>
#include <unistd.h>

#include <langinfo.h>
#include <poll.h>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <utility>

#include "cli/arguments.h"

namespace mlxcel {
namespace {

constexpr int kMostHistory = 1000;  // lines

volatile std::sig_atomic_t pressed = 0;

void on_interrupt(int) { pressed = 1; }

// The next byte; false at the end of the input and after Ctrl-C. The signal may come before the
// wait begins, and to another thread, so it is looked for again and again.
bool next_byte(char& c) {
  constexpr int kLook = 100;  // ms
  while (pressed == 0) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLook) <= 0) continue;
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
  return false;
}

// libedit's own reading goes on after a signal.
int next_character(FILE*) {
  std::mbstate_t state = {};
  for (;;) {
    char c;
    if (!next_byte(c)) return EOF;
    wchar_t wide = 0;
    const size_t used = std::mbrtowc(&wide, &c, 1, &state);
    if (used == static_cast<size_t>(-1)) return L'?';  // no UTF-8
    if (used != static_cast<size_t>(-2)) return static_cast<int>(wide);
  }
}

// libedit takes bytes apart by the locale, and a person types UTF-8 whatever it says.
void use_utf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

}  // namespace

bool take_interrupt() {
  const bool was = pressed != 0;
  pressed = 0;
  return was;
}

LineReader::LineReader(std::string history_file)
    : history_file_(std::move(history_file)),
      edited_(is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO)) {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read ends
  sigaction(SIGINT, &action, nullptr);
  if (!edited_) return;
  use_utf8();
  rl_readline_name = const_cast<char*>("mlxcel");
  rl_getc_function = next_character;
  rl_initialize();
  rl_inhibit_completion = 1;  // a tab is a tab
  using_history();
  stifle_history(kMostHistory);
  if (!history_file_.empty()) read_history(history_file_.c_str());
}

LineReader::~LineReader() {
  if (!edited_ || history_file_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(history_file_).parent_path(), error);
  if (error) return;
  write_history(history_file_.c_str());
  std::filesystem::permissions(
      history_file_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
      error);
}

LineReader::End LineReader::read_edited(const char* prompt, std::string& line) {
  char* typed = readline(prompt);
  if (take_interrupt()) {
    std::free(typed);
    std::fputc('\n', stdout);
    return End::kInterrupted;
  }
  if (typed == nullptr) return End::kEndOfInput;
  line = typed;
  std::free(typed);
  if (!line.empty()) add_history(line.c_str());
  return End::kLine;
}

LineReader::End LineReader::read(const char* prompt, std::string& line) {
  line.clear();
  if (edited_) return read_edited(prompt, line);
  for (char c; next_byte(c);) {
    if (c == '\n') return End::kLine;
    line += c;
  }
  if (take_interrupt()) return End::kInterrupted;
  return line.empty() ? End::kEndOfInput : End::kLine;
}

}  // namespace mlxcel
