"""Saying what was found: lines on the terminal, a table in a file."""

from __future__ import annotations

from pathlib import Path

from bench.findings import Finding
from bench.plan import Plan

MARK = "<!-- results: everything below is written by `python -m bench --write` -->"
Found = list[tuple[str, list[Finding]]]


def say_head(head: dict[str, str]) -> None:
    print("; ".join(f"{name} {value}" for name, value in head.items()), flush=True)


def say(finding: Finding) -> None:
    verdict = f"goal {finding.aimed}: {finding.verdict}" if finding.goal else ""
    print(f"  {finding.what:<58} {finding.measured:>11}  {verdict:<22}  {finding.beside}".rstrip(), flush=True)


def say_end(found: Found) -> None:
    judged = [finding for _, findings in found for finding in findings if finding.goal]
    met = sum(finding.verdict == "met" for finding in judged)
    print(f"\n{met} of {len(judged)} goals met")


def write(path: Path, head: dict[str, str], plan: Plan, found: Found) -> None:
    """Replace what stands below the mark in ``path``; the prose above stays."""
    prose = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip() if path.exists() else "# Benchmarks"
    lines = [prose, "", MARK, "", "## Results", "", *(f"- {name}: {value}" for name, value in head.items())]
    lines += [f"- rounds: {plan.rounds}" + (" (quick: short measurements, small crowds)" if plan.quick else ""), ""]
    lines += ["| | what | measured | goal | | beside |", "| --- | --- | ---: | --- | --- | --- |"]
    for title, findings in found:
        for number, finding in enumerate(findings):
            cells = (title if number == 0 else "", finding.what, finding.measured, finding.aimed, finding.verdict)
            lines.append(f"| {' | '.join(cells)} | {finding.beside} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
