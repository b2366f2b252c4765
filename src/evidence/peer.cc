#include "evidence/peer.h"

#include "base/cat.h"
#include "evidence/statistics.h"
#include "evidence/store.h"

namespace mlxcel {
namespace {

Result<std::vector<double>> numbers(const json::object& o, const std::string& path, int count) {
  const json::value* v = value_at(o, path);
  std::vector<double> all;
  if (v != nullptr && v->is_array()) {
    for (const json::value& x : v->get_array()) {
      if (x.is_number() && x.to_number<double>() > 0) all.push_back(x.to_number<double>());
    }
  }
  if (static_cast<int>(all.size()) != count)
    return Error{Code::kCorrupt,
                 cat("peer: ", path, ": expected ", count, " numbers above 0, found ", all.size())};
  return all;
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<Peer> kPeers = {
      {"llama.cpp", "llamacpp", "llama_peer.py", "", "--batch 0"},
      {"mlx-lm", "pylm", "mlx_peer.py", "--model", "--batches --blocks"}};
  return kPeers;
}

Result<Peer> find_peer(const std::string& name) {
  std::string names;
  for (const Peer& p : peers()) {
    if (name == p.name) return p;
    names += cat(names.empty() ? "" : ", ", p.name);
  }
  return Error{Code::kInvalid, cat("bench peer: expected one of ", names, "; found ", name)};
}

Status read_peer_output(const Peer& peer, const PeerWork& work, std::string_view output,
                        RecordParts& parts) {
  boost::system::error_code error;
  const json::value v = json::parse({output.data(), output.size()}, error);
  if (error || !v.is_object()) {
    return Error{Code::kCorrupt,
                 cat("peer: expected one JSON object, found ", output.substr(0, 100))};
  }
  const json::object& o = v.get_object();
  for (const auto& [key, wanted] : {std::pair{"prompt", work.prompt_tokens},
                                    {"generate", work.gen_tokens},
                                    {"reps", work.reps}}) {
    const json::value* found = value_at(o, key);
    if (found == nullptr || !found->is_int64() || found->get_int64() != wanted)
      return Error{Code::kCorrupt, cat("peer: ", key, ": expected ", wanted, ", found ",
                                       found == nullptr ? "none" : json::serialize(*found))};
  }
  const json::value* version = value_at(o, "baseline_version");
  if (version == nullptr || !version->is_string() || version->get_string().empty())
    return Error{Code::kCorrupt, "peer: expected a baseline_version, found none"};
  TRY(std::vector<double> prefill, numbers(o, "prefill.rounds", work.reps));
  TRY(std::vector<double> decode, numbers(o, "decode.rounds", work.reps));
  const json::value* device = value_at(o, "device");
  parts.program.baseline_version = std::string(version->get_string());
  parts.results = {{"prompt_tokens", work.prompt_tokens},
                   {"gen_tokens", work.gen_tokens},
                   {"batch", 1},
                   {"width", 1},
                   {"prefill_tok_s", median(prefill)},
                   {"decode_tok_s", median(decode)},
                   {"backend",
                    {{"name", peer.harness},
                     {"device", device == nullptr ? json::value("unknown") : *device},
                     {"threads", work.threads}}}};
  parts.metrics = {{"prefill_tok_s", "tok/s", std::move(prefill)},
                   {"decode_tok_s", "tok/s", std::move(decode)}};
  return Ok{};
}

}  // namespace mlxcel
