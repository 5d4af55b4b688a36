"""test_tags.py: tags of operators.

Suspect opyard/_core/tags.py, then opyard/_library/library.py.
"""

import pickle
import warnings

import pytest

import opyard
from opyard import Tag


def tags_of(ns, name):
    return getattr(getattr(opyard.ops, ns), name).default.tags


def test_B18_tags_come_back_in_the_order_given(library, ns):
    library.define("a() -> ()", tags=Tag.core)
    library.define("b() -> ()", tags=[Tag.pointwise, Tag.core])
    library.define("c() -> ()", tags=("core", Tag.generated, "pointwise"))
    library.define("d() -> ()", tags="inplace_view")
    library.define("e() -> ()")
    library.define("f() -> ()", tags=(tag for tag in [Tag.out]))
    assert tags_of(ns, "a") == [Tag.core]
    assert tags_of(ns, "b") == [Tag.pointwise, Tag.core]
    assert tags_of(ns, "c") == [Tag.core, Tag.generated, Tag.pointwise]
    assert tags_of(ns, "d") == [Tag.inplace_view]
    assert tags_of(ns, "e") == []
    assert tags_of(ns, "f") == [Tag.out]
    assert all(type(tag) is Tag for tag in tags_of(ns, "c"))


def test_B18_an_unknown_tag_is_refused_with_the_known_ones(library, ns):
    for tags in ("nope", ["core", "nope"]):
        with pytest.raises(ValueError) as caught:
            library.define("a() -> ()", tags=tags)
        assert str(caught.value) == (
            "'nope' is no tag; the known tags are pointwise, inplace_view, "
            "nondeterministic_seeded, data_dependent_output, dynamic_output_shape, core, "
            "pt2_compliant_tag, generated, needs_fixed_stride_order, flexible_layout, inplace, "
            "out, overlaps"
        )
    for tags in (3, [3]):
        with pytest.raises(TypeError):
            library.define("a() -> ()", tags=tags)
    library.define("a() -> ()", tags=[])


def test_B18_a_tag_is_its_name():
    assert Tag.core == "core" and Tag("core") is Tag.core
    assert (str(Tag.core), repr(Tag.core), f"{Tag.core}") == ("core", "Tag.core", "core")
    assert pickle.loads(pickle.dumps(Tag.core)) is Tag.core
    assert [tag.name for tag in Tag] == [tag.value for tag in Tag]


def test_B18_a_tag_of_a_library_that_is_none_of_ours_is_a_str():
    # C++ libraries may use any.
    from opyard._core.tags import tag_of

    assert (tag_of("core"), tag_of("theirs")) == (Tag.core, "theirs")
    assert type(tag_of("theirs")) is str


def test_an_overload_that_is_meant_to_overlap_gives_no_warning(library, ns):
    library.define("pick(Tensor x, int n=1) -> Tensor")
    with pytest.warns(UserWarning, match="Two overloads accept the same call"):
        library.define("pick.unsaid(Tensor x, *, int m=1) -> Tensor")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.define("pick.meant(Tensor x, *, int k=1) -> Tensor", tags=opyard.Tag.overlaps)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("pointwize", "pointwise"), ("Core", "core"), ("inplace_veiw", "inplace_view")],
)
def test_B18_a_tag_that_is_nearly_one_is_named(library, name, meant):
    with pytest.raises(ValueError, match=f"'{name}' is no tag; '{meant}' may be meant; the known"):
        library.define("f(Tensor x) -> Tensor", tags=[name])
