"""Benchmarks, models' answers to them, and what the answers are worth. Light: no torch, no media at import.

bench.py       items of any benchmark; loading by what the files look like (loaders/)
prompts.py     the words a model is asked with
frames.py      pictures of a clip with their times (ml.media, imported when used)
models.py      who answers: a file of predictions, the configured endpoint, a local model folder
scoring.py     the answer in a reply, by three readings, and what it scores
tables.py      accuracy by category, group, difficulty, source, with intervals by source video
grounded.py    who the reasoning names, against who takes part
controls.py    the benchmark without its video, with another one's, with other names
published.py   what others reported, with the source of each number
compare.py     two models on the same items; a command line of its own
folder.py      the folder of one evaluation, item by item
run.py         the command line
"""
