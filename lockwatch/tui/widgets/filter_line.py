"""The line of the filter, which is a line editor while it is being typed."""

from __future__ import annotations

from textual import events

from lockwatch.tui.editor import Editor
from lockwatch.tui.header import filter_line
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line
from lockwatch.tui.widgets.line_view import LineView


class FilterLine(LineView):
    """What is listed, of how many. While it is typed every key is text, and none acts."""

    def __init__(self, scene: Scene, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._scene = scene
        self._editor: Editor | None = None

    @property
    def is_typing(self) -> bool:
        """Whether keys are text."""
        return self._editor is not None

    def count(self) -> int:
        """One."""
        return 1

    def line(self, index: int) -> Line:  # noqa: ARG002 there is but one
        """The line."""
        return filter_line(self._scene, self.size.width, self._editor)

    def begin(self) -> None:
        """Take keys as text from now on."""
        text = self._scene.board.filter.text
        self._editor = Editor(text, len(text))

    def take(self, event: events.Key) -> str:
        """Edit: the text to filter by. Enter keeps it, escape clears it, and both end the typing."""
        editor = self._editor or Editor()
        if event.key in ("enter", "escape"):
            self._editor = None
            return editor.text if event.key == "enter" else ""
        is_text = event.character is not None and event.is_printable
        self._editor = editor.insert(event.character or "") if is_text else editor.press(event.key)
        return self._editor.text

    def paste(self, text: str) -> str:
        """Insert as one clean line: the text to filter by."""
        self._editor = (self._editor or Editor()).insert(text)
        return self._editor.text
