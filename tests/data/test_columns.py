"""Finding columns by role."""

from __future__ import annotations

import pytest

from authbench.data.columns import Columns, check_roles, first_filled
from authbench.errors import ConfigError, DataError


def test_found_by_name_whatever_its_spelling() -> None:
    columns = Columns("f", ["ID", "Domain Name", "Page-Rank", "Web_Text"], {})
    assert columns.need("name") == "Domain Name"
    assert columns.need("level") == "Page-Rank"
    assert columns.get("text") == "Web_Text"
    assert columns.get("value") is None


def test_likeliest_first_and_not_twice() -> None:
    columns = Columns("f", ["score", "level", "label"], {})
    assert columns.get("level") == "level"
    assert columns.get("level", besides=("level",)) == "label"


def test_fixed_columns_win_and_must_exist() -> None:
    columns = Columns("my.csv", ["site", "grade"], {"level": "grade", "name": "sit"})
    assert columns.need("level") == "grade"
    with pytest.raises(DataError) as caught:
        columns.need("name")
    assert str(caught.value) == (
        "my.csv: no column 'sit' (dataset.columns.name) (did you mean 'site'?); columns found: site, grade"
    )


def test_not_found_lists_the_columns_and_the_way_out() -> None:
    with pytest.raises(DataError) as caught:
        Columns("my.csv", ["x", "y"], {}).need("level")
    assert str(caught.value) == (
        "my.csv: no column found for 'level'; columns found: x, y\n"
        "Name it: --set dataset.columns.level=COLUMN (authbench data: --column level=COLUMN)"
    )


def test_roles() -> None:
    assert check_roles(None) == {}
    assert check_roles({"level": "x"}) == {"level": "x"}
    with pytest.raises(ConfigError, match=r"dataset.columns.levle: no such role .did you mean 'level"):
        check_roles({"levle": "x"})
    with pytest.raises(ConfigError, match="known: name, level"):
        check_roles({"zzz": "x"})


def test_first_filled() -> None:
    assert first_filled({"Content": "c", "text": None}, "text") == "c"
    assert first_filled({"level": 0}, "level") == 0
    assert first_filled({"a": 1}, "text") is None
