#include "cli/measured_model.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "base/cat.h"
#include "cli/version.h"
#include "weights/load.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

// Bytes in the file of all matrices, and of those that each step reads whole.
class CountVisitor final : public WeightVisitor {
 public:
  explicit CountVisitor(const Checkpoint& c) : checkpoint_(c) {}
  void matrix(Matrix&, int64_t, int64_t, const WeightSpec& spec) override {
    const int64_t bytes = bytes_of_weight(spec);
    all += bytes;
    if (spec.name.ends_with("embed_tokens.weight")) {
      embedding = bytes;
    } else {
      read += bytes;
      head |= spec.name == "lm_head.weight";
    }
  }
  void vector(Vector&, int64_t, const WeightSpec& spec) override {
    all += bytes_of_weight(spec), read += bytes_of_weight(spec);
  }

  int64_t all = 0, read = 0, embedding = 0;
  bool head = false;  // of its own; otherwise the embedding is read as the head

 private:
  int64_t bytes_of_weight(const WeightSpec& spec) const {
    const bool gguf = checkpoint_.kind() == Checkpoint::Kind::kGguf;
    const FileTensor* t = checkpoint_.find(gguf ? spec.gguf : spec.name);
    int64_t bytes = t == nullptr ? 0 : t->bytes;
    if (!gguf && spec.name.ends_with(".weight")) {  // MLX's triples
      const std::string module = spec.name.substr(0, spec.name.size() - 7);
      for (const char* part : {".scales", ".biases"}) {
        if (const FileTensor* p = checkpoint_.find(module + part); p != nullptr) bytes += p->bytes;
      }
    }
    return bytes;
  }
  const Checkpoint& checkpoint_;
};

}  // namespace

Result<OpenMeasuredModel> OpenMeasuredModel::make(const OpenModel& model) {
  OpenMeasuredModel m(model);
  CountVisitor count(model.checkpoint);
  model.family->visit(count);
  if (!count.head) count.read += count.embedding;
  if (count.all == 0) return Error{Code::kInvalid, "model: expected weights, found none"};
  // The backend repacks, so its bytes are the file's up to a factor.
  m.weight_bytes_ =
      static_cast<int64_t>(static_cast<double>(model.plan.weights) *
                           static_cast<double>(count.read) / static_cast<double>(count.all));
  return m;
}

int64_t OpenMeasuredModel::kv_bytes(int64_t positions) const {
  int64_t bytes = 0;
  for (const KvGroup& g : model_.family->facts().kv_groups) {
    const int64_t seen =
        g.kind == KvGroup::Kind::kWindow ? std::min<int64_t>(positions, g.window) : positions;
    bytes += model_.backend->page_bytes(g) * seen / kPagePositions;
  }
  return bytes;
}

std::string quantization_text(const Checkpoint& checkpoint) {
  if (const auto& q = checkpoint.quantization().common; q && q->bits > 0)
    return cat(q->mode, " ", q->bits, " bits, groups of ", q->group_size);
  std::map<std::string, size_t> bytes;
  for (const FileTensor& t : checkpoint.tensors())
    bytes[name(t.dtype)] += static_cast<size_t>(t.bytes);
  const auto most = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes.end() ? "none" : most->first;
}

Result<ModelFacts> model_facts_of(const Checkpoint& checkpoint) {
  const fs::path path = checkpoint.path();
  std::vector<std::string> files;
  std::error_code error;
  const std::string name = path.filename().string();
  std::smatch split;
  static const std::regex kPart("(.*)-\\d{5}-of-\\d{5}\\.gguf");
  if (!fs::is_directory(path, error) && !std::regex_match(name, split, kPart)) {
    files.push_back(path.string());
    if (checkpoint.kind() == Checkpoint::Kind::kSafetensors)
      files.push_back((path.parent_path() / "config.json").string());
  } else {
    const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string f = entry.path().filename().string();
      const bool wanted =
          checkpoint.kind() == Checkpoint::Kind::kSafetensors
              ? f.ends_with(".safetensors") || f == "config.json"
              : f.ends_with(".gguf") && (split.empty() || f.starts_with(split[1].str() + "-"));
      if (wanted) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return model_facts(path.string(), quantization_text(checkpoint), files);
}

Result<ModelFacts> model_name_of(const Checkpoint& checkpoint) {
  return model_facts(checkpoint.path(), quantization_text(checkpoint), {});
}

ProgramFacts program_facts() {
  ProgramFacts p;
  p.version = version_number(), p.commit = commit();
#if defined(__clang__)
  p.compiler = cat("Clang ", __clang_version__);
#else
  p.compiler = cat("GCC ", __VERSION__);
#endif
#ifdef MLXCEL_CUDA_TOOLKIT
  p.toolkit = "CUDA " MLXCEL_CUDA_TOOLKIT, p.sm_target = MLXCEL_SM_TARGET;
#endif
  return p;
}

std::vector<std::string> command_words() {
  std::vector<std::string> words;
  for (char** v = environ; *v != nullptr; v++) {
    const std::string variable = *v;
    if (variable.starts_with("MLXCEL_") && !variable.starts_with("MLXCEL_CACHE_DIR"))
      words.push_back(variable);
  }
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

json::object backend_json(const BackendInfo& info) {
  return {{"name", info.name},
          {"device", info.device},
          {"isa", info.isa},
          {"threads", info.threads},
          {"exactness_class", info.exactness_class}};
}

}  // namespace mlxcel
