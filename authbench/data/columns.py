"""Which column of a file plays which role: set by configuration, from the catalogue, or found by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from authbench.errors import ConfigError, DataError, did_you_mean

# Roles and the names of columns that play them, likeliest first. Case and "-", " " for "_" do not matter. The
# official files' column names are not published, hence the long lists.
_NAMES = """
name: domain domain_name name entity entity_name question_entity site website host url title source item
level: level label authority_level authority_label authority_score authority page_rank pagerank pr
level: toolbar_pagerank score gold rank scale rating
coarse_level: coarse_level level_5 label_5
value: value popularity sitelinks pr_val raw_score raw_value
text: text content web_text webpage_text page_text web_content webpage snippet
text: cleaned_website_text body passage
group: group domain
items: items list sources entries candidates domains entities sites
names: names domains entities domain_names entity_names domain sites urls
levels: levels labels scores pageranks page_ranks gold ground_truth level
texts: texts contents web_texts snippets text
first: first a domain_a domain1 domain_1 item_a item1 source_a entity_a entity1 entity_1 left domaina
first: url_a url1
second: second b domain_b domain2 domain_2 item_b item2 source_b entity_b entity2 entity_2 right
second: domainb url_b url2
first_level: first_level level_a score_a label_a pagerank_a pr_a level1 score1 label1 pr1 pagerank1
first_level: score_1 label_1 level_1 pagerank_1
second_level: second_level level_b score_b label_b pagerank_b pr_b level2 score2 label2 pr2 pagerank2
second_level: score_2 label_2 level_2 pagerank_2
first_text: first_text text_a text1 text_1 content_a content1
second_text: second_text text_b text2 text_2 content_b content2
pair: pair items domains entities sources
id: id qid query_id question_id _id
question: question query q claim
answer: answer label gold gold_answer ground_truth correct_answer
documents: documents docs contexts passages search_results results retrieved_documents evidence references
topic: topic category domain subject
document_url: url link source_url source href domain
document_text: text content doc_text document snippet passage body page_text
document_label: label pagerank page_rank pr authority authority_score stance score
"""


def _candidates() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _NAMES.strip().splitlines():
        role, _, names = line.partition(": ")
        found[role] = (*found.get(role, ()), *names.split())
    return found


#: The names of columns that each role is looked for under. A source has `name`, `level` (0 to 10),
#: `coarse_level` (0 to 4) or `value`, `text`, and `group` (the domain of an entity). A list has `items`, or
#: `names`, `levels` and `texts` side by side; a pair `pair`, or two of each kind. The rest is of questions.
CANDIDATES: Mapping[str, tuple[str, ...]] = _candidates()


class Columns:
    """The mapping for one file: `columns.get(role)` finds, `columns.need(role)` finds or explains.

    Args:
        place: what an error names: the file.
        found: the columns of the file's first record.
        fixed: role -> column, from the catalogue and the configuration; a fixed column must exist.
    """

    def __init__(self, place: str, found: Sequence[str], fixed: Mapping[str, str]) -> None:
        self.place = place
        self.found = tuple(found)
        self.fixed = fixed
        self._by_plain_name = {_plain(column): column for column in reversed(self.found)}

    def get(self, role: str, *, besides: Sequence[str | None] = ()) -> str | None:
        """The column of a role, or None; columns in `besides` are taken by other roles."""
        if role in self.fixed:
            column = self.fixed[role]
            if column not in self.found:
                hint = did_you_mean(column, self.found)
                raise DataError(
                    f"{self.place}: no column '{column}' (dataset.columns.{role}){hint}; "
                    f"columns found: {self.listed}"
                )
            return column
        columns = (self._by_plain_name.get(name) for name in CANDIDATES[role])
        return next((column for column in columns if column and column not in besides), None)

    def need(self, role: str, *, besides: Sequence[str | None] = ()) -> str:
        """The column of a role; `DataError` with the columns found and the way out if there is none."""
        column = self.get(role, besides=besides)
        if column is None:
            raise self.lacking(role)
        return column

    def lacking(self, *roles: str) -> DataError:
        """The error for roles that no column was found for."""
        wanted = " or ".join(f"'{role}'" for role in roles)
        return DataError(
            f"{self.place}: no column found for {wanted}; columns found: {self.listed}\n"
            f"Name it: --set dataset.columns.{roles[0]}=COLUMN (authbench data: --column {roles[0]}=COLUMN)"
        )

    @property
    def listed(self) -> str:
        """The columns of the file, for a message."""
        return ", ".join(self.found) or "none"


def check_roles(columns: Mapping[str, str] | None) -> dict[str, str]:
    """A configuration's role -> column mapping; `ConfigError` for a role that does not exist."""
    for role in columns or {}:
        if role not in CANDIDATES:
            hint = did_you_mean(role, tuple(CANDIDATES)) or f"; known: {', '.join(CANDIDATES)}"
            raise ConfigError(f"dataset.columns.{role}: no such role{hint}")
    return dict(columns or {})


def first_filled(record: Mapping[str, Any], role: str) -> Any:
    """Of an object inside a record: the first candidate of a role that it has, else None."""
    plain = {_plain(key): value for key, value in record.items()}
    return next((plain[name] for name in CANDIDATES[role] if plain.get(name) is not None), None)


def _plain(column: str) -> str:
    return column.strip().lower().replace("-", "_").replace(" ", "_")
