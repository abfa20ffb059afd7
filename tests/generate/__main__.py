from __future__ import annotations

from tests.generate import ROOT, generated

for path, text in generated().items():
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
