"""The count of questions that triggers keep is what counting the questions gives, whatever was done to them."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from ml.questions.taxonomy import CATEGORIES
from tests.webapp.bench.scene import Scene
from webapp.bench import quotas, services
from webapp.bench.models import Question, QuestionCount
from webapp.library.models import Video

STATES = Question.State.values


def counted(scene: Scene) -> list[Any]:
    columns = ("state", "category", "difficulty", "letter")
    found = Question.objects.filter(project=scene.video.project).order_by().values_list(*columns)
    return sorted((state, (slug, "", hard, letter), n) for state, slug, hard, letter, n in found.annotate(n=Count("*")))


def told(scene: Scene) -> list[Any]:
    return sorted(quotas.Tally.of(services.bench_of(scene.video.project)).rows)


def plain(scene: Scene, number: int, dice: random.Random) -> Question:
    return Question(
        project=scene.video.project, video=scene.video, number=number, category=dice.choice(list(CATEGORIES)),
        difficulty=dice.choice(["easy", "hard"]), letter=dice.choice(["", "A", "D"]), state=dice.choice(STATES),
        text="Who?", start=0, end=10,
    )  # fmt: skip


def test_counts_stay_true_through_inserts_updates_deletions_and_folds(scene: Scene) -> None:
    dice = random.Random(7)
    for turn in range(60):
        ids = list(Question.objects.values_list("id", flat=True))
        some = dice.sample(ids, min(len(ids), dice.randint(0, 6)))
        match turn % 6:
            case 0:
                batch = [plain(scene, 1000 + 10 * turn + n, dice) for n in range(dice.randint(1, 9))]
                Question.objects.bulk_create(batch)
            case 1:
                Question.objects.filter(id__in=some).update(state=dice.choice(STATES), letter=dice.choice("AB"))
            case 2:
                Question.objects.filter(id__in=some).update(stale=dice.random() < 0.5)  # of no kind's concern
            case 3:
                rows = list(Question.objects.filter(id__in=some))
                for row in rows:
                    row.category = dice.choice(list(CATEGORIES))
                Question.objects.bulk_update(rows, ["category"])
            case 4:
                Question.objects.filter(id__in=some[:2]).delete()
            case 5:
                services.fold_counts(most=dice.choice([0, 3]))
        assert told(scene) == counted(scene), turn
    assert len(told(scene)) > 10


def test_what_is_taken_back_is_not_counted(scene: Scene) -> None:
    before = told(scene)
    try:
        with transaction.atomic():
            Question.objects.bulk_create([plain(scene, 5000, random.Random(1))])
            assert told(scene) != before
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert told(scene) == before == counted(scene)


def test_a_deleted_video_and_a_deleted_project_leave_no_count(scene: Scene, people: SimpleNamespace) -> None:
    Question.objects.bulk_create([plain(scene, 5000 + n, random.Random(n)) for n in range(5)])
    project = scene.video.project
    Video.objects.filter(project=project).delete()
    assert told(scene) == counted(scene) == []
    Question.objects.filter(project=project).delete()
    project_id = project.id
    project.delete()
    services.fold_counts(most=0)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert not QuestionCount.objects.filter(project_id=project_id).exists()
