// KV in files: what the prefix cache knows of a prompt, saved and brought back, also by another
// process. The bytes are those of the pages, so that answers are equal to those without.
//
//   "mlxcelKV", version, identity, per group page bytes and first page, tokens, checksum;
//   then every page with its checksum, group by group. Little-endian.
//
// A file is written beside its place and renamed: under its name it is whole. One that was cut,
// changed, or made by another model or build is refused; nothing of it is used. (Where the prefix
// cache has no room for all of it, the pages that it took stay, and the answer is kExhausted.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/service.h"

namespace mlxcel {

struct KvFileResult {
  std::vector<int32_t> tokens;  // whose keys and values are in the file
  int64_t bytes = 0;            // of the file
};

// `identity` names the model and how it computes: equal ones give equal KV. Both run beside the
// engine's steps; the pages are held meanwhile. Codes: kNotFound (nothing is known of `tokens`, or
// no such file), kCorrupt, kInvalid (another identity), kExhausted (no pages), kUnsupported, kIo.
Result<KvFileResult> save_kv(Service& service, std::span<const int32_t> tokens,
                             const std::string& identity, const std::string& path);
Result<KvFileResult> restore_kv(Service& service, const std::string& identity,
                                const std::string& path);

}  // namespace mlxcel
