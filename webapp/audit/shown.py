"""Where there is a mask to look at: only of such can anybody say how relevant the mask is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import BooleanField, F, Func

from webapp.accounts.models import User
from webapp.audit.models import Claim, Grounding


def shown_masks(**of: Any) -> set[tuple[UUID, int | None]]:
    """(claim, None) where the machine has a mask for what a claim names, (claim, person) where it has one for this
    person's other wording. `of`: which groundings, as a filter."""
    own = Grounding.objects.filter(**of).exclude(columns="")
    return set(own.filter(HasMask(F("queries"))).values_list("claim", "reprompt__user"))


def has_mask(claim: Claim, user: User | None) -> bool:
    """Whether a mask of the claim is shown to this rater; None: to a third person, who sees those of all wordings."""
    whose = {person for _, person in shown_masks(claim=claim)}
    return bool(whose) if user is None else not whose.isdisjoint({None, user.pk})


class HasMask(Func):
    """Whether one of a grounding's queries, other than a control, was found on a frame."""

    template = "jsonb_path_exists(%(expressions)s, '$[*] ? (@.role != \"negative\" && @.frames.size() > 0)')"
    output_field = BooleanField()
