#include <cstdint>
#include <initializer_list>

#include "base/cat.h"
#include "formats/hostile_files.h"

namespace mlxcel {
namespace {

std::string with_length(uint64_t length, std::string_view header, size_t data) {
  std::string s(reinterpret_cast<const char*>(&length), sizeof length);
  s += header;
  s.append(data, '\1');
  return s;
}

// A file of `header` and `data` bytes.
std::string file(std::string_view header, size_t data) {
  return with_length(header.size(), header, data);
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return cat('"', name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape,
             ",\"data_offsets\":", offsets, '}');
}

std::string object(std::initializer_list<std::string> members) {
  std::string s = "{";
  for (const std::string& m : members) s += cat(s.size() > 1 ? "," : "", m);
  return s + "}";
}

std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return object({entry("t", dtype, shape, offsets)});
}

void add_lengths(std::vector<HostileFile>& all) {
  all.push_back({"empty", "", "header length: expected 8 bytes, found 0"});
  all.push_back({"length_only", with_length(2, "", 0),
                 "header length: expected 2 to 0 (the file has 8 bytes), found 2"});
  all.push_back({"length_0", with_length(0, "{}", 0),
                 "header length: expected 2 to 2 (the file has 10 bytes), found 0"});
  all.push_back(
      {"length_2_63", with_length(uint64_t{1} << 63, "{}", 0),
       "header length: expected 2 to 2 (the file has 10 bytes), found 9223372036854775808"});
  all.push_back(
      {"length_2_64", with_length(UINT64_MAX, "{}", 0),
       "header length: expected 2 to 2 (the file has 10 bytes), found 18446744073709551615"});
  all.push_back({"lfs_pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
                 "header length: expected a safetensors file, found a Git LFS pointer: download "
                 "the file"});
}

void add_offsets(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, const std::string& header, size_t data,
                       const char* error) {
    all.push_back({name, file(header, data), error});
  };
  add("too_small", one("F32", "[1000,1000]", "[0,4]"), 4,
      "tensor \"t\": data_offsets: expected 4000000 bytes ([1000, 1000] of F32), found 4 [0, 4]");
  add("past_end", one("F32", "[1000,1000]", "[0,4000000]"), 4,
      "tensor \"t\": data_offsets: expected an end up to 4, the bytes of data, found "
      "[0, 4000000]");
  add("reversed", one("F32", "[1]", "[4,0]"), 4,
      "tensor \"t\": data_offsets: expected a begin up to the end, found [4, 0]");
  add("overlap", object({entry("a", "F32", "[2]", "[0,8]"), entry("b", "F32", "[1]", "[4,8]")}), 8,
      "tensor \"b\": data_offsets: expected data to begin at 8, where the one before ends, found "
      "4");
  add("hole", object({entry("a", "F32", "[1]", "[0,4]"), entry("b", "F32", "[1]", "[8,12]")}), 12,
      "tensor \"b\": data_offsets: expected data to begin at 4, where the one before ends, found "
      "8");
  add("hole_first", one("F32", "[1]", "[4,8]"), 8,
      "tensor \"t\": data_offsets: expected data to begin at 0, where the one before ends, found "
      "4");
  add("trailing", one("F32", "[1]", "[0,4]"), 8,
      "data: expected 4 bytes, as the header says, found 8");
  add("shape_overflow", one("F32", "[4294967296,4294967296,4]", "[0,4]"), 4,
      "tensor \"t\": data_offsets: expected [4294967296, 4294967296, 4] of F32 to be fewer than "
      "2^63 bytes, found more");
  add("shape_overflow_0", one("F32", "[4294967296,4294967296,4,0]", "[0,0]"), 0,
      "tensor \"t\": data_offsets: expected [4294967296, 4294967296, 4, 0] of F32 to be fewer "
      "than 2^63 bytes, found more");
  add("shape_negative", one("F32", "[-1]", "[0,4]"), 4,
      "tensor \"t\": shape: expected integers from 0 to 2^63 - 1, found -1");
  add("shape_2_63", one("F32", "[9223372036854775808]", "[0,4]"), 4,
      "tensor \"t\": shape: expected integers from 0 to 2^63 - 1, found 9223372036854775808");
  add("shape_fraction", one("F32", "[1.5]", "[0,4]"), 4,
      "tensor \"t\": shape: expected integers from 0 to 2^63 - 1, found 1.5");
  add("shape_nested", one("F32", "[[1]]", "[0,4]"), 4,
      "tensor \"t\": shape: expected integers from 0 to 2^63 - 1, found an array");
  add("shape_number", one("F32", "1", "[0,4]"), 4,
      "tensor \"t\": shape: expected an array of integers, found 1");
  add("offsets_three", one("F32", "[1]", "[0,4,4]"), 4,
      "tensor \"t\": data_offsets: expected two offsets, found 3");
  add("offsets_none", "{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
      "tensor \"t\": expected key \"data_offsets\", found no such key");
}

void add_names(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, const std::string& header, size_t data,
                       const char* error) {
    all.push_back({name, file(header, data), error});
  };
  const std::string a = entry("a", "U8", "[1]", "[0,1]"), b = entry("a", "U8", "[1]", "[1,2]");
  add("twice", object({a, b}), 2, "tensor \"a\": expected each name once, found it twice");
  add("dtype_f33", one("F33", "[1]", "[0,4]"), 4,
      "tensor \"t\": dtype: expected a safetensors type, found \"F33\"");
  add("dtype_q4_0", one("Q4_0", "[32]", "[0,18]"), 18,
      "tensor \"t\": dtype: expected a safetensors type, found \"Q4_0\"");
  add("dtype_f4", one("F4", "[2]", "[0,1]"), 1,
      "tensor \"t\": dtype: expected a supported type, found \"F4\"");
  add("dtype_number", "{\"t\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
      "tensor \"t\": dtype: expected a string, found 1");
  add("dtype_twice",
      "{\"t\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
      "tensor \"t\": expected each key once, found \"dtype\"");
  add("entry_number", "{\"t\":1}", 0, "tensor \"t\": expected an object, found 1");
  add("metadata_number", "{\"__metadata__\":{\"a\":1}}", 0,
      "__metadata__ \"a\": expected a string, found 1");
  add("metadata_deep", "{\"__metadata__\":{\"a\":{}}}", 0,
      "__metadata__ \"a\": expected a string, found an object");
  add("metadata_twice", "{\"__metadata__\":{},\"__metadata__\":{}}", 0,
      "__metadata__: expected it once, found it twice");
  add("name_bad_utf8", object({entry("\xff\xfe", "U8", "[1]", "[0,1]")}), 1,
      "header: expected JSON, found syntax error at byte 2 of 54");
  add("not_json", "not json", 0, "header: expected JSON, found syntax error at byte 0 of 8");
  add("json_cut", "{\"t\":", 0, "header: expected JSON, found incomplete JSON at byte 5 of 5");
  add("json_more", "{} {}", 0, "header: expected JSON, found extra data at byte 3 of 5");
  add("header_array", "[]", 0, "header: expected an object, found an array");
  add("header_number", "10", 0, "header: expected an object, found 10");
  add("header_deep", std::string(50000, '['), 0, "header: expected an object, found an array");
}

void add_legal(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, const std::string& header, size_t data) {
    all.push_back({name, file(header, data), ""});
  };
  add("no_tensors", "{}", 0);
  add("metadata", "{\"__metadata__\":{\"format\":\"pt\",\"caf\\u00e9\":\"\"}}", 0);
  add("metadata_empty", object({"\"__metadata__\":{}", entry("a", "U8", "[1]", "[0,1]")}), 1);
  add("shape_scalar", one("F32", "[]", "[0,4]"), 4);
  add("shape_empty", one("F32", "[0,5]", "[0,0]"), 0);
  add("padded", cat(one("F32", "[1]", "[0,4]"), "      "), 4);
  add("blanks", "{ \"t\" : { \"shape\" : [ 1 ] ,\n \"data_offsets\":[0,2], \"dtype\":\"BF16\"}}",
      2);
  add("key_unknown",
      "{\"t\":{\"dtype\":\"U8\",\"more\":[{\"shape\":1}],\"shape\":[1],\"data_offsets\":[0,1]},"
      "\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2],\"more\":1}}",
      2);
  add("out_of_order", object({entry("b", "U8", "[2]", "[1,3]"), entry("a", "U8", "[1]", "[0,1]")}),
      3);
  add("empty_between",
      object({entry("b", "U8", "[2]", "[1,3]"), entry("z", "U8", "[0]", "[1,1]"),
              entry("a", "U8", "[1]", "[0,1]")}),
      3);
  std::string types;
  int at = 0;
  for (const auto& [dtype, bytes] : {std::pair{"BOOL", 1},
                                     {"U8", 1},
                                     {"I8", 1},
                                     {"F8_E5M2", 1},
                                     {"F8_E4M3", 1},
                                     {"I16", 2},
                                     {"U16", 2},
                                     {"F16", 2},
                                     {"BF16", 2},
                                     {"I32", 4},
                                     {"U32", 4},
                                     {"F32", 4},
                                     {"F64", 8},
                                     {"I64", 8},
                                     {"U64", 8}}) {
    types += cat(types.empty() ? "" : ",",
                 entry(dtype, dtype, "[1]", cat('[', at, ',', at + bytes, ']')));
    at += bytes;
  }
  add("every_dtype", object({types}), static_cast<size_t>(at));
}

}  // namespace

std::vector<HostileFile> hostile_safetensors() {
  std::vector<HostileFile> all;
  add_lengths(all);
  add_offsets(all);
  add_names(all);
  add_legal(all);
  return all;
}

std::vector<HostileFile> hostile_indexes() {
  return {
      {"good", R"({"metadata":{"total_size":4},"weight_map":{"a":"m-1.safetensors"}})", ""},
      {"empty", "", "expected JSON, found incomplete JSON at byte 0 of 0"},
      {"no_map", R"({"metadata":{}})", "weight_map: expected an object, found no such key"},
      {"map_array", R"({"weight_map":[]})", "weight_map: expected an object, found an array"},
      {"map_empty", R"({"weight_map":{}})", "weight_map: expected at least one tensor, found none"},
      {"file_number", R"({"weight_map":{"a":1}})",
       "weight_map \"a\": expected a file name, found an integer"},
      {"file_outside", R"({"weight_map":{"a":"../../m.safetensors"}})",
       "weight_map \"a\": expected a .safetensors file beside the index, found "
       "\"../../m.safetensors\""},
      {"file_nul", "{\"weight_map\":{\"a\":\"m\\u0000.safetensors\"}}",
       "weight_map \"a\": expected a .safetensors file beside the index, found "
       "\"m\\x00.safetensors\""},
      {"file_pickle", R"({"weight_map":{"a":"pytorch_model.bin"}})",
       "weight_map \"a\": expected a .safetensors file beside the index, found "
       "\"pytorch_model.bin\""},
      {"array", "[]", "expected a JSON object, found an array"},
  };
}

std::vector<HostileFile> hostile_configs() {
  std::string deep = "{\"model_type\":\"m\",\"a\":";
  deep += std::string(100, '[') + std::string(100, ']') + "}";
  return {
      {"good",
       R"({"model_type":"llama","hidden_size":64,"rope_scaling":{"type":"linear","factor":2.0}})",
       ""},
      {"nulls", R"({"model_type":"llama","rope_scaling":null,"a":[null,1,[2]]})", ""},
      {"numbers", R"({"model_type":"m","a":18446744073709551615,"b":1e400,"c":-0.0})", ""},
      {"mlx",
       R"({"model_type":"m","quantization":{"bits":4,"group_size":64,"mode":"affine",)"
       R"("model.layers.0.mlp":false,"model.head":{"bits":8,"group_size":32}}})",
       ""},
      {"fp8",
       R"({"model_type":"m","quantization_config":{"quant_method":"fp8",)"
       R"("weight_block_size":[128,128],"modules_to_not_convert":["lm_head"]}})",
       ""},
      {"empty", "", "expected JSON, found incomplete JSON at byte 0 of 0"},
      {"array", "[]", "expected a JSON object, found an array"},
      {"cut", "{\"model_type\":\"lla", "expected JSON, found incomplete JSON at byte 18 of 18"},
      {"deep", deep, "expected JSON, found too deep at byte 53 of 223"},
      {"model_type_missing", "{}", "key \"model_type\" is missing"},
      {"model_type_number", R"({"model_type":1})",
       "key \"model_type\": expected a string, found 1"},
      {"bits_7", R"({"model_type":"m","quantization":{"bits":7,"group_size":64}})",
       "quantization.bits: expected one of 2, 3, 4, 5, 6, 8 (mode affine), found 7"},
      {"bits_missing", R"({"model_type":"m","quantization":{"group_size":64}})",
       "quantization.bits: expected one of 2, 3, 4, 5, 6, 8 (mode affine), found no such key"},
      {"group_size_text", R"({"model_type":"m","quantization":{"bits":4,"group_size":"64"}})",
       "quantization.group_size: expected one of 32, 64, 128 (mode affine), found a string"},
      {"mode_unknown",
       R"({"model_type":"m","quantization":{"bits":4,"group_size":64,"mode":"int4"}})",
       "quantization.mode: expected affine, mxfp4, mxfp8 or nvfp4, found \"int4\""},
      {"mxfp4_group_64",
       R"({"model_type":"m","quantization":{"bits":4,"group_size":64,"mode":"mxfp4"}})",
       "quantization.group_size: expected 32 (mode mxfp4), found 64"},
      {"module_bits_9",
       R"({"model_type":"m","quantization":{"bits":4,"group_size":64,)"
       R"("a.b":{"bits":9,"group_size":64}}})",
       "quantization.a.b.bits: expected one of 2, 3, 4, 5, 6, 8 (mode affine), found 9"},
      {"module_number", R"({"model_type":"m","quantization":{"bits":4,"group_size":64,"a.b":3}})",
       "quantization.a.b: expected an object, true or false, found an integer"},
      {"method_gptq", R"({"model_type":"m","quantization_config":{"quant_method":"gptq"}})",
       "quantization_config.quant_method: expected fp8 (or an MLX block without quant_method), "
       "found \"gptq\""},
      {"fp8_block_0",
       R"({"model_type":"m","quantization_config":{"quant_method":"fp8",)"
       R"("weight_block_size":[0,128]}})",
       "quantization_config.weight_block_size: expected sizes from 1 to 65536, found 0"},
      {"quantization_text", R"({"model_type":"m","quantization":"4bit"})",
       "quantization: expected an object, found a string"},
  };
}

}  // namespace mlxcel
