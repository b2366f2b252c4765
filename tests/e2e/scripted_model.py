"""A checkpoint whose next token is whatever the test wrote down: the engine and the server are real, the model is a table.

One layer of zeros leaves the embedding as it is. Embeddings are rows of a Hadamard matrix, orthogonal, so that the head
gives exactly the logits of a table: `Scripted(folder).script("hi", ["he", "llo"])` answers a chat "hi" with "hello".
"""
import array
import json
import pathlib
import struct

DIM = 512
LIKELY = 40.0  # the logit of what the script says next; everything else has 0


def byte_alphabet():
    """The printable character of each byte in byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, free = {}, 256
    for b in range(256):
        if b in printable:
            table[b] = chr(b)
        else:
            table[b], free = chr(free), free + 1
    return table


class Scripted:
    def __init__(self, folder, end_ids=("<|end|>",)):
        self.folder = pathlib.Path(folder)
        self.alphabet = byte_alphabet()
        self.spellings = [self.alphabet[b] for b in range(256)]
        self.added = {}          # spelling -> (id, special)
        self.table = {}          # id -> {next id: logit}
        self.nan = set()
        self.branches = []       # (content of the last message, what the prompt ends with)
        self.ends = end_ids
        for end in end_ids:
            self.control(end)

    def control(self, spelling, special=True):
        if spelling not in self.added:
            self.added[spelling] = (len(self.spellings), special)
            self.spellings.append(spelling)
        return self.added[spelling][0]

    def piece(self, text):
        """A new token. Each text may be used once; bytes that are no UTF-8 are fine."""
        data = text if isinstance(text, bytes) else text.encode()
        spelling = "".join(self.alphabet[b] for b in data)
        if len(data) == 1:
            return data[0]
        assert spelling not in self.spellings, text
        self.spellings.append(spelling)
        return len(self.spellings) - 1

    def start(self, name, after=""):
        """The token that a prompt with the last message `name` ends with."""
        mark = f"<|s:{name}|>"
        token = self.control(mark)
        self.branches.append((name, mark + after))
        return after.encode()[-1] if after else token

    def script(self, name, pieces, after="", end="<|end|>"):
        """Pieces are texts, bytes, or ("control", spelling)."""
        last = self.start(name, after)
        for p in pieces:
            token = self.control(p[1], special=len(p) < 3) if isinstance(p, tuple) else self.piece(p)
            assert last not in self.table, (name, p)
            self.table[last] = {token: LIKELY}
            last = token
        if end:
            self.table[last] = {self.control(end): LIKELY}

    def logits(self, name, values, others=-100.0):
        """The next token's logits: values[i] for id i."""
        self.table[self.start(name)] = dict(enumerate(values)) | {"others": others}

    def template(self):
        branches = "".join(f"{{% {'if' if i == 0 else 'elif'} messages[-1]['content'] == {name!r} %}}{text}"
                           for i, (name, text) in enumerate(self.branches))
        return ("{#- <tool_call> is how tools are called -#}{% if tools %}{{ tools | tojson }}{% endif %}"
                "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}"
                "{% for c in m['tool_calls'] or [] %}({{ c['function']['name'] }}: "
                "{{ c['function']['arguments']['city'] }}){% endfor %}{% endfor %}" + branches + "{% endif %}")

    def write(self):
        vocab = len(self.spellings)
        assert vocab <= DIM, "no more orthogonal rows"
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [array.array("f", [-1.0 if (i & j).bit_count() % 2 else 1.0 for j in range(DIM)]) for i in range(vocab)]
        head = [array.array("f", [0.0] * DIM) for _ in range(vocab)]
        for token, nexts in self.table.items():
            others = nexts.get("others", 0.0)
            for n in range(vocab):
                weight = nexts.get(n, others)
                if weight != 0.0:
                    for j in range(DIM):
                        head[n][j] += weight * rows[token][j] / DIM
        for token in self.nan:
            rows[token] = array.array("f", [float("nan")] * DIM)
        ones, zeros = array.array("f", [1.0] * DIM), array.array("f", [0.0] * DIM * DIM)
        layer = "model.layers.0."
        tensors = {"model.embed_tokens.weight": ([vocab, DIM], b"".join(r.tobytes() for r in rows)),
                   "lm_head.weight": ([vocab, DIM], b"".join(r.tobytes() for r in head)),
                   "model.norm.weight": ([DIM], ones.tobytes()),
                   layer + "input_layernorm.weight": ([DIM], ones.tobytes()),
                   layer + "post_attention_layernorm.weight": ([DIM], ones.tobytes())}
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj",
                     "mlp.up_proj", "mlp.down_proj"):
            tensors[layer + name + ".weight"] = ([DIM, DIM], zeros.tobytes())
        header, at = {}, 0
        for name, (shape, data) in tensors.items():
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        text = json.dumps(header).encode()
        with open(self.folder / "model.safetensors", "wb") as f:
            f.write(struct.pack("<Q", len(text)) + text)
            for _, data in tensors.values():
                f.write(data)
        self.write_texts(vocab)
        return self.folder

    def write_texts(self, vocab):
        ends = [self.added[e][0] for e in self.ends]
        config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": DIM,
                  "intermediate_size": DIM, "num_hidden_layers": 1, "num_attention_heads": 8, "num_key_value_heads": 8,
                  "vocab_size": vocab, "max_position_embeddings": 4096, "rms_norm_eps": 1e-9, "rope_theta": 10000.0,
                  "tie_word_embeddings": False, "torch_dtype": "float32", "eos_token_id": ends[0]}
        added = [{"id": i, "content": s, "special": special, "single_word": False, "lstrip": False, "rstrip": False,
                  "normalized": False} for s, (i, special) in self.added.items()]
        tokenizer = {"version": "1.0", "added_tokens": added, "normalizer": None,
                     "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                     "decoder": {"type": "ByteLevel"}, "post_processor": None,
                     "model": {"type": "BPE", "merges": [], "unk_token": None,
                               "vocab": {s: i for i, s in enumerate(self.spellings) if s not in self.added}}}
        for name, content in (("config.json", config), ("tokenizer.json", tokenizer),
                              ("generation_config.json", {"eos_token_id": ends, "temperature": 0.25, "top_k": 7}),
                              ("tokenizer_config.json", {"chat_template": self.template(), "eos_token": self.ends[0]})):
            (self.folder / name).write_text(json.dumps(content))
