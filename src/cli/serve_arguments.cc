#include "cli/serve_arguments.h"

#include <algorithm>

#include "base/cat.h"
#include "base/nearest.h"
#include "cli/domains.h"
#include "cli/fetch_model.h"
#include "text/parse/dialect.h"

namespace mlxcel {
namespace {

void add_bytes(CommandLine& sub, const char* flag, int64_t& value, const char* text) {
  sub.add_option_function(
         flag, [&value](const std::string& t) { value = bytes_of(t).value_or(0); }, text)
      ->type_name("BYTES")
      ->check(bytes_domain);
}

std::string path_prefix(const std::string& text) {
  const bool good = text.size() > 1 && text.front() == '/' && text.back() != '/' &&
                    text.find_first_of("?#% ") == std::string::npos;
  return good ? "" : cat(kAboutValue, text, ": expected a path without an end slash; use /llm");
}

void add_network_arguments(CommandLine& sub, ServeArguments& a) {
  server::HttpOptions& http = a.server.http;
  sub.add_option("--host", http.host,
                 "Address to listen on; a path that ends in .sock: a unix socket")
      ->check(no_empty_text)
      ->capture_default_str();
  sub.add_option("--port", http.port, "TCP port; 0: any free one")
      ->capture_default_str()
      ->range(0, 65535);
  sub.add_flag("--reuse-port", http.reuse_port,
               "Let other servers listen on the same port: connections are dealt among them");
  sub.add_option("--api-prefix", a.server.router.prefix,
                 "What stands before every path, as a proxy gives it: /llm")
      ->check(path_prefix);
  sub.add_flag("!--no-webui", a.server.router.page, "No page for people at /");
  sub.add_option("--api-key", a.api_keys, "A key that requests must bring; may be repeated")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("--api-key-file", a.key_file, "Keys, one a line")->check(readable_file);
  auto* certificate =
      sub.add_option("--ssl-cert-file", http.certificate, "Certificate chain, PEM: serve HTTPS")
          ->check(readable_file);
  auto* key = sub.add_option("--ssl-key-file", http.key, "Its private key, PEM")
                  ->check(readable_file)
                  ->needs(certificate);
  certificate->needs(key);
  sub.add_option("--cors-origins", a.server.router.cors_origins,
                 "Origins whose pages may ask, comma-separated; localhost: all of this machine; "
                 "*: all; \"\": none")
      ->capture_default_str();
  sub.add_option("--threads-http", http.threads, "Threads for connections and tokenizing")
      ->capture_default_str()
      ->range(1, 256);
  sub.add_option("--max-connections", http.max_connections, "More wait to be accepted")
      ->capture_default_str()
      ->range(1, 65536);
  sub.add_option("--max-body", a.body_mebibytes, "MiB of a request's body at most")
      ->capture_default_str()
      ->range(1, 1024);
  sub.add_option("--sse-ping-interval", a.ping_time,
                 "Seconds between pings of a silent stream; 0: none")
      ->capture_default_str()
      ->range(0, 86400);
  sub.add_option("--keep-alive", a.idle_time, "Seconds that an idle connection stays open")
      ->capture_default_str()
      ->range(1, 86400);
}

void add_models_arguments(CommandLine& sub, ServeArguments& a) {
  server::SettingValues& s = a.server.settings;
  sub.add_option("--models-dir", a.models_dir,
                 "Serve every model of this folder: each is loaded when a request names it");
  sub.add_flag("!--no-models-autoload", a.server.api.autoload,
               "Load models by POST /models/load alone: a request for another one gets a 400");
  sub.add_option("--models-max", s.models_max,
                 "Models loaded at once, least recently used go first; 0: any number")
      ->capture_default_str()
      ->range(0, 1 << 16);
  add_bytes(sub, "--models-memory", s.models_memory,
            "Bytes that loaded models may take together, e.g. 8G (default: what is free)");
  sub.add_option(
         "--sleep-idle-seconds", s.sleep_idle_seconds,
         "Unload a model that nobody asked for so long; the next request loads it; -1: never")
      ->capture_default_str()
      ->range(-1, 1 << 30);
}

void add_scheduling_arguments(CommandLine& sub, ServeArguments& a) {
  sub.add_option("--parallel", a.parallel, "Requests that run at once")
      ->capture_default_str()
      ->range(1, 4096);
  sub.add_option("--prefill-chunk-size", a.prefill_chunk, "Rows of one prompt in a step at most")
      ->capture_default_str()
      ->range(1, 65536);
  sub.add_option("--max-batch-prefill", a.batch_prefill,
                 "Prompt rows of a step, in chunks: others wait at most this long")
      ->capture_default_str()
      ->range(1, 64);
  sub.add_option("--max-queue-depth", a.server.settings.max_queue_depth,
                 "Requests that may wait; more get 429 and Retry-After")
      ->capture_default_str()
      ->range(0, 1 << 20);
  sub.add_option("--request-timeout", a.server.settings.request_timeout,
                 "Seconds after which a request ends")
      ->capture_default_str()
      ->range(1, 1 << 24);
  sub.add_option("--drain-timeout", a.drain_time, "Seconds for running requests after SIGTERM")
      ->capture_default_str()
      ->range(0, 86400);
  add_bytes(sub, "--kv-cache-budget", a.kv_bytes,
            "Bytes of KV, e.g. 512M (default: what all requests may need and memory holds)");
  add_bytes(sub, "--prompt-cache-capacity-bytes", a.cache_bytes,
            "Bytes of KV kept of earlier prompts, least recently used go first (default: all that "
            "nobody uses)");
  sub.add_option("--slot-save-path", a.server.api.slot_folder,
                 "Folder where POST /slots/N?action=save keeps the KV of a slot, for restore")
      ->existing_directory();
  sub.add_flag("--no-prompt-cache", a.no_prefix_cache, "Do not reuse the KV of equal beginnings");
}

std::string tool_parser_domain(const std::string& name) {
  std::vector<std::string> names = {"harmony"};
  for (const text::Dialect& d : text::dialects()) names.emplace_back(d.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return "";
  std::string all;
  for (const std::string& n : names) all += cat(all.empty() ? "" : ", ", n);
  return cat(kAboutValue, name, ": expected one of ", all, "; for example ", nearest(name, names));
}

void add_chat_arguments(CommandLine& sub, ServeArguments& a) {
  sub.add_option("--chat-template-file", a.template_file, "A Jinja template instead of the model's")
      ->check(readable_file);
  sub.add_option("--chat-template-kwargs", a.template_variables,
                 "What the template reads beside the conversation, a JSON object, unless a request "
                 "says; e.g. '{\"enable_thinking\": false}'")
      ->type_name("JSON");
  sub.add_option("--tool-parser", a.dialect,
                 "How the model writes tool calls and reasoning (default: told by the template)")
      ->check(tool_parser_domain);
  sub.add_option_function(
         "--reasoning-format",
         [&a](const std::string& format) { a.raw_reasoning = format == "none"; },
         "none: reasoning stays in the content; deepseek, auto: apart, as reasoning_content")
      ->one_of({"none", "deepseek", "auto"});
  server::SettingValues& s = a.server.settings;
  const auto usual = [&](const char* flag, auto& value, auto SamplingParams::*field,
                         const char* text) {
    sub.add_option(flag, value, text)->check(sampling_domain(field));
  };
  using P = SamplingParams;
  usual("-n,--n-predict", s.max_tokens, &P::max_tokens,
        "max_tokens of requests that name none; -1: no limit");
  usual("--temp,--temperature", s.temperature, &P::temperature,
        "temperature of requests that name none");
  usual("--top-k", s.top_k, &P::top_k, "top_k of those");
  usual("--top-p", s.top_p, &P::top_p, "top_p of those");
  usual("--min-p", s.min_p, &P::min_p, "min_p of those");
  usual("--repetition-penalty,--repeat-penalty", s.repetition_penalty, &P::repetition_penalty,
        "repetition_penalty of those");
  usual("--repeat-last-n", s.repeat_last_n, &P::repeat_last_n,
        "How far back repetition_penalty looks; -1: everything");
  usual("--presence-penalty", s.presence_penalty, &P::presence_penalty,
        "presence_penalty of those");
  usual("--frequency-penalty", s.frequency_penalty, &P::frequency_penalty,
        "frequency_penalty of those");
}

}  // namespace

void add_serve_arguments(CommandLine& sub, ServeArguments& a) {
  add_model_arguments(sub, a.model);
  add_offline_argument(sub, a.offline);
  sub.add_option("-a,--alias", a.aliases,
                 "A further name of the model, or with --models-dir ALIAS=MODEL; may be repeated")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("-c,--ctx-size", a.model.context,
                 "Tokens of prompt and answer together (default: the model's)")
      ->range(2, 1 << 27);
  add_models_arguments(sub, a);
  add_network_arguments(sub, a);
  add_scheduling_arguments(sub, a);
  add_chat_arguments(sub, a);
  sub.add_flag("--estimate-memory", a.estimate,
               "Only say what memory this takes; exit status 1 if it does not fit");
  sub.add_flag("--log-json", a.json_log, "Log lines as JSON");
  sub.add_flag("-q,--quiet", a.quiet, "Warnings only");
}

}  // namespace mlxcel
