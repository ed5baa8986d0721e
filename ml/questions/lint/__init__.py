"""The linter of benchmark items: is this set fit to be released?

findings.py    codes with severity, a finding
one.py         an item as the checks see it; what they may consult (`World`)
words.py       options and questions made comparable
shape.py, options.py, times.py, people.py, wording.py, claims.py     checks of one item
duplicates.py, recordings.py, balance.py, blind.py                   checks of the whole set
tables.py      event files beside the items;  readings.py: what options claim about events
pictures.py, embedding.py, asking.py                                 what is optional: frames, MiniLM, a model
run.py         all of it: `lint_file(path, World(scheme="data"))`
"""

from __future__ import annotations
