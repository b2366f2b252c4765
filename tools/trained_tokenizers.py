"""Small tokenizers that tests train on the spot: together they use every stage that a tokenizer.json may have."""
import collections
import json
import math
import struct

from tokenizers import AddedToken, Regex, Tokenizer, decoders as d, models as m, normalizers as n
from tokenizers import pre_tokenizers as p, processors as pr, trainers as tr

ADDED = [AddedToken("<|u|>", special=True), AddedToken("<l>", special=True, lstrip=True),
         AddedToken("<r>", special=True, rstrip=True), AddedToken("[M]", special=False, lstrip=True, rstrip=True),
         AddedToken("word", special=False, single_word=True), AddedToken("Loud", special=False, normalized=True),
         AddedToken("<|u|>x", special=True), AddedToken("    ", special=False)]


def charsmap(rules):
    """SentencePiece's format: a double-array trie over the rules, then the replacements."""
    units = {}
    texts, at = b"", {}
    for key, value in rules.items():
        at[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    used = {0}

    def place(node, keys, depth):
        labels = sorted({k[depth] if depth < len(k) else 0 for k in keys})
        offset = 1
        while any((node ^ offset ^ x) in used or node ^ offset ^ x >= 1 << 20 for x in labels):
            offset += 1
        base = node ^ offset
        for x in labels:
            used.add(base ^ x)
        has_leaf = 0 in labels
        units[node] = units.get(node, 0) | offset << 10 | (1 << 8 if has_leaf else 0)
        for x in labels:
            below = [k for k in keys if (k[depth] if depth < len(k) else 0) == x]
            if x == 0:
                units[base] = 1 << 31 | at[below[0]]
            else:
                units[base ^ x] = x
                place(base ^ x, below, depth + 1)

    place(0, [k.encode() for k in rules], 0)
    size = max(units) + 257
    trie = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(trie)) + trie + texts


def split(pattern, behavior, invert=False):
    return p.Split(Regex(pattern), behavior, invert)


def bpe(corpus, normalizer=None, pre=None, decoder=None, post=None, trainer=None, added=(), **model):
    t = Tokenizer(m.BPE(**model))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    if decoder:
        t.decoder = decoder
    t.train_from_iterator(corpus, trainer or tr.BpeTrainer(vocab_size=700, show_progress=False))
    t.add_tokens([a for a in added if not a.special])
    t.add_special_tokens([a for a in added if a.special])
    if post:
        t.post_processor = post
    return t


def all_bytes(**options):
    return tr.BpeTrainer(vocab_size=700, show_progress=False, initial_alphabet=p.ByteLevel.alphabet(), **options)


def fallback(**options):
    return tr.BpeTrainer(vocab_size=900, show_progress=False, special_tokens=["<unk>", "<s>"] + [f"<0x{i:02X}>" for i in
                                                                                              range(256)], **options)


def unspecial(t):
    """The byte tokens and <unk> were given to the trainer as special tokens: they are plain ones."""
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(j))


def substrings(corpus):
    """A Unigram vocabulary: frequent parts of words with their log frequencies."""
    counts = collections.Counter()
    for text in corpus[:800]:
        for word in text.split(" "):
            word = "\u2581" + word[:30]
            counts.update(word[i:j] for i in range(len(word)) for j in range(i + 1, min(len(word), i + 7) + 1))
    total = sum(counts.values())
    return [(w, math.log(c / total)) for w, c in sorted(counts.items(), key=lambda x: (-x[1], x[0]))[:900]]


def build(corpus):
    """name -> Tokenizer."""
    gpt2 = p.ByteLevel(add_prefix_space=False)
    made = {
        "byte_level_added": bpe(corpus, pre=gpt2, decoder=d.ByteLevel(), trainer=all_bytes(), added=ADDED),
        "byte_level_prefix": bpe(corpus, normalizer=n.Sequence([n.NFKC(), n.Replace(Regex(r"\d+"), "#")]),
                                 pre=p.ByteLevel(add_prefix_space=True), decoder=d.ByteLevel(), trainer=all_bytes(),
                                 post=pr.ByteLevel(trim_offsets=True)),
        "byte_level_normalizer": bpe(corpus, normalizer=n.Sequence([n.NFD(), n.ByteLevel()]), decoder=d.ByteLevel(),
                                     trainer=all_bytes()),
        "ignore_merges": bpe(corpus, pre=gpt2, decoder=d.ByteLevel(), trainer=all_bytes(), ignore_merges=True),
        "lowercase_added": bpe(corpus, normalizer=n.Sequence([n.Lowercase(), n.StripAccents()]), pre=gpt2,
                               decoder=d.ByteLevel(), trainer=all_bytes(), added=ADDED),
        "byte_fallback": unspecial(bpe(
            corpus[:300], normalizer=n.Sequence([n.Prepend("\u2581"), n.Replace(" ", "\u2581")]), trainer=fallback(),
            decoder=d.Sequence([d.Replace("\u2581", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)]),
            unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
        "unknown_fused": bpe(corpus[:100], pre=p.Whitespace(), unk_token="[U]", fuse_unk=True,
                             trainer=tr.BpeTrainer(vocab_size=300, special_tokens=["[U]"], limit_alphabet=40,
                                                   show_progress=False)),
        "word_suffix": bpe(corpus, normalizer=n.NFC(), pre=p.WhitespaceSplit(), decoder=d.BPEDecoder("</w>"),
                           trainer=tr.BpeTrainer(vocab_size=900, end_of_word_suffix="</w>", special_tokens=["[U]"],
                                                 show_progress=False), unk_token="[U]", end_of_word_suffix="</w>"),
        "word_prefix": bpe(corpus, pre=p.BertPreTokenizer(), decoder=d.WordPiece("##", True),
                           trainer=tr.BpeTrainer(vocab_size=900, continuing_subword_prefix="##", special_tokens=["[U]"],
                                                 show_progress=False), unk_token="[U]", continuing_subword_prefix="##"),
        "strip_both": bpe(corpus, normalizer=n.Sequence([n.Strip(), n.Nmt(), n.NFKD()]), pre=gpt2, trainer=all_bytes(),
                          decoder=d.Sequence([d.ByteLevel(), d.Strip("a", 2, 0), d.Replace("ab", "-")])),
    }
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        pre = p.Sequence([split(r"[\s\d]", behavior), split("[a-f]+", behavior, True), p.Punctuation(behavior), gpt2])
        made[f"split_{behavior}"] = bpe(corpus, pre=pre, decoder=d.ByteLevel(), trainer=all_bytes())
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            made[f"metaspace_{scheme}_{cut}"] = bpe(
                corpus, pre=p.Sequence([p.Digits(individual_digits=cut), p.Metaspace("\u2581", scheme, cut)]),
                decoder=d.Metaspace("\u2581", scheme), added=ADDED, unk_token="[U]",
                trainer=tr.BpeTrainer(vocab_size=900, special_tokens=["[U]"], show_progress=False))
    for name, pattern in (("threes", r"(?=(\d{3})+(?!\d))"), ("threes_of_words", r"\d{1,3}(?=(?:\d{3})*\b)")):
        made[f"digits_{name}"] = bpe(corpus, pre=p.Sequence([split(pattern, "isolated"), gpt2]), decoder=d.ByteLevel(),
                                     trainer=all_bytes())
    word_piece = Tokenizer(m.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    word_piece.normalizer = n.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False,
                                             lowercase=False)
    word_piece.pre_tokenizer = p.BertPreTokenizer()
    word_piece.decoder = d.WordPiece()
    word_piece.train_from_iterator(corpus, tr.WordPieceTrainer(vocab_size=900, show_progress=False,
                                                               special_tokens=["[UNK]", "[CLS]", "[SEP]"]))
    word_piece.post_processor = pr.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    made["word_piece"] = word_piece
    made["roberta"] = bpe(corpus, pre=p.ByteLevel(add_prefix_space=True), decoder=d.ByteLevel(),
                          trainer=all_bytes(special_tokens=["<pad>", "[CLS]", "[SEP]"]),
                          post=pr.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1)))
    rules = {"\ufb01": "fi", "\u00c9": "E", "\u3000": " ", "\t": " ", "e\u0301": "\u00e9", "\u00bd": "1/2", "A": "a"}
    for name, bytes_too in (("unigram", False), ("unigram_bytes", True)):
        special = ["<unk>", "<s>", "</s>"] + ([f"<0x{i:02X}>" for i in range(256)] if bytes_too else [])
        t = Tokenizer(m.Unigram([(x, 0.0) for x in special] + substrings(corpus), 0, bytes_too))
        t.normalizer = n.Sequence([n.Precompiled(charsmap(rules)), n.Replace(Regex(" {2,}"), " ")])
        t.pre_tokenizer = p.Metaspace()
        t.decoder = d.Sequence([d.Metaspace()]) if not bytes_too else d.Sequence(
            [d.ByteFallback(), d.Metaspace()])
        t.add_special_tokens([AddedToken(x, special=True) for x in special[:3]])
        t.post_processor = pr.TemplateProcessing(single="<s> $A </s> </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
        made[name] = t
    ctc = bpe(corpus, pre=split("", "isolated"), decoder=d.CTC("a", "e", True), unk_token="[U]",
              trainer=tr.BpeTrainer(vocab_size=300, special_tokens=["[U]"], show_progress=False))
    made["ctc"] = ctc
    made["fixed_length"] = bpe(corpus, pre=p.Sequence([p.CharDelimiterSplit("e"), p.FixedLength(5)]), unk_token="[U]",
                               trainer=tr.BpeTrainer(vocab_size=900, special_tokens=["[U]"], show_progress=False))
    return made


def unicode_stages():
    """name -> Tokenizer of bytes with one stage that looks at characters; a blank shows where it cuts."""
    vocab = {c: i for i, c in enumerate(sorted(p.ByteLevel.alphabet()))}
    normalizers = {"NFC": n.NFC(), "NFD": n.NFD(), "NFKC": n.NFKC(), "NFKD": n.NFKD(), "Lowercase": n.Lowercase(),
                   "StripAccents": n.StripAccents(), "BertNormalizer": n.BertNormalizer(), "Nmt": n.Nmt(),
                   "Strip": n.Sequence([n.Replace("a", ""), n.Replace("b", ""), n.Strip()])}
    cuts = {"Whitespace": p.Whitespace(), "WhitespaceSplit": p.WhitespaceSplit(), "Bert": p.BertPreTokenizer(),
            "Punctuation": p.Punctuation(), "Digits": p.Digits()}
    for pattern in (r"\p{L}+", r"\p{Lu}", r"\p{N}", r"\p{M}", r"[\p{P}\p{S}]", r"\s", r"\w+", r"(?i:k|s|\u00e5)"):
        cuts[pattern] = split(pattern, "isolated")
    made = {}
    for name, stage in {**normalizers, **cuts}.items():
        t = Tokenizer(m.BPE(vocab, []))
        if name in normalizers:
            t.normalizer = stage
            t.pre_tokenizer = p.ByteLevel(add_prefix_space=False, use_regex=False)
        else:
            t.pre_tokenizer = p.Sequence([stage, p.ByteLevel(add_prefix_space=True, use_regex=False)])
        made[name.replace("/", "").replace("\\", "")] = t
    t = Tokenizer(m.BPE(vocab, []))
    t.pre_tokenizer = p.ByteLevel(add_prefix_space=False, use_regex=False)
    t.add_tokens([AddedToken("b", single_word=True, lstrip=True, special=False, normalized=False)])
    made["single_word"] = t
    return made


def train_sentencepiece(corpus, folder):
    """Model files of SentencePiece, with every choice that its normalizer and its kinds of pieces have."""
    import sentencepiece
    text = f"{folder}/corpus.txt"
    lines = [s.replace("\n", " ").replace("\0", "")[:1000] for s in corpus]
    open(text, "w", encoding="utf-8").write("\n".join(x for x in lines if x.strip()))
    common = {"input": text, "vocab_size": 2500, "character_coverage": 0.98, "hard_vocab_limit": False, "minloglevel": 2, "num_threads": 2}
    kinds = {
        "spm_bpe_bytes": {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity",
                          "remove_extra_whitespaces": False},
        "spm_bpe_symbols": {"model_type": "bpe", "normalization_rule_name": "nmt_nfkc",
                            "user_defined_symbols": ["<|u|>", "\u2581\u2581", "Loud", "\u00e9"]},
        "spm_bpe_bare": {"model_type": "bpe", "add_dummy_prefix": False, "normalization_rule_name": "nfkc_cf",
                         "remove_extra_whitespaces": False, "split_by_whitespace": False},
        "spm_unigram": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc"},
        "spm_unigram_bytes": {"model_type": "unigram", "byte_fallback": True, "normalization_rule_name": "nfkc"},
        "spm_unigram_symbols": {"model_type": "unigram", "normalization_rule_name": "nfkc",
                                "user_defined_symbols": ["<|u|>", "Loud", "std::", "12"]},
        "spm_unigram_suffix": {"model_type": "unigram", "treat_whitespace_as_suffix": True,
                               "normalization_rule_name": "nmt_nfkc_cf"},
    }
    made = []
    for name, options in kinds.items():
        sentencepiece.SentencePieceTrainer.train(model_prefix=f"{folder}/{name}", **common, **options)
        made.append(f"{folder}/{name}.model")
    return made + [unused(made[0], f"{folder}/spm_bpe_unused.model"), unused(made[3], f"{folder}/spm_unigram_unused.model")]


def unused(path, to):
    """The same model with some of its pieces marked as unused."""
    from sentencepiece import sentencepiece_model_pb2 as pb
    model = pb.ModelProto()
    model.ParseFromString(open(path, "rb").read())
    for i, piece in enumerate(model.pieces):
        if piece.type == 1 and i % 7 == 3 and len(piece.piece) > 1:
            piece.type = 5
    open(to, "wb").write(model.SerializeToString())
    return to
