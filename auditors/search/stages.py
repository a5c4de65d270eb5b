"""Which examples to look at: changes of choices that random generation makes too seldom.

Each stage proposes sequences of choices; what comes out of them is whatever the user's strategy
makes of these choices. Nothing here knows a mechanism, and nothing decides anything.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from .bank import Bank
from .choices import Choice, ChoiceSpace
from .corners import corners, enumerated
from .dictionary import dictionary
from .evolution import Evolution
from .ladder import Ladder, base_of
from .scout import Scout
from .suggestions import Suggestions
from .tries import Tries

RANDOM = 120
FIRST = 40
"""Examples at random in all, and those before anything else."""
SUGGESTED = 0.3
"""Share of the random choices that are answered with an end or a constant."""
STALE_RANDOM = 50
SHAPES = 4


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

    def run(self) -> None:
        """All stages; Enough and Gross of the scout end them."""
        tries, suggestions = self.tries, self.suggestions
        self._random(FIRST)
        smallest = tries.shapes(SHAPES)
        far = [*tries.longest(2), *smallest]
        tries.all_of(corners(suggestions, far), int(0.15 * self.examples))
        tries.all_of(dictionary(suggestions, smallest), int(0.3 * self.examples))
        tries.all_of(enumerated(smallest), self.examples // 4)
        self._random(RANDOM - FIRST)
        base = base_of(tries)
        if base is not None:
            Ladder(tries, self.bank, self.random, base).run(int(0.4 * self.examples))
        Evolution(tries, suggestions, self.bank, self.random).run(self.examples)

    def _random(self, most: int) -> None:
        """Examples at random, fewer where nothing new comes any more."""
        stale = 0
        for _ in range(most):
            before = self.tries.known
            self.tries.at_random(self.random, self._suggest)
            stale = 0 if self.tries.known > before else stale + 1
            if stale >= STALE_RANDOM:
                return

    def _suggest(self, choice: Choice) -> Any:
        if choice.kind == "boolean" or self.random.random() > SUGGESTED:
            return None
        values = self.suggestions.values(choice)
        return self.random.choice(values) if values else None
