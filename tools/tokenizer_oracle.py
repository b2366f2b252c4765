"""The other side of the tokenizer tests: the tokenizers and sentencepiece packages, set up from a GGUF's vocabulary as
the checkpoint's own tokenizer.json or tokenizer.model is; and the strings to compare on.

What a GGUF leaves out (normalizer, pre-tokenizer) is written here a second time, from the public files of the
checkpoints, independently of src/text/pre_tokenizer_names.cc.
"""
import random
import sys
import unicodedata

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL)
DEEPSEEK_LETTERS = (
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373\u0376"
    "\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556"
    "\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a"
    "\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
    "\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    "\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    "\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b"
    "\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a"
    "\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943]+")
DEEPSEEK_MARKS = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
DEEPSEEK_CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

# Code points that came with Unicode 14, as first-last; Python 3.11 knows no later ones.
UNICODE_14 = """61d-61d 870-88e 890-891 898-89f 8b5-8b5 8c8-8d2 c3c-c3c c5d-c5d cdd-cdd 170d-170d 1715-1715 171f-171f
180f-180f 1ac1-1ace 1b4c-1b4c 1b7d-1b7e 1dfa-1dfa 20c0-20c0 2c2f-2c2f 2c5f-2c5f 2e53-2e5d 9ffd-9fff a7c0-a7c1 a7d0-a7d1
a7d3-a7d3 a7d5-a7d9 a7f2-a7f4 fbc2-fbc2 fd40-fd4f fdcf-fdcf fdfe-fdff 10570-1057a 1057c-1058a 1058c-10592 10594-10595
10597-105a1 105a3-105b1 105b3-105b9 105bb-105bc 10780-10785 10787-107b0 107b2-107ba 10f70-10f89 11070-11075 110c2-110c2
116b9-116b9 11740-11746 11ab0-11abf 12f90-12ff2 16a70-16abe 16ac0-16ac9 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b11f-1b122
1cf00-1cf2d 1cf30-1cf46 1cf50-1cfc3 1d1e9-1d1ea 1df00-1df1e 1e290-1e2ae 1e7e0-1e7e6 1e7e8-1e7eb 1e7ed-1e7ee 1e7f0-1e7fe
1f6dd-1f6df 1f7f0-1f7f0 1f979-1f979 1f9cc-1f9cc 1fa7b-1fa7c 1faa9-1faac 1fab7-1faba 1fac3-1fac5 1fad7-1fad9 1fae0-1fae7
1faf0-1faf6 2a6de-2a6df 2b735-2b738"""


def late_code_points():
    """Those that Unicode 13 does not assign."""
    late = {c for c in range(0x110000) if unicodedata.category(chr(c)) == "Cn"}
    for part in UNICODE_14.split():
        first, last = (int(x, 16) for x in part.split("-"))
        late.update(range(first, last + 1))
    return late


def code_points():
    """Those assigned in Unicode 13, by general category. Surrogates, and U+FFFD for bytes, apart."""
    late = late_code_points()
    by_category = {}
    for c in range(0x110000):
        category = unicodedata.category(chr(c))
        if category not in ("Cn", "Cs", "Co") and c not in late:
            by_category.setdefault(category, []).append(chr(c))
    return by_category


WORDS = """the of and a to in is was He I'm don't we'll THEY'VE it'S you'Re Hello world int main return std::vector<int>
printf("%d\\n", x); self.value += 1 <div class="a"> http://example.org/a?b=c&d=1 3.14159 1234567 0x1F 12/31/2024 foo_bar
camelCaseHTTPServer Stra\u00dfe na\u00efve caf\u00e9 \u4f60\u597d \u4e16\u754c \u3053\u3093\u306b\u3061\u306f
\u043f\u0440\u0438\u0432\u0435\u0442 \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947 \uc548\ub155
\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u00bd \u00b2 \u2163 \u0967\u0968\u0969 ... --- !!! ?! $100 50% \u20ac5 a@b.c #tag
<|im_start|> <s> </s> [INST] <0x0A> \u2581 \u0120 \u010a""".split()
BLANKS = [" ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2003", "\u2028", "\u0085",
          "\u200b", "\u000b", "\n\n\n\t", "        "]
EMOJI = ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd", "\u2764\ufe0f",
         "\U0001f1e9\U0001f1ea", "\U0001f9a3", "1\ufe0f\u20e3", "\u00a9", "\u2122"]
MARKS = ["\u0301", "\u0308", "\u0327", "\u0323\u0302", "\u094d", "\u0e31", "\u05b0", "\u20dd", "\ufe0f", "\u200d"]


class Strings:
    """Endless test strings from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.points = code_points()
        self.categories = sorted(self.points)

    def char(self):
        return self.random.choice(self.points[self.random.choice(self.categories)])

    def part(self):
        r, pick = self.random.random(), self.random.choice
        if r < 0.35:
            return pick(WORDS)
        if r < 0.5:
            return pick(BLANKS)
        if r < 0.6:
            return "".join(self.char() for _ in range(self.random.randint(1, 6)))
        if r < 0.65:
            return pick(EMOJI)
        if r < 0.7:
            return pick("aeiouzNC\u0915\u0e01\u05d0") + pick(MARKS) * self.random.randint(1, 2)
        if r < 0.76:
            return "".join(pick("0123456789") for _ in range(self.random.randint(1, 12)))
        if r < 0.82:
            return pick([" ", "\n", "-", "=", "a", "Z", "\u4f60", "1", "'", "\u00e9", "\t", "."]) * self.random.randint(2, 70)
        if r < 0.86:
            data = bytes(self.random.randrange(256) for _ in range(self.random.randint(1, 8)))
            return data.decode("utf-8", errors="replace")
        if r < 0.93:
            return "".join(pick("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'") for _ in range(
                self.random.randint(1, 14)))
        return "".join(chr(self.random.choice([self.random.randrange(32, 127), self.random.randrange(0xa0, 0x250)]))
                       for _ in range(self.random.randint(1, 10)))

    def string(self):
        sep = self.random.choice(["", "", " "])
        return sep.join(self.part() for _ in range(self.random.randint(1, 9)))

    def many(self, count):
        return [self.string() for _ in range(count)]


class Gguf:
    """The tokenizer keys of a GGUF file."""

    def __init__(self, path):
        from gguf import GGUFReader
        fields = GGUFReader(path).fields
        self.fields = {k[len("tokenizer.ggml."):]: v.contents() for k, v in fields.items()
                       if k.startswith("tokenizer.ggml.")}
        name = fields.get("general.name")
        self.name = name.contents() if name else ""

    def __getitem__(self, key):
        return self.fields[key]

    def get(self, key, otherwise=None):
        return self.fields.get(key, otherwise)


def pre_tokenizer(pre):
    """(normalizer or None, pre-tokenizer, ignore_merges) of a tokenizer.ggml.pre."""
    from tokenizers import Regex, normalizers as n, pre_tokenizers as p
    split = lambda pattern: p.Split(Regex(pattern), "isolated")
    bytes_only = p.ByteLevel(add_prefix_space=False, use_regex=False)
    gpt2 = p.ByteLevel(add_prefix_space=False, use_regex=True)
    of = {
        "gpt-2": (None, gpt2, False),
        "mpt": (n.NFC(), gpt2, False),
        "smollm": (None, p.Sequence([p.Digits(individual_digits=True), gpt2]), False),
        "command-r": (n.NFC(), p.Sequence([p.Digits(individual_digits=True), gpt2]), False),
        "llama-bpe": (None, p.Sequence([split(LLAMA3), bytes_only]), True),
        "qwen2": (n.NFC(), p.Sequence([split(QWEN2), bytes_only]), False),
        "qwen35": (None, p.Sequence([split(QWEN35), bytes_only]), False),
        "gpt-4o": (None, p.Sequence([split(O200K), bytes_only]), False),
        "falcon": (None, p.Sequence([p.Punctuation("contiguous"), gpt2, p.Digits(individual_digits=False),
                                     split("[0-9][0-9][0-9]")]), False),
        "deepseek-coder": (None, p.Sequence([split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                             split(DEEPSEEK_CJK), p.Digits(individual_digits=True), bytes_only]), False),
        "deepseek-llm": (None, p.Sequence([split("[\r\n]"), split(DEEPSEEK_LETTERS), split(DEEPSEEK_MARKS),
                                           split(r"\s+$"), split(DEEPSEEK_CJK), split(r"\p{N}+"), bytes_only]), False),
    }
    # A vocabulary that names none (old files): what llama.cpp does then.
    of["default"] = (None, p.Sequence([split(r"[\p{P}\$\+<=>\^~\|]+"), split(GPT2), split(r"\p{N}+"),
                                       split("[0-9][0-9][0-9]"), bytes_only]), False)
    for same in ("starcoder", "refact"):
        of[same] = of["smollm"]
    return of[pre]


def add_tokens(tokenizer, g):
    from tokenizers import AddedToken
    phi3 = "phi-3" in g.name.lower() or "phi3" in g.name.lower()
    special, plain = [], []  # added in one go: each call of the package builds its tables again
    for text, kind in zip(g["tokens"], g["token_type"]):
        if kind in (2, 3):
            rstrip = phi3 and text not in ("<unk>", "<s>", "<|endoftext|>")
            special.append(AddedToken(text, special=True, normalized=False, rstrip=rstrip))
        elif kind == 4:
            plain.append(AddedToken(text, special=False, normalized=False, rstrip=phi3))
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(plain)


def byte_level(g):
    from tokenizers import Tokenizer, decoders, models
    normalizer, pre, ignore_merges = pre_tokenizer(g.get("pre", "default"))
    merges = [tuple(m.split(" ")) for m in g["merges"]]
    t = Tokenizer(models.BPE({s: i for i, s in enumerate(g["tokens"])}, merges, ignore_merges=ignore_merges))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    add_tokens(t, g)
    return t


def gemma4(g):
    from tokenizers import Tokenizer, decoders, models, normalizers
    merges = []
    for m in g["merges"]:
        at = m.index(" ", 1)
        merges.append((m[:at], m[at + 1:]))
    t = Tokenizer(models.BPE({s: i for i, s in enumerate(g["tokens"])}, merges, unk_token="<unk>", fuse_unk=True,
                             byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    add_tokens(t, g)
    return t


def word_piece(g):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    vocab = {}
    for i, (s, kind) in enumerate(zip(g["tokens"], g["token_type"])):
        if s.startswith("\u2581"):
            s = s[1:]
        elif kind == 1 and not (s.startswith("[") and s.endswith("]")):
            s = "##" + s
        vocab[s] = i
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    add_tokens(t, g)
    return t


def unigram(g):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
    t = Tokenizer(models.Unigram(list(zip(g["tokens"], g["scores"])), g["unknown_token_id"], False))
    t.normalizer = normalizers.Sequence([
        normalizers.Precompiled(bytes(x & 255 for x in g["precompiled_charsmap"])), normalizers.Strip(),
        normalizers.Replace(__import__("tokenizers").Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    add_tokens(t, g)
    return t


class SentencePiece:
    """sentencepiece itself, with a model file made from the vocabulary."""

    def __init__(self, g):
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2 as pb
        model = pb.ModelProto()
        self.special = {i for i, kind in enumerate(g["token_type"]) if kind in (2, 3)}
        kinds = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6}
        for piece, score, kind in zip(g["tokens"], g["scores"], g["token_type"]):
            model.pieces.add(piece=piece, score=score, type=kinds[kind])
        for i, piece in enumerate(model.pieces):
            if i == 0 or piece.type == 2:
                piece.type = 2 if i == 0 else 3
        t = model.trainer_spec
        t.model_type, t.byte_fallback, t.unk_id, t.bos_id, t.eos_id, t.pad_id = 2, True, 0, 1, 2, -1
        t.unk_piece = g["tokens"][0]
        n = model.normalizer_spec
        n.name, n.add_dummy_prefix, n.remove_extra_whitespaces, n.escape_whitespaces = (
            "identity", bool(g.get("add_space_prefix", True)), False, True)
        self.sp = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())

    def encode(self, text):
        return self.sp.encode(text) if text else []


class SpmFile:
    """A tokenizer.model in sentencepiece itself."""

    def __init__(self, path):
        import sentencepiece
        self.sp = sentencepiece.SentencePieceProcessor(model_file=str(path))
        n = self.sp.get_piece_size()
        self.control = {i for i in range(n) if self.sp.is_control(i) or self.sp.is_unknown(i)}
        self.spellings = [self.sp.id_to_piece(i) for i in self.control]

    def encode(self, text):
        return self.sp.encode(text)

    def decode(self, ids):
        return self.sp.decode(ids)


class Hf:
    def __init__(self, t):
        self.t = t

    def encode(self, text):
        return self.t.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        return self.t.decode(ids, skip_special_tokens=False)


def oracle(path):
    """Of a GGUF, a tokenizer.json or a tokenizer.model."""
    if str(path).endswith(".model"):
        return SpmFile(path)
    if str(path).endswith(".json"):
        from tokenizers import Tokenizer
        t = Tokenizer.from_file(str(path))
        t.no_padding()
        t.no_truncation()
        return Hf(t)
    g = Gguf(path)
    if g["model"] == "llama":
        return SentencePiece(g)
    return Hf({"gpt2": byte_level, "gemma4": gemma4, "bert": word_piece, "t5": unigram}[g["model"]](g))


if __name__ == "__main__":
    sys.exit("a module: see check_tokenizers.py")
