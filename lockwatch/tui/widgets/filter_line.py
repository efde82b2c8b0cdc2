"""The line of the filter, which is a line editor while it is being typed."""

from __future__ import annotations

from textual import events

from lockwatch.tui.editor import Editor
from lockwatch.tui.header import filter_line
from lockwatch.tui.messages import FilterLeft, FilterTyped
from lockwatch.tui.scene import Scene
from lockwatch.tui.spans import Line
from lockwatch.tui.widgets.line_view import LineView


class FilterLine(LineView):
    """What is listed, of how many. While it has the focus every key is text, and none acts."""

    def __init__(self, scene: Scene, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._scene = scene
        self._editor: Editor | None = None

    @property
    def is_typing(self) -> bool:
        """Whether keys go to the filter."""
        return self._editor is not None

    def count(self) -> int:
        """One."""
        return 1

    def line(self, index: int) -> Line:  # noqa: ARG002 there is but one
        """The line."""
        return filter_line(self._scene, self.size.width, self._editor)

    def begin(self) -> None:
        """Take the keys."""
        text = self._scene.board.filter.text
        self._editor = Editor(text, len(text))
        self.can_focus = True
        self.focus()
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        """Edit; enter keeps the filter, escape clears it."""
        if self._editor is None:
            return
        event.stop()
        event.prevent_default()
        if event.key in ("enter", "escape"):
            if event.key == "escape":
                self._use(Editor())
            self._end()
        elif event.character is not None and event.is_printable:
            self._use(self._editor.insert(event.character))
        else:
            self._use(self._editor.press(event.key))

    def on_paste(self, event: events.Paste) -> None:
        """Paste as one clean line."""
        event.stop()
        event.prevent_default()
        if self._editor is not None:
            self._use(self._editor.insert(event.text))

    def on_blur(self) -> None:
        """Keep the filter when something else takes the keys."""
        self._end()

    def _use(self, editor: Editor) -> None:
        changed = self._editor is None or editor.text != self._editor.text
        self._editor = editor
        if changed:
            self.post_message(FilterTyped(editor.text))
        self.redraw()

    def _end(self) -> None:
        if self._editor is not None:
            self._editor = None
            self.can_focus = False
            self.post_message(FilterLeft())
            self.redraw()
