"""Who may do what: the one table that views, API, pages and tests read.

A role includes every role before it. Site admins are users with `is_superuser`; they may do everything.
"""

from __future__ import annotations

from typing import Literal

Role = Literal["viewer", "annotator", "reviewer", "curator", "admin"]
Action = Literal[
    "view",  # see a project, its videos, people and events
    "annotate",  # edit the working set and one's own sets, derive events anew, answer questions, comment
    "review",  # adjudicate, edit the consensus set, give verdicts
    "import",  # bring videos and files in
    "question",  # generate, edit, sign and open questions
    "audit",  # bring responses of models in, start and finish audits, read their reports out
    "perceive",  # start perception, accept a run, change the rules that derive events
    "export",  # take data out, cut releases
    "manage_jobs",  # cancel and retry anybody's job
    "train",  # make snapshots, start, stop and delete training runs, evaluate models
    "manage_members",  # give and take roles
    "delete",  # delete and withdraw videos, change project settings
]

ROLES: tuple[Role, ...] = ("viewer", "annotator", "reviewer", "curator", "admin")
ROLE_WORDS: dict[Role, str] = {
    "viewer": "sees everything in the project",
    "annotator": "also edits events and people, and answers questions",
    "reviewer": "also audits claims, sees the keys of questions and decides what is disputed",
    "curator": "also imports, runs perception and audits, accepts runs, makes questions and takes data out",
    "admin": "also trains models, manages members, changes settings and deletes videos",
}
LEAST_ROLE: dict[Action, Role] = {
    "view": "viewer",
    "annotate": "annotator",
    "review": "reviewer",
    "import": "curator",
    "question": "curator",
    "audit": "curator",
    "perceive": "curator",
    "export": "curator",
    "manage_jobs": "curator",
    "train": "admin",
    "manage_members": "admin",
    "delete": "admin",
}


def role_allows(role: Role, action: Action) -> bool:
    return ROLES.index(role) >= ROLES.index(LEAST_ROLE[action])


def roles_that_may(action: Action) -> list[Role]:
    return [role for role in ROLES if role_allows(role, action)]


def actions_of(role: Role) -> list[Action]:
    return [action for action in LEAST_ROLE if role_allows(role, action)]
