"""Completion of commands, options, measures and files in shells."""

from __future__ import annotations

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from .options import insert_options


class _Complete(ShellComplete):
    """Completion where one -m has several values, of which all but the first may also be runs."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return measures after the first one of -m, if some begin like this, or else what Click returns."""
        before = insert_options([*args, "AP"])[-2:][0]  # the inserted -m if a further measure may follow
        if incomplete and before in ("-m", "--measure") and args[-1] != before:
            measures = super().get_completions([*args, before], incomplete)
            if measures:
                return measures
        return super().get_completions(args, incomplete)


class _Bash(_Complete, BashComplete):
    """Completion in bash, which splits words at = and replaces only what follows it."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the completions of the last word, without what precedes its =."""
        words: list[str] = []
        for word in [*args, incomplete]:
            if words and (word == "=" or words[-1].endswith("=")):
                words[-1] += word
            else:
                words.append(word)
        *args, whole = words
        items = super().get_completions(args, whole)
        kept = whole.removesuffix(incomplete.removeprefix("="))
        for item in items:
            item.value = item.value.removeprefix(kept)
        return items


class _Zsh(_Complete, ZshComplete):
    """Completion in zsh, also of files after =."""

    source_template = ZshComplete.source_template.replace(
        "_path_files -f", "_path_files -f || { compset -P '*=' && _path_files -f }"
    )


class _Fish(_Complete, FishComplete):
    """Completion in fish, also of files after =."""

    source_template = FishComplete.source_template.replace(
        "__fish_complete_path $metadata[2];",
        """set -l aspect (string match -r '^.*=' -- $metadata[2]);
            for path in (__fish_complete_path (string replace -r '^.*=' '' -- $metadata[2]));
                echo "$aspect$path";
            end;""",
    )


def add_completion() -> None:
    """Replace the completion of Click."""
    for kind in (_Bash, _Zsh, _Fish):
        add_completion_class(kind)
