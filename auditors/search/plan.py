"""How much a search may spend."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """Examples to look at, draws a side for an ordinary score, and draws of both sides in all.

    A `thorough` search goes on to the worst pair where others stop at the first gross violation:
    for a bound and not for a verdict. A `brief` one hands on the draws that showed a gross
    violation and makes no more of them: for a verdict and not for a bound.
    """

    examples: int = 700
    draws: int = 500
    shortlist: int = 64
    finalists: int = 8
    most: int = 600_000
    thorough: bool = False
    brief: bool = False
    few: bool = False
    """Whether calls are so slow that the draws are few and frozen runs short."""

    @property
    def total(self) -> int:
        """About how many outputs the search draws, on both sides together."""
        return min(self.most, 2 * self.draws * (self.shortlist + 6 * self.finalists) + 60_000)

    @property
    def counted(self) -> int:
        """About how many draws a side will be counted on the pair that is found."""
        return max(self.draws, 3 * self.most // 8)

    @property
    def climbing(self) -> int:
        """Outputs, of both sides, that climbing from the best pairs may draw."""
        return self.most // (4 if self.thorough else 20)

    def within(self, most: int) -> "SearchPlan":
        """The same search with `most` outputs of both sides, where calls are slow.

        Frozen runs of few draws are enough to see what moves, and leave room for more pairs. The
        event of a leak may not come in so few, on any pair if all share their noise: pairs without
        a database in common have noise of their own.
        """
        draws = min(self.draws, max(4, most // 64))
        return replace(self, draws=draws, most=min(self.most, most), few=True)

    @classmethod
    def for_trials(
        cls, trials: int, *, thorough: bool = False, brief: bool = False
    ) -> "SearchPlan":
        """A search that costs less than judging one pair with `trials` draws a side.

        It never draws more than `trials` a side, so that all of an audit stays within four times
        that number.
        """
        draws = min(1000, max(16, trials // 400))
        return cls(draws=draws, most=2 * trials, thorough=thorough, brief=brief)
