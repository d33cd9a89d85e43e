"""A new kind: a folder, two templates, a line in the registry, its name, its shapes for OpenAPI and a subclass of the
contract test, and no migration.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.check import PRODUCTION
from tests.support.copying import copied
from tests.support.process import clean_env

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent / "newcomer"
SHAPES = '    "rating": KindShapes("Rating", RatingParams, RatingAsked, RatingResult),\n'
NAME, STEPS = '        RATING = "rating", "Rating"\n', '        STEPS = "steps"'
LINE = '    "rating": "elicit_flows.kinds.rating.Rating",\n'


@pytest.mark.limit(150)  # a run of pytest within, with a service of its own
def test_a_kind_is_added_by_six_things_and_works_from_the_question_to_the_answer(tmp_path: Path) -> None:
    tree = copied(tmp_path / "project")
    kinds = tree / "elicit_flows" / "kinds"
    (kinds / "rating").mkdir()
    (kinds / "rating" / "kind.py").write_text((HERE / "kind.py").read_text())
    (kinds / "rating" / "__init__.py").write_text("from elicit_flows.kinds.rating.kind import Rating as Rating\n")
    templates = tree / "templates" / "connect" / "kinds"
    (templates / "rating.html").write_text((HERE / "page.html").read_text())
    (templates / "rating_next.html").write_text((HERE / "page_next.html").read_text())
    registry = (kinds / "__init__.py").read_text()
    (kinds / "__init__.py").write_text(registry.replace('    "link":', LINE + '    "link":'))
    model = tree / "elicit_flows" / "models" / "elicitation.py"
    model.write_text(model.read_text().replace(STEPS, NAME + STEPS))
    table = tree / "elicit_flows" / "api" / "kind_shapes.py"
    shapes = (HERE / "shapes.py").read_text().partition("import Strict\n")[2]
    text = table.read_text().replace("\nclass KindShapes(", f"{shapes.strip()}\n\n\nclass KindShapes(")
    table.write_text(text.replace('    "link": KindShapes', f'{SHAPES}    "link": KindShapes'))
    (tree / "tests" / "kinds" / "test_rating.py").write_text((HERE / "contract.py").read_text())
    (tree / "tests" / "journey" / "test_rating.py").write_text((HERE / "journey.py").read_text())

    tests = ["tests/kinds/test_rating.py", "tests/journey/test_rating.py"]
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=tree, env=clean_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    migrations = [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"]
    checked = subprocess.run(
        migrations, cwd=tree, env=clean_env(PRODUCTION), capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
