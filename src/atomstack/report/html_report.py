"""HTML, for a person: one page that loads nothing, silent findings first, by file; readable without its script."""

import base64
import hashlib
import html
from collections.abc import Iterator

from atomstack.findings import Finding, Result, Severity
from atomstack.report import words

_SECTIONS = (
    (Severity.SILENT, "Silent", "Nothing raises; something does not happen, or a number is wrong."),
    (Severity.ERROR, "Errors", "It fails when it runs."),
    (Severity.INFO, "For information", "Nothing that fails by itself."),
)
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --quiet: #5b6069; --link: #0b57b0;
  --silent: #8a1c7c; --error: #b3261e; --info: #22607a; --holds: #1e6b34; }
@media (prefers-color-scheme: dark) { :root { --quiet: #a7adb8; --link: #8ab8f5;
  --silent: #f09ae2; --error: #ff9a8f; --info: #86cbe6; --holds: #86d69b; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.3rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 0; padding-top: .5rem; border-top: 3px solid currentColor; }
h3 { font: 600 .95rem/1.4 ui-monospace, monospace; margin: 1.5rem 0 .5rem; overflow-wrap: anywhere; }
code, .symbol { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
p { margin: .25rem 0; }
.headline { font-size: 1.05rem; font-weight: 600; }
.quiet, dt { color: var(--quiet); }
.verdict { font-size: 1.5rem; font-weight: 700; margin: .75rem 0; }
.silent { color: var(--silent); } .error { color: var(--error); } .info { color: var(--info); }
.holds { color: var(--holds); } .fails { color: var(--error); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: .75rem 0; }
dd { margin: 0; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-left: 5px solid var(--of); border-radius: 4px; padding: .6rem .9rem; }
article { margin: .5rem 0; }
article.silent { --of: var(--silent); } article.error { --of: var(--error); } article.info { --of: var(--info); }
article > * { color: CanvasText; }
article .tag { color: var(--of); font-weight: 700; }
.symbol { display: block; font-weight: 600; font-size: 1rem; }
article p { overflow-wrap: anywhere; }
form { position: sticky; top: 0; background: Canvas; border-bottom: 1px solid var(--line); padding: .6rem 0; z-index: 1;
  display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; }
form[hidden], [hidden] { display: none; }
input[type=search] { font: inherit; flex: 1 1 14rem; min-width: 0; padding: .3rem .5rem; }
label { white-space: nowrap; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
details { margin-top: 2rem; } summary { cursor: pointer; font-weight: 600; }
details li { overflow-wrap: anywhere; margin: .25rem 0; }
table { border-collapse: collapse; width: 100%; margin-top: .5rem; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
footer { margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: .75rem; }
@media print { form { display: none; } article { break-inside: avoid; } }
"""
_SCRIPT = """
const form = document.querySelector("form"), shown = document.querySelector("output");
const entries = [...document.querySelectorAll("article")];
function apply() {
  const words = form.search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const codes = new Set([...form.querySelectorAll("[name=code]:checked")].map(box => box.value));
  let count = 0;
  for (const entry of entries) {
    const text = (entry.textContent + " " + entry.dataset.file).toLowerCase();
    entry.hidden = !(codes.has(entry.dataset.code) && words.every(word => text.includes(word)));
    if (!entry.hidden) count += 1;
  }
  for (const group of document.querySelectorAll(".file, .findings"))
    group.hidden = !group.querySelector("article:not([hidden])");
  shown.textContent = count === entries.length ? `all ${count} shown` : `${count} of ${entries.length} shown`;
}
form.addEventListener("input", apply);
form.addEventListener("submit", event => event.preventDefault());
form.hidden = false;
apply();
"""


def render(result: Result, fail_on: Severity) -> str:
    """The page. What the checked packages say is text in it and nothing else."""
    return "\n".join(_page(result, fail_on)) + "\n"


def _text(value: object) -> str:
    return html.escape(words.plain(str(value)))


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _page(result: Result, fail_on: Severity) -> Iterator[str]:
    policy = f"default-src 'none'; style-src 'sha256-{_hash(_STYLE)}'; script-src 'sha256-{_hash(_SCRIPT)}'"
    fails = bool(result.failing(fail_on))
    names = " against ".join(f"{side.name} {side.version or ''}".rstrip() for side in result.inputs)
    yield f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{"✗" if fails else "✓"} {_text(result.gate)}: {_text(names)}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>"""
    if result.headline:
        yield f'<p class="headline">{_text(result.headline)}</p>'
    yield f"<h1>{_text(result.gate)}: {_text(names)}</h1>"
    sign, word = ("✗", "fails") if fails else ("✓", "holds")
    verdict = _text(words.verdict(result, fail_on))
    yield f'<p class="verdict {word}"><span aria-hidden="true">{sign}</span> {verdict}</p>'
    yield "<dl>"
    for side in result.inputs:
        yield f"<dt>{_text(side.role)}</dt><dd>{_text(side.name)} {_text(side.version or '(version unknown)')}"
        yield f' <span class="quiet">({_text(side.kind)})</span></dd>'
    summary = ", ".join(words.counted(key, value) for key, value in result.summary.items())
    yield f"<dt>looked at</dt><dd>{_text(summary)}</dd></dl>"
    yield "</header>"
    yield "<main>"
    open_ones = [finding for finding in result.findings if finding.accepted is None]
    accepted = [finding for finding in result.findings if finding.accepted is not None]
    if result.findings:
        yield from _filters(result)
    for severity, title, meaning in _SECTIONS:
        of_it = [finding for finding in open_ones if finding.severity is severity]
        yield from _section(result, of_it, severity.value, title, meaning)
    yield from _section(result, accepted, "accepted", "Accepted", "Each with the reason that the consumer gives.")
    yield from _codes(result)
    if result.not_checked:
        yield f"<details><summary>Not decided ({len(result.not_checked)})</summary><ul>"
        yield from (f"<li>{_text(line)}</li>" for line in result.not_checked)
        yield "</ul></details>"
    yield "</main>"
    yield f"<footer><p>{_text(result.not_established)}</p></footer>"
    if result.findings:
        yield f"<script>{_SCRIPT}</script>"
    yield "</body>\n</html>"


def _filters(result: Result) -> Iterator[str]:
    yield '<form hidden role="search" aria-label="Filter the findings">'
    yield '<input type="search" name="search" placeholder="file, symbol or word" aria-label="Only those that contain">'
    for code in dict.fromkeys(finding.code for finding in result.findings):
        yield f'<label><input type="checkbox" name="code" value="{_text(code)}" checked> {_text(code)}</label>'
    yield '<output class="quiet" aria-live="polite"></output>'
    yield "</form>"


def _section(result: Result, findings: list[Finding], name: str, title: str, meaning: str) -> Iterator[str]:
    if not findings:
        return
    yield f'<section class="findings" aria-labelledby="{name}">'
    yield f'<h2 id="{name}" class="{name}">{title} ({len(findings)})</h2><p class="quiet">{meaning}</p>'
    files: dict[str, dict[tuple[object, ...], list[Finding]]] = {}
    for f in findings:
        entry = (f.code, f.severity, f.symbol, f.message, f.accepted)
        files.setdefault(result.path(f), {}).setdefault(entry, []).append(f)
    for file, entries in sorted(files.items()):
        yield f'<div class="file"><h3>{_text(file)}</h3>'
        for group in entries.values():
            yield from _entry(group, file)
        yield "</div>"
    yield "</section>"


def _entry(group: list[Finding], file: str) -> Iterator[str]:
    first = group[0]
    lines = ", ".join(str(finding.line) for finding in group)
    yield f'<article class="{first.severity}" data-code="{_text(first.code)}" data-file="{_text(file)}">'
    yield f'<p><span class="tag">{first.severity}</span> {_text(first.code)}, line {lines}</p>'
    yield f'<span class="symbol">{_text(first.symbol)}</span>'
    yield f"<p>{_text(first.message)}</p>"
    if first.guard is not None:
        yield f"<p>guarded by <code>{_text(first.guard)}</code></p>"
    if first.moved_to:
        yield "<p>now at " + ", ".join(f"<code>{_text(place)}</code>" for place in first.moved_to) + "</p>"
    if first.accepted is not None:
        yield f"<p>accepted: {_text(first.accepted)}</p>"
    yield "</article>"


def _codes(result: Result) -> Iterator[str]:
    if not result.checks:
        return
    yield f"<details><summary>What was looked for ({len(result.checks)})</summary>"
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("code", "says", "found"))
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>"
    for check in result.checks:
        number = sum(finding.code == check.code for finding in result.findings)
        yield f"<tr><td><code>{_text(check.code)}</code></td><td>{_text(check.text)}</td><td>{number}</td></tr>"
    yield "</tbody></table></details>"
