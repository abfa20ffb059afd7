"""Drives LibreOffice from outside, by UNO: what its own client of LanguageTool finds, or a window for a picture.

Debian's Python runs it, which has `uno`; nothing of the project is imported here. Arguments: the name of the pipe, and
`marks` with a text each line of standard input, or `window` with a text, shown until standard input ends.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

import uno
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import DisposedException, Locale

PATIENCE_S = 120.0
CHECKER = "org.openoffice.lingu.LanguageToolGrammarChecker"
ENGLISH = Locale("en", "US", "")


def connect(pipe: str) -> object:
    """Its component context, once it has started."""
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        except NoConnectException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def print_marks(create: object) -> None:
    checker = create(CHECKER)
    for line in sys.stdin:
        text = line.rstrip("\n")
        errors = checker.doProofreading("1", text, ENGLISH, 0, len(text), ()).aErrors
        places = [(one.nErrorStart, one.nErrorLength, list(one.aSuggestions), one.aShortComment) for one in errors]
        print(json.dumps(places), flush=True)


def show_window(desktop: object) -> None:
    document = desktop.loadComponentFromURL("private:factory/swriter", "_blank", 0, ())
    document.CurrentController.Frame.ContainerWindow.setPosSize(0, 0, 1000, 600, 15)
    cursor = document.Text.createTextCursor()
    cursor.CharLocale = ENGLISH
    document.Text.insertString(cursor, sys.stdin.readline().rstrip("\n"), False)
    print("shown", flush=True)
    sys.stdin.read()
    document.setModified(False)


def main() -> None:
    pipe, what = sys.argv[1:]
    context = connect(pipe)

    def create(name: str) -> object:
        return context.ServiceManager.createInstanceWithContext(name, context)

    desktop = create("com.sun.star.frame.Desktop")
    try:
        if what == "marks":
            print_marks(create)
        else:
            create("com.sun.star.linguistic2.LinguProperties").IsSpellAuto = True
            show_window(desktop)
    finally:
        with suppress(DisposedException):  # it was faster than its answer
            desktop.terminate()


if __name__ == "__main__":
    main()
