"""Which examples to look at: changes of choices that random generation makes too seldom.

Each stage proposes sequences of choices; what comes out of them is whatever the user's strategy
makes of these choices. Nothing here knows a mechanism, and nothing decides anything.
"""

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any

from .bank import Bank
from .choices import ChoiceSpace, Example, ExampleChoice
from .corners import MOST_LISTS, corners, enumerated, exhausted, patterned, regrouped
from .dictionary import conjunctions, dictionary, inner, repeated, shaped
from .evolution import Evolution
from .ladder import Ladder, base_of
from .scout import Enough, Gross, Scout, Seen
from .suggestions import Suggestions, in_turn
from .tries import Tries

RANDOM = 120
FIRST = 40
"""Examples at random in all, and those before anything else."""
SUGGESTED = 0.3
"""Share of the random choices that are answered with an end or a constant."""
STALE_RANDOM = 50
SHAPES = 4
PATTERNED = 60
"""Pairs made of patterns of like choices."""
CLIMBING = 2
"""The chunk of shared noise by which a climb is judged."""
STALE_CLIMB = 40
GROUPS = 0.7
"""Share of the changes of a climb that are to like choices together."""


class Stages:
    """The stages of a hunt over the choices of one strategy, all random numbers from one seed."""

    def __init__(
        self, space: ChoiceSpace, scout: Scout, constants: Sequence[Any], seed: int
    ) -> None:
        """Nothing is looked at yet; `constants` are those of the mechanism's code."""
        self.examples = scout.plan.examples
        self.random = Random(f"dpwitness pairs {seed}")
        self.tries = Tries(space, scout)
        self.suggestions = Suggestions(constants)
        self.bank = Bank(self.tries, self.suggestions)
        self.evolution = Evolution(self.tries, self.suggestions, self.bank, self.random)
        self.patterned: list[Seen] = []
        """Pairs whose like choices follow a pattern, the plainest first."""

    def run(self) -> None:
        """All stages; Enough and Gross of the scout end them."""
        tries, suggestions = self.tries, self.suggestions
        self._random(FIRST)
        smallest = tries.shapes(SHAPES)
        far = [*tries.longest(2), *smallest]
        tries.all_of(exhausted(tries.space, smallest), MOST_LISTS)
        tries.all_of(corners(suggestions, far), int(0.15 * self.examples))
        self._patterns(tries.longest(1) or smallest)
        tries.all_of(dictionary(suggestions, smallest), int(0.3 * self.examples))
        tries.all_of(shaped(suggestions, smallest), int(0.15 * self.examples))
        tries.all_of(repeated(suggestions, smallest), int(0.07 * self.examples))
        tries.all_of(inner(suggestions, tries.inside()), int(0.07 * self.examples))
        together = conjunctions(suggestions, tries.space, smallest)
        tries.all_of(together, int(0.15 * self.examples))
        tries.all_of(enumerated(smallest), self.examples // 4)
        self._random(RANDOM - FIRST)
        base = base_of(tries)
        if base is not None:
            Ladder(tries, self.bank, self.random, base).run(int(0.4 * self.examples))
        self.evolution.run(self.examples)

    def _patterns(self, examples: list[Example]) -> None:
        """Groups of like choices all alike, one against the rest, half and half."""
        proposals = islice(in_turn([patterned(one) for one in examples]), PATTERNED)
        for seen in self.tries.each_of(proposals):
            if seen is not None and seen not in self.patterned:
                self.patterned.append(seen)

    def climbed(self, start: Seen, trials: int, draws: int, most: int) -> Seen:
        """The pair that promises most, by changes of a pair as long as they help.

        Changes are judged by `draws` outputs a side that all share their noise; the climb ends
        after `most` outputs or when change after change has not helped.
        """
        scout, tries = self.tries.scout, self.tries
        stop, best, stale = scout.left() - most, start, 0
        if most < 4 * draws:
            return start
        held = scout.promised(start, CLIMBING, draws, trials)
        tried = {id(start)}
        while stale < STALE_CLIMB and scout.left() > max(stop, 4 * draws):
            choices = self._changed(best)
            if choices is None or scout.out_of_time():
                break
            stale += 1
            try:
                seen = tries.again(choices)
            except Enough:
                break
            except Gross as gross:
                return gross.seen
            if seen is None or id(seen) in tried or scout.left() < 2 * draws:
                continue
            tried.add(id(seen))
            promised = scout.promised(seen, CLIMBING, draws, trials)
            if promised > held:
                best, held, stale = seen, promised, 0
        return best

    def _changed(self, seen: Seen) -> list[object] | None:
        """One change: of a group of like choices, of a part of it, or any that evolution makes."""
        if seen.example is None or not seen.example.choices:
            return None
        if self.random.random() < GROUPS:
            changed = regrouped(seen.example, self.random)
            if changed is not None:
                return changed
        return self.evolution.mutated(seen)

    def _random(self, most: int) -> None:
        """Examples at random, fewer where nothing new comes any more."""
        stale, known = 0, self.tries.known
        for _ in self.tries.at_random(self.random, self._suggest, most):
            stale = 0 if self.tries.known > known else stale + 1
            known = self.tries.known
            if stale >= STALE_RANDOM:
                return

    def _suggest(self, choice: ExampleChoice) -> Any:
        if choice.kind == "boolean" or self.random.random() > SUGGESTED:
            return None
        values = self.suggestions.values(choice)
        return self.random.choice(values) if values else None
