// What a script of bench/peers printed, as a record beside ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/record.h"

namespace mlxcel {

struct Peer {
  const char* name;     // "mlx-lm"
  const char* harness;  // what its tables begin with
  const char* script;
  const char* model_flag;  // before the model on the script's command line; "": positional
  const char* extra;       // arguments that leave out what we do not measure
};
const std::vector<Peer>& peers();
Result<Peer> find_peer(const std::string& name);

struct PeerWork {
  int prompt_tokens = 512, gen_tokens = 128, reps = 5, threads = 1;
};

// Fills metrics, results and baseline_version. Refuses output that is not the record of this work.
Status read_peer_output(const Peer& peer, const PeerWork& work, std::string_view output,
                        RecordParts& parts);

}  // namespace mlxcel
