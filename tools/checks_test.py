#!/usr/bin/env python3
"""Plants breaches and sees that the checks of this folder catch each, and that the rules' good twins pass."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_docs
import check_layers


def breaches(path, text):
    return [what for _, what in check_layers.check_file(pathlib.PurePosixPath(path), text)]


class Layers(unittest.TestCase):
    def test_upward_include(self):
        self.assertEqual(breaches("kernels/a/a_cpu.cc", '#include "ops/tensor.h"\n'), ["kernels/ may not include ops/"])
        self.assertEqual(breaches("models/a.cc", '#include "formats/gguf.h"\n'), ["models/ may not include formats/"])
        self.assertEqual(breaches("models/a.cc", '  #  include "weights/load.h"  // why\n'),
                         ["models/ may not include weights/"])
        self.assertEqual(breaches("models/a.cc", '#include "ops/ops.h"\n#include "models/b.h"\n'), [])

    def test_every_pair_of_folders(self):
        for top, may in check_layers.MAY_INCLUDE.items():
            for other in check_layers.MAY_INCLUDE:
                good = other == top or other in may.split()
                self.assertEqual(breaches(f"{top}/a.cc", f'#include "{other}/x.h"\n') == [], good, f"{top} -> {other}")

    def test_table_has_no_cycle(self):
        seen = set()
        for top, may in check_layers.MAY_INCLUDE.items():
            if top not in ("text", "chat", "evidence", "hub"):
                self.assertLessEqual(set(may.split()), seen | set(check_layers.MAY_INCLUDE) - {top}, top)
            self.assertNotIn(top, may.split())
            for lower in may.split():
                self.assertNotIn(top, check_layers.MAY_INCLUDE[lower].split(), f"{top} <-> {lower}")
            seen.add(top)

    def test_tests_see_more(self):
        self.assertEqual(breaches("models/llama_test.cc", '#include "backends/ref/ref.h"\n'), [])
        self.assertEqual(breaches("models/llama_test.cc", '#include "server/server.h"\n'), ["models/ may not include server/"])

    def test_unknown_and_bare_includes(self):
        self.assertEqual(len(breaches("ops/a.cc", '#include "tensor.h"\n')), 1)
        self.assertEqual(len(breaches("ops/a.cc", '#include "utils/x.h"\n')), 1)
        self.assertEqual(len(breaches("utils/a.cc", "int a;\n")), 1)

    def test_third_party(self):
        self.assertEqual(len(breaches("engine/a.cc", "#include <spdlog/spdlog.h>\n")), 1)
        self.assertEqual(len(breaches("formats/a.cc", "#include <boost/json.hpp>\n")), 1)
        self.assertEqual(len(breaches("backends/cpu/a.cc", "#include <mlx/array.h>\n")), 1)
        self.assertEqual(len(breaches("ops/a.cc", "#include <cuda_runtime.h>\n")), 1)
        self.assertEqual(len(breaches("ops/a.cc", '#include "hwy/highway.h"\n')), 1)
        self.assertEqual(breaches("kernels/a.cc", '#include "hwy/highway.h"\n'), [])
        self.assertEqual(breaches("base/json.h", "// Why.\n#pragma once\n#include <boost/json.hpp>\n"), [])
        self.assertEqual(breaches("text/a.cc", "#include <oniguruma.h>\n#include <vector>\n"), [])

    def test_printing(self):
        self.assertEqual(len(breaches("models/a.cc", 'std::cout << "x";\n')), 1)
        self.assertEqual(len(breaches("formats/a.cc", 'fprintf(stderr, "x");\n')), 1)
        self.assertEqual(breaches("formats/a.cc", "// printf() is not used\nsnprintf(b, n, f);\n"), [])
        self.assertEqual(breaches("cli/a.cc", 'std::cout << "x";\n'), [])

    def test_libm_in_vector_code(self):
        self.assertEqual(len(breaches("kernels/a/a_cpu.cc", "y = std::exp(x);\n")), 1)
        self.assertEqual(breaches("kernels/a/a_cpu.cc", "y = std::sqrt(std::fma(x, x, 1));\n"), [])

    def test_size_ascii_header(self):
        self.assertEqual(breaches("base/a.cc", "int x;\n" * 500), [])
        self.assertEqual(len(breaches("base/a.cc", "int x;\n" * 501)), 1)
        self.assertEqual(len(breaches("base/a.cc", "// caf\u00e9\n")), 1)
        self.assertEqual(len(breaches("base/a.h", "#pragma once\n")), 1)
        self.assertEqual(len(breaches("base/a.h", "// Why.\nint x;\n")), 1)

    def test_a_planted_file_fails_the_tree(self):
        with tempfile.TemporaryDirectory() as t, contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()):
            root = pathlib.Path(t)
            (root / "src/ops").mkdir(parents=True)
            (root / "src/ops/good.cc").write_text('#include "base/result.h"\n')
            self.assertEqual(check_layers.check_tree(root), 0)
            (root / "src/ops/bad.cc").write_text('\n#include "backends/cpu/cpu.h"\n')
            self.assertEqual(check_layers.check_tree(root), 1)
            self.assertIn("src/ops/bad.cc:2: ops/ may not include backends/", out.getvalue())


class Docs(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as t:
            root = pathlib.Path(t)
            (root / "src/ops").mkdir(parents=True)
            (root / "docs").mkdir()
            (root / "src/ops/ops.h").write_text("class Ops {\n  Tensor embed(const Matrix& table);  // not attend_all()\n};\n")
            return [what for _, what in check_docs.check_text(root, "docs/A.md", text)]

    def test_paths(self):
        self.assertEqual(self.check("see `src/ops/ops.h` and `ops/ops.h`, in `src/ops/`"), [])
        self.assertEqual(len(self.check("see `src/ops/gone.h`")), 1)
        self.assertEqual(len(self.check("see `ops/gone/`")), 1)
        self.assertEqual(self.check("`x_test.cc`, `kernels/x/x_cpu.cc`, `a/*.h`, `<name>.h`"), [])

    def test_functions(self):
        self.assertEqual(self.check("`Ops::embed()` and `embed()` and class `Ops`"), [])
        self.assertEqual(len(self.check("`Ops::gone()`")), 1)
        self.assertEqual(len(self.check("`Gone::embed()`")), 1)
        self.assertEqual(len(self.check("`attend_all()` stands in a comment only")), 1)

    def test_links(self):
        self.assertEqual(self.check("[here](../src/ops/ops.h#L1) [there](https://example.com/x)"), [])
        self.assertEqual(len(self.check("[here](gone.md)")), 1)

    def test_fenced_blocks_are_checked_for_nothing(self):
        self.assertEqual(self.check("```\n`src/gone.h` [x](gone.md)\n```\n"), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
