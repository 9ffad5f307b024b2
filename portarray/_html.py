"""Tables in HTML, which notebooks show in place of ``repr``.

They have no styles, scripts or ids: colours and borders are the page's own, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["table"]


def table(
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    head: Sequence[str] = (),
    values: str = "",
) -> str:
    """Return rows as a table.

    Parameters
    ----------
    rows : iterable of sequence
        Cells, which are escaped; the first of a row is its title.
    caption : str
        What it is a table of.
    head : sequence of str
        Titles of the columns; none where each row has one value.
    values : str
        Lines below the table, kept as they are.
    """
    lines = ["<div><table>", f"<caption>{escape(caption)}</caption>"]
    if head:
        titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
        lines.append(f"<thead><tr>{titles}</tr></thead>")
    lines.append("<tbody>")
    for title, *cells in rows:
        shown = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{escape(str(title))}</th>{shown}</tr>')
    lines.append("</tbody></table>")
    if values:
        # samp: JupyterLab takes away the fixed pitch of pre alone, and columns would not align.
        lines.append(f"<pre><samp>{escape(values)}</samp></pre>")
    return "\n".join([*lines, "</div>"])
