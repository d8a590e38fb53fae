"""From tokens to a tree, with macros expanded on the way."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from dragoman_allocator.cel import literals
from dragoman_allocator.cel.errors import CompileError
from dragoman_allocator.cel.lexer import Token, place, tokens
from dragoman_allocator.cel.macros import MacroError, expand
from dragoman_allocator.cel.syntax import Call, Entry, Ident, ListNode, Literal, MapNode, MessageNode, Node, Select

RESERVED: Final = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
))  # fmt: skip
_RELATIONS: Final = ("<", "<=", ">=", ">", "==", "!=", "in")
_SUMS: Final = ("+", "-")
_PRODUCTS: Final = ("*", "/", "%")
_NUMBERS: Final = ("int", "double")
DEEPEST: Final = 250
"""How deep rules of the grammar, and operators and selections, may be nested; the limit of cel-go."""

N = TypeVar("N", bound=Node)


def parse(text: str) -> Node:
    """Read an expression. Raises ``CompileError`` at the first place that is not CEL."""
    return Parser(text).expression()


class Parser:
    """A recursive descent over the tokens.

    Every method reads one rule of the grammar and leaves the next token current.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens(text)
        self._next = 0
        self._open = {"expression": 0, "relation": 0, "sum": 0}

    def expression(self) -> Node:
        """Read the whole text."""
        node = self._ternary()
        if self._token.kind != "end":
            raise self._unexpected()
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _skip(self, kind: str) -> bool:
        if self._token.kind != kind:
            return False
        self._next += 1
        return True

    def _expect(self, kind: str) -> Token:
        if self._token.kind != kind:
            raise self._unexpected(f"expecting '{kind}'")
        return self._take()

    def error(self, at: int, message: str) -> CompileError:
        """Make an error at a place of the text."""
        return CompileError("compilation failed: " + place(self.text, at, message))

    def _unexpected(self, wanted: str = "") -> CompileError:
        token = self._token
        return self.error(token.at, f"Syntax error: mismatched input '{token.text}' {wanted}".rstrip())

    def _enter(self, rule: str) -> None:
        self._open[rule] += 1
        if self._open[rule] > DEEPEST:
            raise _too_deep()

    def _leave(self, rule: str) -> None:
        self._open[rule] -= 1

    def _ternary(self) -> Node:
        self._enter("expression")
        node = self._or()
        if self._token.kind == "?":
            at = self._take().at
            then = self._or()
            self._expect(":")
            node = _deeper(Call("_?_:_", [node, then, self._ternary()], at=at))
        self._leave("expression")
        return node

    def _or(self) -> Node:
        return self._logical("||", "_||_")

    def _and(self) -> Node:
        return self._logical("&&", "_&&_")

    def _logical(self, operator: str, function: str) -> Node:
        read = self._and if operator == "||" else self._relation
        first = read()
        if self._token.kind != operator:
            return first
        at, terms = self._token.at, [first]
        while self._skip(operator):
            terms.append(read())
        return _as_deep(Call(function, terms, at=at), *terms)

    def _relation(self) -> Node:
        self._enter("relation")
        node = self._operations(self._sum, _RELATIONS, "relation")
        self._leave("relation")
        return node

    def _sum(self) -> Node:
        self._enter("sum")
        node = self._operations(self._product, _SUMS, "sum")
        self._leave("sum")
        return node

    def _product(self) -> Node:
        return self._operations(self._unary, _PRODUCTS, "sum")

    def _operations(self, read: Callable[[], Node], operators: Collection[str], rule: str) -> Node:
        node = read()
        while self._token.kind in operators:
            token = self._take()
            self._enter(rule)
            function = "@in" if token.kind == "in" else f"_{token.kind}_"
            node = _deeper(Call(function, [node, read()], at=token.at))
            self._leave(rule)
        return node

    def _unary(self) -> Node:
        kind, at = self._token.kind, self._token.at
        if kind not in ("!", "-") or (kind == "-" and self._tokens[self._next + 1].kind in _NUMBERS):
            return self._member()
        count = 0
        while self._skip(kind):
            count += 1
        node = self._member(signed=kind == "!")
        if count % 2 == 0:
            return node
        return _as_deep(Call("!_" if kind == "!" else "-_", [node], at=at), node)

    def _member(self, *, signed: bool = True) -> Node:
        node = self._primary(signed=signed)
        while self._token.kind in (".", "["):
            token = self._take()
            node = self._select(node, token.at) if token.kind == "." else self._index(node, token.at)
        return node

    def _select(self, node: Node, at: int) -> Node:
        optional = self._skip("?")
        token = self._take()
        if token.kind not in ("ident", "escaped"):
            self._next -= 1
            raise self._unexpected("expecting IDENTIFIER")
        name = token.text.strip("`")
        if optional:
            return _deeper(Call("_?._", [node, Literal(value=name, at=token.at)], at=at))
        if token.kind == "ident" and self._token.kind == "(":
            return self._call(name, node)
        return _deeper(Select(node, name, at=at))

    def _index(self, node: Node, at: int) -> Node:
        function = "_[?_]" if self._skip("?") else "_[_]"
        index = self._ternary()
        self._expect("]")
        return _deeper(Call(function, [node, index], at=at))

    def _call(self, name: str, target: Node | None) -> Node:
        at = self._expect("(").at
        args: list[Node] = []
        if not self._skip(")"):
            args.append(self._ternary())
            while self._skip(","):
                args.append(self._ternary())
            self._expect(")")
        try:
            node = expand(name, target, args, at) or Call(name, args, target, at=at)
        except MacroError as error:
            raise self.error(error.at, str(error)) from None
        _as_deep(node, *args, *([] if target is None else [target]))
        return node if target is None else _counted(node)

    def _primary(self, *, signed: bool) -> Node:
        token = self._token
        if token.kind in (".", "ident"):
            return self._named()
        if token.kind == "(":
            self._take()
            node = self._ternary()
            self._expect(")")
            return node
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        return self._literal(signed=signed)

    def _named(self) -> Node:
        if self._message_ahead():
            return self._message()
        root = self._skip(".")
        token = self._expect("ident")
        if token.text in RESERVED:
            raise self.error(token.at, f"Syntax error: reserved identifier: {token.text}")
        name = "." + token.text if root else token.text
        return self._call(name, None) if self._token.kind == "(" else Ident(name, at=token.at)

    def _message_ahead(self) -> bool:
        at = self._next + (self._token.kind == ".")
        while self._tokens[at].kind == "ident" and self._tokens[at + 1].kind == ".":
            at += 2
        return self._tokens[at].kind == "ident" and self._tokens[at + 1].kind == "{"

    def _message(self) -> Node:
        at = self._token.at
        name = ""
        while self._token.kind != "{":
            name += self._take().text
        self._take()
        fields: list[tuple[str, Node]] = []
        while not self._skip("}"):
            self._skip("?")
            token = self._take()
            if token.kind not in ("ident", "escaped"):
                self._next -= 1
                raise self._unexpected("expecting IDENTIFIER")
            self._expect(":")
            fields.append((token.text.strip("`"), self._ternary()))
            self._separator("}")
        return _as_deep(MessageNode(name, fields, at=at), *(value for _, value in fields))

    def _separator(self, closing: str) -> None:
        if self._token.kind != closing:
            self._expect(",")

    def _list(self) -> Node:
        at = self._take().at
        elements: list[Node] = []
        optional: set[int] = set()
        if self._token.kind == "," and self._tokens[self._next + 1].kind == "]":
            self._take()
        while not self._skip("]"):
            if self._skip("?"):
                optional.add(len(elements))
            elements.append(self._ternary())
            self._separator("]")
        return _as_deep(ListNode(elements, frozenset(optional), at=at), *elements)

    def _map(self) -> Node:
        at = self._take().at
        entries: list[Entry] = []
        if self._token.kind == "," and self._tokens[self._next + 1].kind == "}":
            self._take()
        while not self._skip("}"):
            optional = self._skip("?")
            key = self._ternary()
            self._expect(":")
            entries.append(Entry(key, self._ternary(), optional))
            self._separator("}")
        return _as_deep(MapNode(entries, at=at), *(part for entry in entries for part in (entry.key, entry.value)))

    def _literal(self, *, signed: bool) -> Node:
        at = self._token.at
        sign = "-" if signed and self._skip("-") else ""
        token = self._take()
        read = _READERS.get(token.kind)
        if read is None or (sign and token.kind not in _NUMBERS):
            self._next -= 1
            raise self._unexpected()
        try:
            return Literal(value=read(sign + token.text), at=at)
        except ValueError as error:
            raise self.error(at, str(error)) from None


def _too_deep() -> CompileError:
    return CompileError(f"compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: {DEEPEST}")


def _as_deep(node: N, *parts: Node) -> N:
    """Note how deep operators and selections are nested within a part."""
    node.depth = max((part.depth for part in parts), default=0)
    return node


def _counted(node: N) -> N:
    node.depth += 1
    if node.depth > DEEPEST:
        raise _too_deep()
    return node


def _deeper(node: Call | Select) -> Node:
    parts = [node.operand] if isinstance(node, Select) else node.args
    return _counted(_as_deep(node, *parts))


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "int": literals.int_value,
    "uint": literals.uint_value,
    "double": literals.double_value,
    "string": literals.string_value,
    "bytes": literals.bytes_value,
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}
