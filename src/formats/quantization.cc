#include "formats/quantization.h"

#include <algorithm>
#include <initializer_list>

#include "base/cat.h"
#include "formats/json_file.h"
#include "formats/mapped_file.h"

namespace mlxcel {
namespace {

using Scheme = Quantization::Scheme;

struct Mode {
  std::string_view name;
  std::initializer_list<int> bits, group_sizes;
};

const Mode kModes[] = {
    {"affine", {2, 3, 4, 5, 6, 8}, {32, 64, 128}},
    {"mxfp4", {4}, {32}},
    {"mxfp8", {8}, {32}},
    {"nvfp4", {4}, {16}},
};

std::string one_of(std::initializer_list<int> values) {
  std::string s;
  for (const int v : values) s += cat(s.empty() ? "" : ", ", v);
  return values.size() == 1 ? s : "one of " + s;
}

Error wrong(std::string_view field, std::string_view expected, std::string_view found,
            Code code = Code::kCorrupt) {
  return {code, cat(field, ": expected ", expected, ", found ", found)};
}

Result<int> member(const json::object& block, std::string_view name, std::string_view field,
                   std::initializer_list<int> allowed, std::string_view mode) {
  const std::string full = cat(field, '.', name);
  const std::string expected = cat(one_of(allowed), " (mode ", mode, ")");
  const json::value* value = block.if_contains(name);
  if (value == nullptr) return wrong(full, expected, "no such key");
  const int64_t* number = value->if_int64();
  if (number == nullptr) return wrong(full, expected, kind_name(*value));
  if (std::find(allowed.begin(), allowed.end(), *number) == allowed.end())
    return wrong(full, expected, cat(*number), Code::kUnsupported);
  return static_cast<int>(*number);
}

Result<Scheme> scheme(const json::object& block, std::string_view field) {
  Scheme s;
  if (const json::value* mode = block.if_contains("mode"); mode != nullptr && !mode->is_null()) {
    if (!mode->is_string()) return wrong(cat(field, ".mode"), "a string", kind_name(*mode));
    s.mode = std::string_view(mode->get_string());
  }
  const Mode* known = std::find_if(std::begin(kModes), std::end(kModes),
                                   [&](const Mode& m) { return m.name == s.mode; });
  if (known == std::end(kModes)) {
    return wrong(cat(field, ".mode"), "affine, mxfp4, mxfp8 or nvfp4", in_quotes(s.mode),
                 Code::kUnsupported);
  }
  TRY(s.bits, member(block, "bits", field, known->bits, s.mode));
  TRY(s.group_size, member(block, "group_size", field, known->group_sizes, s.mode));
  return s;
}

Result<Quantization> mlx(const json::object& block, std::string_view field) {
  Quantization q;
  TRY(q.common, scheme(block, field));
  for (const auto& item : block) {
    const std::string_view module = item.key();
    const json::value& value = item.value();
    if (module == "bits" || module == "group_size" || module == "mode") continue;
    if (const bool* coded = value.if_bool()) {
      q.modules[std::string(module)] = *coded ? q.common : std::nullopt;
    } else if (const json::object* own = value.if_object()) {
      TRY(q.modules[std::string(module)], scheme(*own, cat(field, '.', module)));
    } else if (module.find('.') != module.npos) {
      return wrong(cat(field, '.', module), "an object, true or false", kind_name(value));
    }  // else a note of a tool ("linear_class", "quantized_by")
  }
  return q;
}

Result<Quantization> fp8(const json::object& block, std::string_view field) {
  Scheme s{"fp8", 8, 0, {}};
  if (const json::value* sizes = block.if_contains("weight_block_size");
      sizes != nullptr && !sizes->is_null()) {
    const std::string full = cat(field, ".weight_block_size");
    const json::array* pair = sizes->if_array();
    if (pair == nullptr || pair->size() != 2) return wrong(full, "two sizes", kind_name(*sizes));
    for (const json::value& size : *pair) {
      const int64_t* n = size.if_int64();
      if (n == nullptr || *n < 1 || *n > 65536)
        return wrong(full, "sizes from 1 to 65536", n ? cat(*n) : kind_name(size));
      s.block.push_back(*n);
    }
  }
  Quantization q;
  q.common = s;
  if (const json::value* skipped = block.if_contains("modules_to_not_convert");
      skipped != nullptr && skipped->is_array()) {
    for (const json::value& module : skipped->get_array()) {
      if (module.is_string())
        q.modules[std::string(std::string_view(module.get_string()))] = std::nullopt;
    }
  }
  return q;
}

}  // namespace

Result<Quantization> parse_quantization(std::string_view where, const json::object& config) {
  for (const std::string_view name : {"quantization", "quantization_config"}) {
    const json::value* value = config.if_contains(name);
    if (value == nullptr || value->is_null()) continue;
    const std::string field = cat(where, ": ", name);
    const json::object* block = value->if_object();
    if (block == nullptr) return wrong(field, "an object", kind_name(*value));
    const json::value* method = block->if_contains("quant_method");
    if (method == nullptr) return mlx(*block, field);
    if (!method->is_string())
      return wrong(cat(field, ".quant_method"), "a string", kind_name(*method));
    if (method->get_string() == "fp8") return fp8(*block, field);
    return wrong(cat(field, ".quant_method"), "fp8 (or an MLX block without quant_method)",
                 in_quotes(std::string_view(method->get_string())), Code::kUnsupported);
  }
  return Quantization{};
}

}  // namespace mlxcel
