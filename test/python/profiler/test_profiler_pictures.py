"""Pictures of the pages of profiles. Suspect profiler/report/ and opyard/_profile/compare.py.

After a wanted change, look at the page, then write the references anew: report_pictures.py.
"""

import pytest
import report_pictures
from chromium import find_chromium

from opyard.profiler import profile

pytestmark = pytest.mark.once

# Another font moves the columns of tables and cuts labels elsewhere: DejaVu Sans Condensed for
# DejaVu Sans changes 3.3 % of the squares by more than 14 of 255. A colour of bars changes 5 %.
MOST_OF_A_COLOUR, MOST_SQUARES = 14, 0.035


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if find_chromium() is None:
        pytest.skip("no Chromium is installed; tools/setup --browser installs it")
    path = tmp_path_factory.mktemp("pictures") / "profile.html"
    with profile() as prof:
        sorted([1])
    prof.export(path)
    return path.read_text("utf-8")


def unlike_ones(page, names=report_pictures.NAMES_OF_GRIDS):
    wanted = report_pictures.references()
    parts = {
        name: report_pictures.unlike(grid, wanted[name], MOST_OF_A_COLOUR)
        for name, grid in report_pictures.grids_of(page, names).items()
    }
    return {name: part for name, part in parts.items() if part > MOST_SQUARES}


def test_the_pages_look_as_their_references(page):
    assert unlike_ones(page) == {}


# What must be noticed: an edit of the page's own source.
@pytest.mark.parametrize(
    ("what", "text", "instead", "where"),
    [
        ("a colour of bars", "Python: 212", "Python: 120", "Functions, light"),
        ("the dark background", "--back: #14171d", "--back: #1d3014", "Functions, dark"),
        ("the curve of memory", "this.drawCurve(", "((...none) => none)(", "Memory, dark"),
        ("the tables", "box.replaceChildren(table)", "box.replaceChildren()", "Functions, light"),
        (
            "the flame graph",
            "place(this.top, 0,",
            "((...none) => none)(this.top, 0,",
            "Flame graph, light",
        ),
        ("the lower half", 'id="panel"', 'id="panel" hidden', "Memory, light"),
    ],
)
def test_a_page_that_looks_otherwise_is_noticed(page, what, text, instead, where):
    assert text in page
    assert unlike_ones(page.replace(text, instead), [where]), what


def test_a_difference_in_other_colours_is_noticed(page, monkeypatch):
    from opyard._profile import compare

    colour = compare._colour
    monkeypatch.setattr(compare, "_colour", lambda frame, scale: colour(frame, -scale))
    assert unlike_ones(page, ["difference"])
