"""Tasks: what the papers' tables ask of a model, and how the answers become their numbers.

A task turns the settings of an experiment into *groups* of *units*, and the *records* of a group into rows of
`cells.json`. It is the only place that knows one: adding a task means a module here with its settings and its
class, and a line in `registry`. The words:

- a **group** is one setting whose items are scored together, such as one domain, context and judge;
- an **item** is what is judged: a list, a pair, a question or a query;
- a **unit** is one item of one group, run as one procedure;
- a **record** is a unit that was answered;
- a **cell** is one number of `cells.json`: a measure of a group under a policy for invalid answers.
"""
