// POST /slots/{slot}?action=save|restore|erase: the KV of a slot's last request, to a file of
// --slot-save-path and back; llama.cpp's shapes, but the file holds KV, not only tokens.
#include <charconv>

#include "base/cat.h"
#include "engine/kv_file.h"
#include "server/query.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// "/slots/3" -> 3
Result<int32_t> slot_number(const Api& api, std::string_view path) {
  constexpr std::string_view kPath = "/slots/";
  const std::string_view digits = path.substr(kPath.size());
  int32_t slot = -1;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), slot);
  if (end.ptr != digits.data() + digits.size() || end.ec != std::errc() || slot < 0 ||
      slot >= api.options.parallel)
    return Error{Code::kNotFound, cat("slot: expected one from 0 to ", api.options.parallel - 1)};
  return slot;
}

// One name, of letters, digits, dot, dash and underscore: never a path, never a hidden file.
Result<std::string> file_path(const Api& api, const HttpRequest& r) {
  constexpr size_t kLongest = 200;
  TRY(const json::object body, parse_body(r.body));
  const Fields f(body);
  TRY(const auto name, f.string("filename"));
  const bool plain = name && !name->empty() && name->size() <= kLongest && name->front() != '.' &&
                     std::all_of(name->begin(), name->end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
                     });
  if (!plain)
    return f.wrong("filename",
                   cat("letters, digits and . - _, at most ", kLongest, ", not with a dot first"),
                   name ? json::value(*name) : json::value());
  return cat(api.options.slot_folder, "/", *name);
}

Result<std::vector<int32_t>> idle_tokens(const Api& api, int32_t slot) {
  auto tokens = api.slot_tokens(slot);
  if (!tokens) return Error{Code::kExhausted, cat("slot: ", slot, " is answering")};
  return std::move(*tokens);
}

Result<json::value> save(Api& api, int32_t slot, const HttpRequest& r) {
  TRY(const std::string path, file_path(api, r));
  TRY(const std::vector<int32_t> tokens, idle_tokens(api, slot));
  const auto start = Clock::now();
  TRY(const KvFileResult saved, save_kv(api.service, tokens, api.model.fingerprint, path));
  return json::value(
      json::object{{"id_slot", slot},
                   {"filename", path.substr(path.rfind('/') + 1)},
                   {"n_saved", saved.tokens.size()},
                   {"n_written", saved.bytes},
                   {"timings", json::object{{"save_ms", milliseconds_since(start)}}}});
}

Result<json::value> restore(Api& api, int32_t slot, const HttpRequest& r) {
  TRY(const std::string path, file_path(api, r));
  TRY_OK(idle_tokens(api, slot));
  const auto start = Clock::now();
  TRY(KvFileResult read, restore_kv(api.service, api.model.fingerprint, path));
  const size_t tokens = read.tokens.size();
  api.set_slot_tokens(slot, std::move(read.tokens));
  return json::value(
      json::object{{"id_slot", slot},
                   {"filename", path.substr(path.rfind('/') + 1)},
                   {"n_restored", tokens},
                   {"n_read", read.bytes},
                   {"timings", json::object{{"restore_ms", milliseconds_since(start)}}}});
}

Result<json::value> erase(Api& api, int32_t slot) {
  TRY(const std::vector<int32_t> tokens, idle_tokens(api, slot));
  TRY_OK(api.service.between_steps([&](Engine& engine) { engine.forget(tokens); }));
  api.set_slot_tokens(slot, {});
  return json::value(json::object{{"id_slot", slot}, {"n_erased", tokens.size()}});
}

Result<json::value> act(Api& api, const HttpRequest& r) {
  if (api.options.slot_folder.empty())
    return Error{Code::kUnsupported, "slots: expected a server with --slot-save-path"};
  TRY(const int32_t slot, slot_number(api, r.path));
  const std::string action = query_value(r.query, "action").value_or("");
  const std::unique_lock lock(api.slot_files, std::try_to_lock);
  if (!lock) return Error{Code::kExhausted, "slots: another one is saved or restored now"};
  if (action == "save") return save(api, slot, r);
  if (action == "restore") return restore(api, slot, r);
  if (action == "erase") return erase(api, slot);
  return Error{Code::kInvalid, "action: expected save, restore or erase, found another"};
}

}  // namespace

void slot_action(Api& api, std::shared_ptr<Exchange> x) {
  const auto done = act(api, x->request);
  if (done) return x->respond(ok(*done));
  ApiError e = to_api_error(done.error());
  if (done.error().code == Code::kCorrupt) e.status = 400, e.code = "corrupt_file";
  if (done.error().code == Code::kExhausted) e.status = 503, e.code = "not_now";
  x->respond(to_response(e));
}

}  // namespace mlxcel::server
