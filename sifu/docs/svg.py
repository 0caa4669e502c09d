"""Boxes, arrows and words of a diagram in the colour of the text around it, light or dark."""

from __future__ import annotations

from html import escape

_WIDE, _SMALL_WIDE = 7.0, 5.9  # dots: of a letter at 13 and at 11 dots, on the safe side
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
)


def text_width(words: str, *, small: bool = False) -> float:
    """How wide words are drawn at most."""
    return len(words) * (_SMALL_WIDE if small else _WIDE)


class Svg:
    """An SVG element that grows by what is drawn."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._lines: list[str] = []
        self._boxes: list[str] = []  # above lines

    def __str__(self) -> str:
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}"'
        style = 'font-family="system-ui, sans-serif" text-anchor="middle" dominant-baseline="central"'
        return f'<svg {size} {style} role="img">{_HEAD}{"".join(self._lines)}{"".join(self._boxes)}</svg>'

    def box(self, x: float, y: float, width: float, height: float, words: str, *, round_ends: bool = False) -> None:
        """Words in a box around a centre."""
        at = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}"'
        corner = height / 2 if round_ends else 4
        self._boxes.append(f'<rect {at} rx="{corner:g}" fill="Canvas" stroke="currentColor"/>')
        self.text(x, y, words)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """A dashed frame, from its upper left corner."""
        at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._lines.append(f'<rect {at} rx="4" fill="none" stroke="currentColor" stroke-dasharray="5 4"/>')

    def text(self, x: float, y: float, words: str, *, small: bool = False) -> None:
        """Words around a centre; small ones stand on arrows, which do not cross them."""
        if small:
            width = text_width(words, small=True)
            at = f'x="{x - width / 2:.1f}" y="{y - 7:.1f}" width="{width:.1f}" height="14"'
            self._boxes.append(f'<rect {at} fill="Canvas"/>')
        at = f'x="{x:.1f}" y="{y:.1f}" font-size="{11 if small else 13}"'
        self._boxes.append(f'<text {at} fill="currentColor">{escape(words)}</text>')

    def arrow(self, *points: tuple[float, float], across: bool = True, dashed: bool = False) -> None:
        """A line through points, level at each of them (upright, if not `across`), with a head at its end."""
        x, y = points[0]
        path = f"M{x:.1f} {y:.1f}"
        for to_x, to_y in points[1:]:
            half_x, half_y = (x + to_x) / 2, (y + to_y) / 2
            bend = (
                f"{half_x:.1f} {y:.1f} {half_x:.1f} {to_y:.1f}"
                if across
                else f"{x:.1f} {half_y:.1f} {to_x:.1f} {half_y:.1f}"
            )
            path += f"C{bend} {to_x:.1f} {to_y:.1f}"
            x, y = to_x, to_y
        kind = ' stroke-dasharray="4 3"' if dashed else ""
        self._lines.append(
            f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity="0.6"{kind} marker-end="url(#head)"/>'
        )

    def line(self, x: float, top: float, bottom: float) -> None:
        """An upright line behind all else."""
        self._lines.insert(
            0, f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="currentColor" stroke-opacity="0.35"/>'
        )
