#include "cli/arguments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/cat.h"
#include "formats/mapped_file.h"

namespace mlxcel {
namespace {

int64_t milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Error io_error(const std::string& path, const char* what) {
  return {Code::kIo, cat(path, ": ", what, ": ", std::strerror(errno))};
}

}  // namespace

void add_model_arguments(CommandLine& sub, ModelArguments& a) {
  sub.add_option("-m,--model", a.model,
                 "A .gguf file, a folder, or OWNER/NAME (default: the default model)");
  sub.add_option("-t,--threads", a.open.threads,
                 "Threads (default: the processors this process may use)")
      ->range(1, 1024);
  sub.add_option("--isa", a.open.isa,
                 "Instruction set of the kernels, or help (default: the best; all give equal bits)")
      ->check([](const std::string& isa) {
        if (isa != "help")
          return is_isa(isa) ? "" : cat("expected ", isa_names(), ", found \"", isa, "\"");
        std::printf("%s\n", isa_names().c_str());
        CommandLine::answered();
      });
  sub.add_option("--device", a.open.device,
                 "auto, cpu, cuda or cuda:N (default: the GPU if the model fits there)")
      ->check([](const std::string& device) {
        return is_device(device)
                   ? ""
                   : cat("expected auto, cpu, cuda or cuda:N, found \"", device, "\"");
      });
  sub.add_flag("--force", a.open.ignore_memory, "Load even if it does not seem to fit in memory");
}

Result<std::string> read_text(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return io_error(path, "cannot be opened");
  std::string text;
  char buffer[65536];
  size_t n;
  while ((n = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, n);
  const bool failed = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (failed) return io_error(path, "cannot be read");
  return text;
}

Result<std::vector<int32_t>> read_ids(const std::string& path) {
  TRY(const std::string text, read_text(path));
  std::vector<int32_t> ids;
  if (path.ends_with(".i32")) {
    if (text.size() % 4 != 0) {
      return Error{Code::kInvalid,
                   cat(path, ": expected a multiple of 4 bytes, found ", text.size())};
    }
    ids.resize(text.size() / 4);
    std::memcpy(ids.data(), text.data(), text.size());
  } else {
    for (size_t i = 0; i < text.size();) {
      if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
        if (std::strchr(" \t\r\n,;[]", text[i]) == nullptr || text[i] == 0) {
          return Error{Code::kInvalid, cat(path, ": byte ", i,
                                           ": expected token ids with spaces, commas or brackets "
                                           "between them, found ",
                                           in_quotes(text.substr(i, 1)))};
        }
        i++;
        continue;
      }
      int32_t id = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), id);
      if (error != std::errc())
        return Error{Code::kInvalid, cat(path, ": byte ", i, ": expected a token id below 2^31")};
      ids.push_back(id);
      i = static_cast<size_t>(end - text.data());
    }
  }
  if (ids.empty()) return Error{Code::kInvalid, cat(path, ": expected token ids, found none")};
  return ids;
}

Status write_file(const std::string& path, const void* data, int64_t bytes) {
  struct stat status;
  const bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string part = special ? path : cat(path, ".part-", static_cast<int64_t>(getpid()));
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return io_error(path, "cannot be written");
  const bool written =
      std::fwrite(data, 1, static_cast<size_t>(bytes), file) == static_cast<size_t>(bytes);
  if (std::fclose(file) != 0 || !written) {
    const Error error = io_error(path, "cannot be written");
    if (!special) std::remove(part.c_str());
    return error;
  }
  if (!special && std::rename(part.c_str(), path.c_str()) != 0) {
    const Error error = io_error(path, "cannot be written");
    std::remove(part.c_str());
    return error;
  }
  return Ok{};
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

void LoadBar::operator()(int64_t done, int64_t total) {
  constexpr int64_t kPatience = 500;  // ms before a bar is worth showing
  constexpr int kWidth = 30;
  if (!is_terminal(STDERR_FILENO) || total <= 0) return;
  if (started_ == 0) started_ = milliseconds();
  if (milliseconds() - started_ < kPatience) return;
  shown_ = true;
  const int filled = static_cast<int>(done * kWidth / total);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\rloading [%s] %3d %%", bar.c_str(), static_cast<int>(done * 100 / total));
}

LoadBar::~LoadBar() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace mlxcel
