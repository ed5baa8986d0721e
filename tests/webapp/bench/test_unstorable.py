"""What JSON can say and the database cannot hold is refused with a sentence, wherever it stands in a question."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from tests.webapp.bench.scene import Scene, make_questions

pytestmark = pytest.mark.django_db
API = "/api/v1"


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, '"\\ud800"', '"\\u0000"', "NaN"])
def test_a_value_that_cannot_be_stored_is_refused(people: Any, scene: Scene, as_user: Any, value: str) -> None:
    question = make_questions(scene, 1, opened=False)[0]
    options = f'[{{"id": "a", "text": "x", "value": {value}}}, {{"id": "b", "text": "y"}}]'
    body = f'{{"version": 1, "fields": {{"proof": null, "key": ["a"], "options": {options}}}}}'
    client = as_user(people.cora)
    with transaction.atomic():
        told = client.patch(f"{API}/questions/{question.id}", body, content_type="application/json")
    # how deep a nesting can be read at all depends on how deep the server's own calls are: then it is 400
    assert told.status_code == 422 or (told.status_code == 400 and value.startswith("[[")), told.content
    question.refresh_from_db()
    assert question.version == 1
