"""The part of Jinja2 that templates may use, read from the syntax tree before anything runs.

Values can be shown, filtered, compared and looped over. There are no calls, no macros, no
assignments and no subscripts, so that there is nothing to climb out of a sandbox with; and
what cannot be written cannot loop for long either.
"""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

from jinja2 import nodes

from notify.templates.filters import FILTERS, FITS, argument_problem
from notify.templates.pieces import STATEMENT, Pieces, Value
from notify.templates.sources import SHARED, SUBJECT, Source
from notify.templates.values import Variable

TESTS: Final = ("even", "none", "odd")
_LOOP: Final = Variable(
    kind="list",
    fields={
        name: Variable(kind="boolean" if name in ("first", "last") else "integer")
        for name in ("first", "index", "index0", "last", "length")
    },
)
_LOOPS: Final = 2
_DEPTH: Final = 30
_NAMES: Final = {
    nodes.Assign: "set",
    nodes.AssignBlock: "set",
    nodes.Call: "a call",
    nodes.CallBlock: "call",
    nodes.FilterBlock: "filter as a block",
    nodes.FromImport: "from",
    nodes.Getitem: "a subscript",
    nodes.Import: "import",
    nodes.Macro: "macro",
    nodes.Mod: "the operator %",
    nodes.Mul: "the operator *",
    nodes.Pow: "the operator **",
    nodes.Scope: "autoescape",
    nodes.With: "with",
}


class Reader:
    """Reads one file: its pieces, the variables and shared files it uses, its problems."""

    def __init__(self, source: Source, variables: Mapping[str, Variable], content: str) -> None:
        self.source = source
        self.variables = variables
        self.subject = content == SUBJECT
        self.suffix = content[content.rindex(".") :]
        self.pieces = Pieces()
        self.used: set[str] = set()
        self.shared: set[str] = set()
        self.problems: list[str] = []
        self._scope: dict[str, Variable] = {}

    def read(self, template: nodes.Template) -> None:
        self._body(template.body)

    def _body(self, body: list[nodes.Node]) -> None:
        for node in body:
            statement = _STATEMENTS.get(type(node))
            if statement is None:
                self._refuse(node)
            else:
                statement(self, node)

    def _output(self, node: nodes.Output) -> None:
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                self.pieces.add(part.data, part.lineno)
            else:
                self.pieces.add_value(self._shown(part), part.lineno)

    def _shown(self, node: nodes.Node) -> Value:
        variable = self._expression(node, 0)
        if variable and variable.kind in ("boolean", "list") and self.suffix != ".json":
            self._problem(node, f"a {variable.kind} has no text form: use if, for or a filter")
        encoded = isinstance(node, nodes.Filter) and node.name == "urlencode"
        return Value(variable=variable, encoded=encoded)

    def _if(self, node: nodes.If) -> None:
        self._mark(node)
        self._expression(node.test, 0)
        self._body(node.body)
        for branch in node.elif_:
            self._if(branch)
        self._mark(node)
        self._body(node.else_)
        self._mark(node)

    def _for(self, node: nodes.For) -> None:
        self._mark(node)
        items = self._expression(node.iter, 0)
        if items is None or items.kind != "list":
            self._problem(node, "for goes through a variable of type list only")
        if node.recursive:
            self._problem(node, "a loop cannot be recursive")
        if self._loops() >= _LOOPS:
            self._problem(node, f"loops are nested at most {_LOOPS} deep")
        outer = self._scope
        self._scope = outer | self._targets(node, items)
        if node.test is not None:
            self._expression(node.test, 0)
        self._body(node.body)
        self._scope = outer
        self._mark(node)
        self._body(node.else_)
        self._mark(node)

    def _targets(self, node: nodes.For, items: Variable | None) -> dict[str, Variable]:
        if not isinstance(node.target, nodes.Name) or node.target.name in self.variables:
            self._problem(node, "a loop needs one name that is not a variable's")
            return {}
        one = Variable(kind="list", fields=items.fields) if items and items.fields else None
        item = (items.item if items else None) or one or Variable(kind="text")
        return {node.target.name: item, f"loop {self._loops()}": _LOOP, "loop": _LOOP}

    def _loops(self) -> int:
        return sum(name.startswith("loop ") for name in self._scope)

    def _block(self, node: nodes.Block) -> None:
        if self._loops():
            self._problem(node, "a block cannot stand in a loop")
        self._mark(node)
        self._body(node.body)
        self._mark(node)

    def _refer(self, node: nodes.Extends | nodes.Include) -> None:
        self._mark(node)
        name = node.template.value if isinstance(node.template, nodes.Const) else None
        start, _, rest = str(name).partition("/")
        if start != SHARED or "/" in rest or not rest.endswith(self.suffix) or rest[0] in "._":
            self._problem(node, f'only files named "{SHARED}/NAME{self.suffix}" can be used here')
        elif self.source.name.startswith(f"{SHARED}/"):
            self._problem(node, "a shared file cannot use another")
        elif self._loops():
            self._problem(node, "include cannot stand in a loop")
        else:
            self.shared.add(str(name))

    def _expression(self, node: nodes.Node, depth: int) -> Variable | None:
        """Checks an expression; what it is, where it is a bare variable or field."""
        if depth > _DEPTH:
            self._problem(node, "is nested too deep")
            return None
        if isinstance(node, nodes.Name):
            return self._name(node)
        if isinstance(node, nodes.Getattr):
            return self._field(node, depth)
        if isinstance(node, nodes.Filter):
            self._filter(node, depth)
        elif isinstance(node, nodes.Test):
            self._test(node, depth)
        elif not isinstance(node, _PLAIN):
            self._refuse(node)
        else:
            self._constant(node)
            self._inner(node, depth)
        return None

    def _constant(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Const) and node.value in (inf, -inf):
            self._problem(node, "a number is too large")

    def _inner(self, node: nodes.Expr, depth: int) -> None:
        if isinstance(node, nodes.CondExpr) and node.expr2 is None:
            self._problem(node, "if needs an else here")
        for child in node.iter_child_nodes():
            inner = child.expr if isinstance(child, nodes.Operand) else child
            if isinstance(inner, nodes.Expr):
                variable = self._expression(inner, depth + 1)
                if isinstance(node, nodes.Concat) and variable and not variable.always_text:
                    self._problem(node, "~ joins what always has a text form: use default or if")

    def _name(self, node: nodes.Name) -> Variable | None:
        found = self._scope.get(node.name) or self.variables.get(node.name)
        if found is None:
            self._problem(node, f"variable {node.name[:40]!r} is not declared")
            return None
        self.used.add(node.name)
        return self._one_line(node, found)

    def _field(self, node: nodes.Getattr, depth: int) -> Variable | None:
        of = self._expression(node.node, depth + 1) if isinstance(node.node, nodes.Name) else None
        found = of.fields.get(node.attr) if of else None
        in_scope = isinstance(node.node, nodes.Name) and node.node.name in self._scope
        if found is None or not in_scope:
            self._problem(node, f"there is no field {node.attr[:40]!r} here")
            return None
        return self._one_line(node, found)

    def _one_line(self, node: nodes.Expr, variable: Variable) -> Variable:
        if self.subject and variable.may_break:
            self._problem(node, "a text may have line breaks: a subject takes a line")
        return variable

    def _filter(self, node: nodes.Filter, depth: int) -> None:
        if node.node is None or node.name not in FILTERS:
            self._problem(node, f"filter {node.name[:40]!r} is not one of {', '.join(FILTERS)}")
            return
        variable = self._expression(node.node, depth + 1)
        kind = variable.kind if variable else ""
        if kind and kind not in FITS.get(node.name, {kind}):
            self._problem(node, f"filter {node.name!r} does not take a {kind}")
            return
        arguments, named = self._constants(node)
        problem = argument_problem(node.name, arguments, named, kind)
        if problem:
            self._problem(node, problem)

    def _test(self, node: nodes.Test, depth: int) -> None:
        if node.name not in TESTS:
            self._problem(node, f"test {node.name[:40]!r} is not one of {', '.join(TESTS)}")
        self._expression(node.node, depth + 1)
        self._constants(node)

    def _constants(self, node: nodes.Filter | nodes.Test) -> tuple[list[Any], dict[str, Any]]:
        positional = [item.value for item in node.args if isinstance(item, nodes.Const)]
        named = {str(p.key): p.value.value for p in node.kwargs if isinstance(p.value, nodes.Const)}
        for argument in [*node.args, *(pair.value for pair in node.kwargs)]:
            self._constant(argument)
        given = len(node.args) + len(node.kwargs)
        if node.dyn_args or node.dyn_kwargs or len(positional) + len(named) < given:
            self._problem(node, f"{node.name[:40]} takes only constants as arguments")
        return positional, named

    def _mark(self, node: nodes.Node) -> None:
        self.pieces.add(STATEMENT, node.lineno)

    def _refuse(self, node: nodes.Node) -> None:
        name = _NAMES.get(type(node), type(node).__name__.lower())
        self._problem(node, f"{name} is not part of the template language here")

    def _problem(self, node: nodes.Node, problem: str) -> None:
        # What Jinja2 wraps around a statement of its own has no line.
        lines = (item.lineno for item in (node, *node.iter_child_nodes()) if item.lineno)
        self.problems.append(self.source.at(next(lines, None), problem))


_PLAIN: Final = (
    nodes.Add,
    nodes.And,
    nodes.Compare,
    nodes.Concat,
    nodes.CondExpr,
    nodes.Const,
    nodes.List,
    nodes.Neg,
    nodes.Not,
    nodes.Or,
    nodes.Sub,
    nodes.Tuple,
)
_STATEMENTS: Final[Mapping[type[nodes.Node], Callable[[Reader, Any], None]]] = {
    nodes.Block: Reader._block,
    nodes.Extends: Reader._refer,
    nodes.For: Reader._for,
    nodes.If: Reader._if,
    nodes.Include: Reader._refer,
    nodes.Output: Reader._output,
}
