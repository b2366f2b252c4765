// The flags of `mlxcel serve` and mlxcel-server.
#pragma once

#include <string>
#include <vector>

#include "chat/chat_model.h"
#include "cli/arguments.h"
#include "server/server.h"

namespace mlxcel {

struct ServeArguments {
  ModelArguments model;
  server::ServerOptions server;
  std::vector<std::string> aliases;
  std::vector<std::string> api_keys;
  std::string models_dir;  // "": one model
  std::string key_file, template_file, template_variables, dialect;
  bool raw_reasoning = false;
  int parallel = 4, prefill_chunk = 256, batch_prefill = 1;
  bool no_prefix_cache = false, json_log = false, quiet = false;
  bool offline = false, estimate = false;
  int64_t cache_bytes = 0, kv_bytes = 0;  // 0: what memory allows
  int drain_time = 30, ping_time = 15, idle_time = 75;
  int body_mebibytes = 16;
};

void add_serve_arguments(CommandLine& sub, ServeArguments& a);

}  // namespace mlxcel
