"""Who may import whom, who owns which third-party package, and how large things may get."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "notify"

# A part imports from rows above its own, and within its row where ROW_ALONE does not say no.
LAYERS = {
    "errors": 1,
    "attachments": 2,
    "certificates": 2,
    "notification": 2,
    "explanations": 2,
    "fieldchecks": 2,
    "kernelwaits": 2,
    "outcomes": 2,
    "policy": 2,
    "protocolcodes": 2,
    "message": 2,
    "recipients": 2,
    "rows": 2,
    "segments": 2,
    "sizes": 2,
    "deadletter": 2,
    "texts": 2,
    "config": 3,
    "folders": 3,
    "metrics": 3,
    "redisclient": 3,
    "phones": 3,
    "recurrence": 3,
    "spelling": 3,
    "systemd": 3,
    "topology": 3,
    "telemetry": 3,
    "trusting": 3,
    "broker": 4,
    "management": 4,
    "ledger": 4,
    "limits": 4,
    "templates": 4,
    "store": 4,
    "suppressions": 4,
    "channels": 4,
    # Celery's settings: they need the configuration and the topology only.
    "app": 5,
    "archiver": 5,
    "attaching": 5,
    "attemptlog": 5,
    "claiming": 5,
    "codes": 5,
    "deadstory": 5,
    "admission": 5,
    "blocklist": 5,
    "deliver": 5,
    "provision": 5,
    "providerstate": 5,
    "publish": 5,
    "publishcount": 5,
    "queuestate": 5,
    "reloading": 5,
    "rendering": 5,
    "routing": 5,
    "smsprep": 5,
    "sending": 5,
    "settling": 5,
    "steps": 5,
    "story": 5,
    "tools": 5,
    "archivecount": 6,
    "batch": 6,
    "care": 6,
    "privacy": 6,
    "heartbeat": 6,
    "redrive": 6,
    "replay": 6,
    "schedule": 6,
    "exporter": 7,
    "tasks": 7,
    "worker": 7,
    "cli": 8,
    "demo": 8,
    "doctor": 8,
    "drill": 8,
    "local": 8,
    "processes": 8,
    "sandbox": 8,
    "up": 8,
    "__main__": 9,
}
# The adapters never import one another.
ROW_ALONE = 4
# Programs beside the pipeline: they know its errors and nothing else of it.
BESIDE = ("local", "sandbox")

OWNERS = {
    "aiosmtpd": {"sandbox"},
    "alembic": {"store"},
    "amqp": {"broker"},
    "celery": {"app", "schedule", "tasks", "worker"},
    "certifi": {"channels"},
    "click": {"cli"},
    "cronsim": {"recurrence"},
    "dkim": {"channels"},
    "hiredis": {"redisclient"},
    "honcho": {"up"},
    "idna": {"channels", "spelling"},
    "jinja2": {"templates"},
    "kombu": {"app", "broker", "worker"},
    "markupsafe": {"templates"},
    "phonenumbers": {"phones"},
    "pika": {"archiver"},
    "prometheus_client": {"metrics"},
    "pydantic": {"config"},
    "pydantic_core": {"config"},
    "redbeat": {"schedule"},
    "redis": {"ledger", "redisclient", "schedule"},
    "requests": {"channels", "management", "trusting"},
    "rich": {"cli", "demo", "drill"},
    "sqlalchemy": {"store"},
    "standardwebhooks": {"channels"},
    "tenacity": {"broker"},
    "urllib3": {"channels"},
}
# RedBeat hands Redis's exceptions through; its own connections are made by RedBeat.
ONLY_THIS_NAME = {("schedule", "redis"): {"redis.RedisError"}}
# Pure: the standard library and each other.
PURE_ROWS = (1, 2)

MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """Full names of what a module imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


@cache
def own_imports(module: str) -> frozenset[str]:
    """The modules of ours that it imports."""
    ours = {name for name in imports(module) if name.split(".")[0] == "notify"}
    return frozenset(name if name in MODULES else name.rpartition(".")[0] for name in ours)


def part(module: str) -> str:
    return module.split(".")[1]


def edges() -> Iterator[tuple[str, str]]:
    for module in MODULES.keys() - {"notify"}:
        for target in own_imports(module):
            yield module, target


def test_every_part_has_a_row_and_every_row_a_part() -> None:
    assert {part(module) for module in MODULES if module != "notify"} == LAYERS.keys()


def test_nobody_imports_the_public_surface() -> None:
    """It is for callers; inside, each module says where a thing is from."""
    assert not [pair for pair in edges() if pair[1] == "notify"]


def test_imports_go_upwards() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in edges()
        if part(module) != part(target)
        and (
            LAYERS[part(target)] > LAYERS[part(module)]
            or LAYERS[part(target)] == LAYERS[part(module)] == ROW_ALONE
        )
    ]
    assert wrong == []


def test_the_programs_beside_the_pipeline_know_its_errors_only() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, target in edges()
        if part(module) in BESIDE and part(target) not in (part(module), "errors")
    ]
    assert wrong == []


def test_no_module_imports_itself_by_a_detour() -> None:
    order = TopologicalSorter({module: own_imports(module) - {"notify"} for module in MODULES})
    assert len(list(order.static_order())) >= len(MODULES) - 1


def third_parties(module: str) -> set[str]:
    known = {*sys.stdlib_module_names, "notify"}
    return {name.split(".")[0] for name in imports(module)} - known


def test_each_third_party_package_has_its_owners_and_no_others() -> None:
    found: dict[str, set[str]] = {}
    for module in MODULES.keys() - {"notify"}:
        for package in third_parties(module):
            found.setdefault(package, set()).add(part(module))
    assert found == OWNERS


def test_what_is_borrowed_is_only_what_is_allowed() -> None:
    for (owner, package), allowed in ONLY_THIS_NAME.items():
        used = {
            name
            for module in MODULES.keys() - {"notify"}
            if part(module) == owner
            for name in imports(module)
            if name.split(".")[0] == package
        }
        assert used == allowed


def test_the_values_need_the_standard_library_only() -> None:
    pure = [m for m in MODULES if m != "notify" and LAYERS[part(m)] in PURE_ROWS]
    assert len(pure) >= 7
    assert [m for m in pure if third_parties(m)] == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_modules_and_functions_stay_small(module: str) -> None:
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= 300
    long = [
        f"{node.name}: {lines} lines"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > 50
    ]
    assert long == []


def test_no_module_is_a_drawer_or_hides_another() -> None:
    names = {path.stem for path in MODULES.values()}
    assert not names & {"utils", "util", "common", "helpers", "misc"}
    top = {path.stem for path in PACKAGE.iterdir()} - {"__init__", "__main__", "__pycache__"}
    assert not top & sys.stdlib_module_names
    assert not top & OWNERS.keys()


def test_nothing_is_printed() -> None:
    calls = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert calls == []


def test_every_module_says_what_it_is() -> None:
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []
