// mlxcel serve: models over HTTP, in OpenAI's protocol.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>

#include "base/cat.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/fetch_model.h"
#include "cli/memory_report.h"
#include "cli/serve_arguments.h"
#include "cli/serve_model.h"
#include "cli/serve_sources.h"
#include "cli/version.h"
#include "server/log.h"
#include "server/server.h"

namespace mlxcel {
namespace {

Result<std::vector<std::string>> read_keys(const ServeArguments& a) {
  std::vector<std::string> keys = a.api_keys;
  if (!a.key_file.empty()) {
    TRY(const std::string text, read_text(a.key_file));
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
      if (end > at) keys.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    if (keys.empty()) return Error{Code::kInvalid, cat(a.key_file, ": expected keys, found none")};
  }
  return keys;
}

void start_log(const ServeArguments& a) {
  auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(a.json_log ? "%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  logger->set_level(a.quiet ? spdlog::level::warn : spdlog::level::info);
  spdlog::set_default_logger(logger);
  server::set_json_log(a.json_log);
}

Result<server::ServerOptions> server_options(const ServeArguments& a) {
  server::ServerOptions o = a.server;
  o.api.parallel = a.parallel;
  if (!a.template_variables.empty()) {
    boost::system::error_code ec;
    const json::value v = json::parse(a.template_variables, ec);
    if (ec || !v.is_object())
      return Error{Code::kInvalid, "--chat-template-kwargs: expected a JSON object"};
    o.api.variables = v.get_object();
  }
  if (a.raw_reasoning) o.api.reasoning = text::ReasoningFormat::kNone;
  o.drain_time = std::chrono::seconds(a.drain_time);
  o.http.ping_time = std::chrono::seconds(a.ping_time);
  o.http.idle_time = std::chrono::seconds(a.idle_time);
  o.http.body_bytes = static_cast<uint64_t>(a.body_mebibytes) << 20;
  o.read_keys = [&a] { return read_keys(a); };
  const std::string version = version_text();
  o.router.version = version.substr(0, version.find('\n'));
  if (const auto keys = read_keys(a); !keys) return keys.error();  // before a model is loaded
  TRY_OK(check(o.settings));
  return o;
}

Result<int> run(const ServeArguments& a) {
  std::signal(SIGPIPE, SIG_IGN);
  start_log(a);
  if (a.estimate) {
    TRY(const Checkpoint checkpoint, open_or_download(a.model.model, true, a.quiet));
    return estimate_memory(checkpoint, a.model.open, serving_options(a), false);
  }
  TRY(const server::ServerOptions options, server_options(a));
  TRY(auto source, a.models_dir.empty() ? single_model(a) : model_folder(a));
  TRY_OK(server::serve(std::move(source), options));
  return 0;
}

}  // namespace

Run add_serve(CommandLine& sub) {
  auto a = std::make_shared<ServeArguments>();
  add_serve_arguments(sub, *a);
  sub.footer(
      "Example:\n  mlxcel serve -m model.gguf --parallel 8\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -d "
      "'{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
