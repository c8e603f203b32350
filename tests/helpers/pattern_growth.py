"""Whether the work of a regular expression grows faster than its text: read off its own syntax.

A backtracking matcher does more than linear work where its automaton has two different loops that
read the same text, with a way from the one to the other by that text, too (the property IDA of
ambiguous automata); then `n` rounds can be shared out between both in `n` ways and more. `search`,
`sub` and the like begin anew at every character: that is one more such loop, in front. So no
pattern has to be run, and nothing is timed.

Where the analysis cannot be exact, it errs on the side of suspicion: repetitions of more than
`MOST_REPEATED` times count as endless, and what a long look-ahead or a group before has read is
not remembered. Not suspected is a loop out of which the pattern matches whatever comes, as there
is nothing then to try again.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from re import _compiler, _parser
from re import _constants as op
from typing import Any, NamedTuple, TypeVar

__all__ = ["MOST_REPEATED", "Suspicion", "suspicion"]

MOST_REPEATED = 256
"""A repetition of at most so many times is a factor, not a growth."""

T = TypeVar("T")
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_MORE = "éſK中\u2028\xa0\x85\u200b\ud800"


class Suspicion(NamedTuple):
    """A text that can be read in many ways by this pattern, if it is repeated."""

    pumped: str
    why: str


class _State(NamedTuple):
    """A place of the pattern that has just read a character of a class."""

    place: int
    kind: int


def suspicion(
    pattern: str | bytes, flags: int = 0, *, anchored: bool = False, whole: bool = False
) -> Suspicion | None:
    """Why a pattern may take more than linear time; None where it cannot.

    `anchored` for `match` and `fullmatch`, which try one beginning only; `whole` for `fullmatch`,
    which fails where text is left over.
    """
    return _Automaton(pattern, flags, anchored, whole).suspicion()


class _Automaton:
    """Places that read one character each, and the ways between them that read none.

    A condition is a set of pairs (class of the character before, class of the next one), as the
    bits of a number; class 0 stands for the beginning and the end of a text.
    """

    def __init__(self, pattern: str | bytes, flags: int, anchored: bool, whole: bool) -> None:
        tree = _parser.parse(pattern, flags)
        self.tree, self.flags, self.groups = tree, tree.state.flags, dict[int, Any]()
        self.is_bytes = isinstance(pattern, bytes)
        self._name_classes(pattern)
        self.ways: list[list[tuple[int, int]]] = []
        self.reads: dict[int, frozenset[int]] = {}
        self.follows: dict[int, int] = {}
        self.atoms: dict[int, frozenset[int]] = {}
        self.inside: frozenset[int] = frozenset()
        self.begin, self.accept, self.dead = self._node(), self._node(), self._node()
        first = self._node()
        self._way(self.begin, first)
        self.prefix = -1
        if not anchored:
            self.prefix, end = self._read(frozenset(range(1, self.classes)))
            self._way(self.begin, self.prefix)
            self._way(end, self.prefix)
            self._way(end, first)
        last = self._sequence(tree, first, self.flags)
        self._way(last, self.accept, self._at_end() if whole else self.always)

    def _name_classes(self, pattern: str | bytes) -> None:
        """Characters that no part of the pattern tells apart are one class."""
        tests = [*self._singles(self.tree, self.flags)]
        written = pattern.decode("latin-1") if self.is_bytes else str(pattern)
        more = "\xa0\x85\xe9" if self.is_bytes else _MORE
        letters = sorted({*map(chr, range(128)), *written, *more})
        by_signature: dict[tuple[bool, ...], list[str]] = {}
        for letter in letters:
            signature = (letter == "\n", letter.isalnum() or letter == "_")
            signature += tuple(self._admits(test, letter) for test in tests)
            by_signature.setdefault(signature, []).append(letter)
        self.classes = len(by_signature) + 1
        self.letters = ["", *(members[0] for members in by_signature.values())]
        for number, members in enumerate(by_signature.values(), 1):
            nice = [one for one in members if one.isprintable()]
            self.letters[number] = nice[0] if nice else members[0]
        self.sets = {
            test: frozenset(
                n for n in range(1, self.classes) if self._admits(test, self.letters[n])
            )
            for test in tests
        }
        self.always = (1 << self.classes**2) - 1

    def _singles(self, tree: Any, flags: int) -> Iterator[tuple[Any, ...]]:
        for operation, value in tree:
            if operation in _SINGLE:
                yield self._key(operation, value, flags)
            for part, inner in _parts(operation, value, flags):
                yield from self._singles(part, inner)

    def _key(self, operation: Any, value: Any, flags: int) -> tuple[Any, ...]:
        return (operation, tuple(value) if isinstance(value, list) else value, flags)

    def _admits(self, test: tuple[Any, ...], letter: str) -> bool:
        operation, value, flags = test
        part = _parser.SubPattern(self.tree.state, [(operation, _unfrozen(value))])
        compiled = _compiled(part, flags, test, self.is_bytes)
        text = letter.encode("latin-1", "replace") if self.is_bytes else letter
        return compiled.fullmatch(text) is not None

    # Building

    def _node(self) -> int:
        self.ways.append([])
        return len(self.ways) - 1

    def _way(self, start: int, end: int, condition: int | None = None) -> None:
        self.ways[start].append((end, self.always if condition is None else condition))

    def _read(self, kinds: frozenset[int]) -> tuple[int, int]:
        place, end = self._node(), self._node()
        self.reads[place], self.follows[place], self.atoms[place] = kinds, end, self.inside
        return place, end

    def _pairs(self, before: Any = None, after: Any = None) -> int:
        every = range(self.classes)
        return sum(
            1 << (b * self.classes + a)
            for b in (every if before is None else before)
            for a in (every if after is None else after)
        )

    def _at_end(self) -> int:
        return self._pairs(after=[0])

    def _newlines(self) -> list[int]:
        return [n for n in range(1, self.classes) if self.letters[n] == "\n"]

    def _words(self) -> list[int]:
        return [n for n in range(1, self.classes) if self.letters[n].isalnum() or self.letters[n] == "_"]  # noqa: E501  # fmt: skip

    def _place_condition(self, value: Any, flags: int) -> int:
        lines = bool(flags & re.MULTILINE)
        if value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            more = self._newlines() if lines and value is op.AT_BEGINNING else []
            return self._pairs(before=[0, *more])
        if value in (op.AT_END, op.AT_END_STRING):
            more = self._newlines() if lines and value is op.AT_END else []
            return self._pairs(after=[0, *more])
        words = self._words()
        others = [n for n in range(self.classes) if n not in words]
        change = self._pairs(words, others) | self._pairs(others, words)
        return change if value is op.AT_BOUNDARY else self.always & ~change

    def _glance(self, tree: Any, ahead: bool, flags: int) -> int | None:
        """The condition that a look of one character is; None for longer looks."""
        parts = list(tree)
        if not parts:
            return self.always
        if len(parts) != 1:
            return None
        operation, value = parts[0]
        if operation in _SINGLE:
            kinds = self.sets[self._key(operation, value, flags)]
            return self._pairs(after=kinds) if ahead else self._pairs(before=kinds)
        if operation is op.AT:
            return self._place_condition(value, flags)
        if operation is op.SUBPATTERN:
            return self._glance(value[3], ahead, (flags | value[1]) & ~value[2])
        if operation is op.BRANCH:
            branches = [self._glance(branch, ahead, flags) for branch in value[1]]
            whole = 0
            for each in branches:
                if each is None:
                    return None
                whole |= each
            return whole
        return None

    def _sequence(self, tree: Any, start: int, flags: int) -> int:
        for operation, value in tree:
            start = self._part(operation, value, start, flags)
        return start

    def _part(self, operation: Any, value: Any, start: int, flags: int) -> int:
        if operation in _SINGLE:
            place, end = self._read(self.sets[self._key(operation, value, flags)])
            self._way(start, place)
            return end
        end = self._node()
        if operation is op.BRANCH:
            for branch in value[1]:
                self._way(self._sequence(branch, start, flags), end)
        elif operation is op.SUBPATTERN:
            group, added, removed, tree = value
            inner = (flags | added) & ~removed
            self.groups[group] = (tree, inner)
            self._way(self._sequence(tree, start, inner), end)
        elif operation is op.ATOMIC_GROUP:
            self._way(self._atomic(lambda: self._sequence(value, start, flags)), end)
        elif operation in _REPEATS:
            self._way(self._repeat(operation, *value, start, flags), end)
        elif operation is op.AT:
            self._way(start, end, self._place_condition(value, flags))
        elif operation in (op.ASSERT, op.ASSERT_NOT):
            direction, tree = value
            glance = self._glance(tree, direction > 0, flags)
            if glance is None:
                if direction > 0:  # the look itself is work, and leads nowhere
                    self._way(self._sequence(tree, start, flags), self.dead)
                self._way(start, end)
            else:
                wanted = glance if operation is op.ASSERT else self.always & ~glance
                self._way(start, end, wanted)
        elif operation is op.GROUPREF:
            self._way(self._sequence(self.groups[value][0], start, self.groups[value][1]), end)
        else:
            raise NotImplementedError(f"{operation} is not known to tests/helpers/pattern_growth")
        return end

    def _atomic(self, build: Any) -> int:
        before, number = self.inside, len(self.ways)
        self.inside = before | {number}
        try:
            return int(build())
        finally:
            self.inside = before

    def _repeat(
        self, operation: Any, least: int, most: Any, tree: Any, start: int, flags: int
    ) -> int:
        endless = most is op.MAXREPEAT or int(most) > MOST_REPEATED
        possessive = operation is op.POSSESSIVE_REPEAT

        def build() -> int:
            at = start
            for _ in range(min(int(least), 2)):
                at = self._sequence(tree, at, flags)
            end = self._node()
            if not endless:
                if least < most:
                    self._way(self._sequence(tree, at, flags), end)
                self._way(at, end)
                return end
            loop = self._node()
            self._way(at, loop)
            self._way(self._sequence(tree, loop, flags), loop)
            only = list(tree)
            if possessive and most is op.MAXREPEAT and len(only) == 1 and only[0][0] in _SINGLE:
                # It is left only where it cannot go on.
                kinds = self.sets[self._key(*only[0], flags)]
                self._way(loop, end, self._pairs(after=set(range(self.classes)) - kinds))
            else:
                self._way(loop, end)
            return end

        return self._atomic(build) if possessive else build()

    # Judging

    def _exits(self, node: int) -> list[tuple[int, int]]:
        """Where one can come from a node without reading, by each way, and on what condition."""
        exits: list[tuple[int, int]] = []

        def go(at: int, condition: int, taken: frozenset[tuple[int, int]]) -> None:
            if at in self.reads or at == self.accept:
                exits.append((at, condition))
            for number, (end, needed) in enumerate(self.ways[at]):
                if (at, number) not in taken and condition & needed:
                    go(end, condition & needed, taken | {(at, number)})

        go(node, self.always, frozenset())
        return exits

    @cached_property
    def steps(self) -> dict[_State, dict[_State, int]]:
        """What can follow a state, and by how many ways; without what cannot be come to."""
        exits = {place: self._exits(after) for place, after in self.follows.items()}
        exits[self.begin] = self._exits(self.begin)
        matches: dict[_State, int] = {}
        steps: dict[_State, dict[_State, int]] = {}
        waiting = [_State(self.begin, 0)]
        while waiting:
            state = waiting.pop()
            if state in steps:
                continue
            steps[state], matches[state] = {}, 0
            for place, condition in exits[state.place]:
                row = condition >> (state.kind * self.classes)
                if place == self.accept:
                    matches[state] |= row
                    continue
                for kind in self.reads[place]:
                    if row >> kind & 1:
                        target = _State(place, kind)
                        steps[state][target] = steps[state].get(target, 0) + 1
                        waiting.append(target)
        self.matches, self.sure = matches, self._sure(steps, matches)
        return steps

    def _sure(
        self, steps: dict[_State, dict[_State, int]], matches: dict[_State, int]
    ) -> set[_State]:
        """States out of which the pattern fits, whatever comes: now, or by going on."""
        sure = set(steps)
        while True:
            lost = {
                state
                for state in sure
                if not all(
                    matches[state] >> kind & 1
                    or any(target.kind == kind and target in sure for target in steps[state])
                    for kind in range(self.classes)
                )
            }
            if not lost:
                return sure
            sure -= lost

    def suspicion(self) -> Suspicion | None:
        steps = self.steps
        loops = _components(steps)
        for state, targets in steps.items():
            for target, ways in targets.items():
                same = state in loops and loops[state] is loops.get(target)
                if ways > 1 and same and state not in self.sure:
                    return Suspicion(self.letters[target.kind], "one loop inside of another")
        every = {id(loop): loop for loop in loops.values()}.values()
        for own in every:
            reach = _reachable(steps, next(iter(own)))
            for its in every:
                if not its <= reach or self._is_final(own, its):
                    continue
                for one, other in self._common(own, its):
                    if (text := self._shared(one, other, own, its)) is not None:
                        begins_anew = one.place == self.prefix
                        why = "begun anew at every place" if begins_anew else "shared by two loops"
                        return Suspicion(text, why)
        return None

    def _common(self, own: set[_State], its: set[_State]) -> Iterator[tuple[_State, _State]]:
        """Pairs of states that two loops come back to by one and the same text; one pair of each
        round, as what holds for the one holds for all that it comes through."""
        pairs = {
            (a, c): {
                (x, z): 1
                for x in self.steps[a]
                if x in own
                for z in self.steps[c]
                if z.kind == x.kind and z in its and self._is_stuck(c, z)
            }
            for a in own
            for c in its
            if a.kind == c.kind and c not in self.sure
        }
        rounds = _components(pairs)
        for each in {id(pairs): pairs for pairs in rounds.values()}.values():
            if apart := [(a, c) for a, c in each if a != c]:
                yield min(apart)

    def _is_stuck(self, before: _State, after: _State) -> bool:
        """Whether the pattern does not fit here: where it does, nothing is tried again."""
        return not self.matches[before] >> after.kind & 1 and after not in self.sure

    def _is_final(self, loop: set[_State], its: set[_State]) -> bool:
        """Whether a loop is in an atomic group that another is not in: what was read in the one
        is never given to the other."""
        common = frozenset.intersection(*(self.atoms[state.place] for state in loop))
        return not any(common <= self.atoms[state.place] for state in its)

    def _shared(self, one: _State, other: _State, own: set[_State], its: set[_State]) -> str | None:
        """A text that leads from the one to itself and to the other, and from that to itself."""
        start = (one, one, other)
        come: dict[tuple[_State, _State, _State], str] = {start: ""}
        waiting = [start]
        while waiting:
            following: list[tuple[_State, _State, _State]] = []
            for triple in waiting:
                a, b, c = triple
                for x in self.steps[a]:
                    if x not in own:
                        continue
                    for z in self.steps[c]:
                        if z.kind != x.kind or z not in its or not self._is_stuck(c, z):
                            continue
                        for y in self.steps[b]:
                            if y.kind != x.kind or (x, y, z) in come:
                                continue
                            come[x, y, z] = come[triple] + self.letters[x.kind]
                            if (x, y, z) == (one, other, other):
                                return come[x, y, z]
                            following.append((x, y, z))
            waiting = following
        return None


_KNOWN: dict[Any, re.Pattern[Any]] = {}


def _compiled(part: Any, flags: int, test: Any, is_bytes: bool) -> re.Pattern[Any]:
    if (test, is_bytes) not in _KNOWN:
        _KNOWN[test, is_bytes] = _as_pattern(part, flags, is_bytes)
    return _KNOWN[test, is_bytes]


def _as_pattern(part: Any, flags: int, is_bytes: bool) -> re.Pattern[Any]:
    """A piece of syntax as a pattern of its own."""
    code = _compiler._code(part, flags)
    blank = b"" if is_bytes else ""
    return _compiler._sre.compile(blank, flags, code, 0, {}, (None,))


def _unfrozen(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _parts(operation: Any, value: Any, flags: int) -> Iterator[tuple[Any, int]]:
    """The pieces of syntax inside of one, with their flags."""
    if operation is op.BRANCH:
        yield from ((branch, flags) for branch in value[1])
    elif operation is op.SUBPATTERN:
        yield value[3], (flags | value[1]) & ~value[2]
    elif operation is op.ATOMIC_GROUP:
        yield value, flags
    elif operation in _REPEATS:
        yield value[2], flags
    elif operation in (op.ASSERT, op.ASSERT_NOT):
        yield value[1], flags


def _reachable(steps: dict[_State, dict[_State, int]], start: _State) -> set[_State]:
    seen: set[_State] = set()
    waiting = [start]
    while waiting:
        for target in steps[waiting.pop()]:
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def _components(steps: dict[T, dict[T, int]]) -> dict[T, set[T]]:
    """The loop that each state is in; states in no loop are left out. (Kosaraju's way.)"""
    order: list[T] = []
    seen: set[T] = set()
    for root in steps:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(steps[root]))]
        while stack:
            state, targets = stack[-1]
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    stack.append((target, iter(steps[target])))
                    break
            else:
                stack.pop()
                order.append(state)
    back: dict[T, list[T]] = {state: [] for state in steps}
    for state, targets in steps.items():
        for target in targets:
            back[target].append(state)
    loops: dict[T, set[T]] = {}
    placed: set[T] = set()
    for root in reversed(order):
        if root in placed:
            continue
        component = {root}
        waiting = [root]
        placed.add(root)
        while waiting:
            for source in back[waiting.pop()]:
                if source not in placed:
                    placed.add(source)
                    component.add(source)
                    waiting.append(source)
        if len(component) > 1 or root in steps[root]:
            loops.update(dict.fromkeys(component, component))
    return loops
