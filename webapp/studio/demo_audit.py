"""The demo's audit: hand-written replies about the demo clip and the drawn scene, so that no page of audits is empty.

No model wrote the replies, and their "models" say so; the summariser, the grounder and the verdicts are the real ones.
The auditors are simulated people whom nobody can log in as. One reply, one dispute and the end of the audit are left
for whoever looks at the demo. Everything goes through the services that pages use; every step looks first whether it
was done, so a start that was cut short is carried on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.core.files.storage import default_storage
from rich.console import Console

from webapp.accounts import services as accounts
from webapp.accounts.models import LoginLink, Membership, User
from webapp.audit import masking, rating, recording, services
from webapp.audit.models import Audit, Claim, Grounding, MaskEdit, Rating, Response
from webapp.audit.services import Draft
from webapp.bench.facts import facts_of
from webapp.library.models import Project, Video
from webapp.studio.demo_bench import NAME as DRAWN
from webapp.studio.errors import StudioError
from webapp.studio.follow import follow

SOURCE = "demo:1"
NAME = "Scripted examples (demo)"
NOTE = (
    "The replies were written by hand for this demo, no model said them, and the auditors are simulated: agreement and "
    "times say nothing about models or people."
)
AUDITORS = {
    "demo-auditor-1": "Demo auditor 1 (simulated)",
    "demo-auditor-2": "Demo auditor 2 (simulated)",
}
NAMESPACE = UUID("0f6f2a52-2b0c-4a0e-9a59-6f1d6c1c9f0e")
FIRST, SECOND = "scripted example A (no model)", "scripted example B (no model)"
TRIMMED = 0.15  # share of a mask's rows that the simulated correction takes off at the top


@dataclass(frozen=True)
class Sentence:
    """One sentence of a reply, and what the auditors say of the claims in it. `second`: the other one's verdict where
    they differ; `reasons`: the first one's, then the other's."""

    text: str
    verdict: str
    second: str = ""
    reasons: tuple[str, ...] = ()
    trim: bool = False

    def word(self, auditor: int) -> str:
        return self.second if auditor and self.second else self.verdict

    def reason(self, auditor: int) -> str:
        return self.reasons[auditor] if auditor < len(self.reasons) else ""


@dataclass(frozen=True)
class Reply:
    """A hand-written reply. `auditors`: how many of the simulated ones rate it."""

    about: str  # "clip" or "drawn"
    model: str
    question: str
    options: tuple[str, ...]
    answer: str
    key: str
    sentences: tuple[Sentence, ...]
    auditors: int = 2

    def text(self, names: dict[str, int]) -> str:
        thoughts = " ".join(sentence.text for sentence in self.sentences).format(**names)
        return f"<think>{thoughts}</think>\n<answer>{self.answer}</answer>"


# {a}: somebody of the first shot only, {b}: of the second shot only
WHO = "Which of these persons is to be seen at 1 s?"
REPLIES = (
    Reply("clip", FIRST, WHO, ("Person {a}", "Person {b}"), "A", "A", (
        Sentence("At 1.0 s, Person {a} is visible.", "supported", trim=True, reasons=("The mask is too large.",)),
        Sentence("At 8.0 s, Person {a} is visible.", "contradicted", reasons=("That is another shot, other people.",)),
        Sentence("A giraffe is behind Person {a}.", "contradicted"),
        Sentence("Person {b} claps at 7.0 s.", "cannot_tell", "contradicted", (
            "Hands are hardly to be seen.", "Whoever claps moves both arms, and nobody does.",
        )),
    )),
    Reply("drawn", FIRST, "Who looks at Person 2 at 3 s?", ("Person 1", "Person 3"), "B", "A", (
        Sentence("At 3.0 s, Person 1 looks at Person 2.", "supported"),
        Sentence("At 3.0 s, Person 3 looks at Person 2.", "contradicted", reasons=("It is Person 1 who does.",)),
        Sentence("From 3.0 to 4.5 s, Person 1 gives something to Person 2.", "supported"),
        Sentence("Person 4 seems bored.", "cannot_tell"),
    )),
    Reply("clip", SECOND, WHO, ("Person {a}", "Person {b}"), "B", "A", (
        Sentence("At 8.0 s, Person {b} is visible.", "supported"),
        Sentence("At 1.0 s, Person {b} is visible.", "contradicted"),
        Sentence("A dog lies on the floor.", "contradicted"),
    ), auditors=0),
)  # fmt: skip


def is_there(project: Project) -> bool:
    audit = Audit.objects.filter(project=project, source=SOURCE).first()
    if audit is None:
        return False
    wanted = sum(reply.auditors for reply in REPLIES)
    done = Rating.objects.filter(response__audit=audit, completed__isnull=False, user__username__in=AUDITORS).count()
    return audit.responses.filter(state=Response.State.DONE).count() == len(REPLIES) and done >= wanted


def make(*, project: Project, clip: Video, screen: Console, look_after: Callable[[], None]) -> None:
    """Make what is not there yet. Raises StudioError or Refused."""
    screen.print("Making the demo audit: hand-written replies, their claims, masks and verdicts, simulated auditors")
    audit = imported(project, clip)
    if recording.left(audit):
        follow(services.request_audit(audit=audit, user=None).id, screen, look_after)
    people = team(project)
    for reply, response in zip(REPLIES, audit.responses.order_by("position"), strict=True):
        for auditor, user in list(enumerate(people))[: reply.auditors]:
            rate(reply, response, auditor, user)
            look_after()
    for user in people:
        accounts.set_active(user=user, active=False)
    screen.print(f"The demo audit is there: audit {audit.number}, with a reply and a dispute that wait for you.")


def imported(project: Project, clip: Video) -> Audit:
    drawn = Video.objects.filter(project=project, name=DRAWN, state=Video.State.READY).first()
    if drawn is None:
        raise StudioError("The drawn scene of the demo is not there.")
    names = named(clip)
    drafts = [draft_of(reply, clip if reply.about == "clip" else drawn, names) for reply in REPLIES]
    made = services.create_audit(
        project=project, user=None, source=SOURCE, drafts=drafts, name=NAME, raters=2, notes=[NOTE]
    )
    return made.audit


def named(clip: Video) -> dict[str, int]:
    """Numbers of somebody who is in the first shot only, and of somebody in the second shot only."""
    cuts = [*clip.shots, clip.frames]
    if len(cuts) < 3:
        raise StudioError("The demo clip has no second shot.")
    found: dict[str, int] = {}
    for name, start, end in (("a", cuts[0], cuts[1]), ("b", cuts[1], cuts[2])):
        for person in sorted(facts_of(clip).persons, key=lambda p: p.number):
            if person.visible and all(start <= first and last <= end for first, last in person.visible):
                found.setdefault(name, person.number)
    if len(found) < 2:
        raise StudioError("Nobody was found in the first two shots of the demo clip only.")
    return found


def draft_of(reply: Reply, video: Video, names: dict[str, int]) -> Draft:
    text = reply.text(names)
    people = {str(person.number): str(person.id) for person in video.persons.filter(merged_into=None)}
    return Draft(
        video=video,
        start=0,
        end=video.frames,
        rendering="tags",
        model=reply.model,
        text=text,
        digest=hashlib.sha256(f"{reply.about} {reply.model} {reply.question}".encode()).hexdigest(),
        person_map=people,
        asked=reply.question,
        options=[option.format(**names) for option in reply.options],
        answer=reply.answer,
        letters=[reply.answer],
        key=[reply.key],
        correct=reply.answer == reply.key,
        provenance={"written": "by hand, for the demo"},
    )


def team(project: Project) -> list[User]:
    """The simulated auditors, without a password and without a link: nobody can log in as one of them."""
    found = []
    for name, shown in AUDITORS.items():
        user = User.objects.filter(username=name).first()
        if user is None:
            user, _ = accounts.create_user(username=name, display_name=shown)
        LoginLink.objects.filter(user=user).delete()
        accounts.set_active(user=user, active=True)  # nobody deactivated has a role; again inactive at the end
        if not Membership.objects.filter(project=project, user=user).exists():
            accounts.add_member(project=project, username=name, role="reviewer")
        found.append(user)
    return found


# ---------------------------------------------------------------------------------------------------------------------
# What the auditors say


def rate(reply: Reply, response: Response, auditor: int, user: User) -> None:
    """Everything one auditor does with a response, from the place to its completion."""
    if rating.take(response=response, user=user).completed:
        return
    claims = Claim.objects.filter(response=response).select_related("response__audit").order_by("position")
    for claim in claims:
        sentence = sentence_of(reply, response.text, claim)
        if claim.verdicts.filter(user=user).exists():
            continue
        if sentence.trim and auditor == 0:
            trim(claim, user)
        rating.say(
            claim=claim,
            user=user,
            id=uuid5(NAMESPACE, f"{claim.id} {user.username}"),
            version=None,
            verdict=sentence.word(auditor),
            relevance="relevant" if has_mask(claim) else "",
            reason=sentence.reason(auditor),
        )
    rating.complete(response=response, user=user)


def has_mask(claim: Claim) -> bool:
    """Whether the page would let an auditor say how relevant the claim's masks are."""
    own = Grounding.objects.filter(claim=claim, reprompt=None).values_list("queries", flat=True).first() or []
    return any(query["role"] != "negative" and query["frames"] for query in own)


def sentence_of(reply: Reply, text: str, claim: Claim) -> Sentence:
    """The sentence of the reply in which a claim begins."""
    ends, at = [], 0
    for end in text.split(". ")[: len(reply.sentences)]:
        at += len(end) + 2
        ends.append(at)
    start = claim.body["span"][0]
    return next(s for s, end in zip(reply.sentences, [*ends, len(text)], strict=False) if start < end)


def trim(claim: Claim, user: User) -> None:
    """Take the upper rim off one mask of the claim, as an auditor with a brush would; nothing where it has none."""
    import numpy as np

    from ml.formats import coco_rle

    grounding = Grounding.objects.filter(claim=claim, reprompt=None).exclude(columns="").first()
    if grounding is None or MaskEdit.objects.filter(claim=claim, user=user).exists():
        return
    with default_storage.open(f"{claim.response.folder}/{grounding.columns}") as file:
        stored = json.load(file)
    at = len(stored["frame"]) // 2
    size: Sequence[int] = stored["size"]
    mask = coco_rle.decode(stored["counts"][at].encode(), (size[0], size[1])).copy()
    rows = np.flatnonzero(mask.any(axis=1))
    mask[rows[: max(1, round(len(rows) * TRIMMED))]] = False
    wanted = masking.Wanted(
        id=uuid5(NAMESPACE, f"{claim.id} mask"),
        query=stored["query"][at],
        object=stored["object"][at],
        frame=stored["frame"][at],
        action="draw",
        size=size,
        counts=coco_rle.encode(mask).decode(),
    )
    step: dict[str, Any] = {"id": uuid5(NAMESPACE, f"{claim.id} step"), "kind": "brush", "edits": [wanted]}
    masking.edit(claim=claim, user=user, **step)
