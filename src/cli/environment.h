// The environment variables and exit statuses, said once: for the help, the man page and the test
// that compares docs/commands.md and the sources with them.
#pragma once

namespace mlxcel {

struct Described {
  const char *name, *meaning;
};

inline constexpr Described kEnvironment[] = {
    {"MLXCEL_CACHE_DIR", "holds models/ and the history of run (~/.cache/mlxcel)"},
    {"MLXCEL_MODELS_DIR", "the store, OWNER/NAME in it ($MLXCEL_CACHE_DIR/models)"},
    {"MLXCEL_DEFAULT_ORG", "owner of names without one (mlx-community)"},
    {"MLXCEL_ISA", "instruction set of the kernels, as --isa"},
    {"MLXCEL_CPU_ACT", "f32: activations stay float on CPUs (int8)"},
    {"MLXCEL_CPU_KV", "f16, bf16 or int8: keys and values on CPUs (f16)"},
    {"MLXCEL_CUDA_GRAPH", "0: no CUDA graphs"},
    {"MLXCEL_CUDA_SHARE_PARTS", "0: parts of k are not shared among blocks on GPUs"},
    {"MLXCEL_FUSED_NORM", "0: norms as kernels of their own, on GPUs"},
    {"MLXCEL_FUSED_LINEARS", "0: plain ops instead of this fused one, on GPUs"},
    {"MLXCEL_FUSED_GATED", "0: the same"},
    {"MLXCEL_FUSED_LINEAR_ADD", "0: the same"},
    {"MLXCEL_FUSED_ROPE_APPEND", "0: the same; on CPUs 0 or 1"},
    {"MLXCEL_HW_LABEL", "what records call this machine"},
    {"MLXCEL_BENCH_LLC_BYTES", "size of the last-level cache, for bench"},
    {"MLXCEL_TUNE", "what tune found: chooses the instruction set"},
    {"MODELS_DIR", "the folder of bench decode all and catalog (the store)"},
    {"BENCH_ALLOW_STALE_BINARY", "1: bench with a program older than the sources beside it"},
    {"BENCH_MEM_OVERHEAD_FACTOR", "bench decode all: weights times this must fit (1)"},
    {"INDEXER_EXTRA_NAMES", "more processes for bench quiet to pause, one a line"},
    {"PYTHON", "for bench peer (python3)"},
    {"HF_ENDPOINT", "another hub (https://huggingface.co)"},
    {"HF_TOKEN", "opens private and gated models; only the hub itself sees it"},
    {"HF_TOKEN_PATH", "the file with the token ($HF_HOME/token)"},
    {"HF_HOME", "of Hugging Face's tools (~/.cache/huggingface)"},
    {"HF_HUB_CACHE", "their cache, whose files are used, not changed ($HF_HOME/hub)"},
    {"HF_HUB_OFFLINE", "1: as --offline"},
    {"HF_HUB_DOWNLOAD_TIMEOUT", "seconds of silence that count as a cut (30)"},
    {"SSL_CERT_FILE", "certificate authorities for downloads, PEM"},
    {"HOME", "where ~ is"},
};

inline constexpr Described kStatuses[] = {
    {"0", "done"},
    {"1", "an error, or the answer is no"},
    {"2", "a wrong command line"},
    {"130", "Ctrl-C"},
};

}  // namespace mlxcel
