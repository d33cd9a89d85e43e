"""docs/explanation/threats.md, made from the names of the tests: which threat and which fault is covered where.

``python -m tests.house.threats --write`` writes it; ``make check`` holds it against the tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "threats.md"
_TEST = re.compile(r"^\s*(?:async )?def (test_(?:[tf]\d+_)+\w+)\(", re.MULTILINE)
_ROW = re.compile(r"([tf])(\d+)_")


# Number: what is attacked; a second text says why there is no test yet.
THREATS: dict[int, tuple[str, str]] = {
    1: ("A link is forwarded to somebody else", ""),
    2: ("The provider's address is forwarded instead of ours", ""),
    3: ("A callback without any cookie", ""),
    4: ("Session fixed before sign-in", ""),
    5: ("A sign-in callback opened in another browser", ""),
    6: ("Look-alike identities: case, blanks, normal forms, other issuer", ""),
    7: ("A shared computer with somebody else signed in", ""),
    8: ("A stale sign-in", ""),
    9: ("Persons or credentials in the link", ""),
    10: ("Guessing ids", ""),
    11: ("Link scanners and prefetch", ""),
    12: ("Flooding one person with questions", ""),
    13: ("One agent riding on another's consent", ""),
    14: ("Foreign state at the callback", ""),
    15: ("State used twice", ""),
    16: ("State missing, empty, doubled, huge", ""),
    17: ("State that lives too long", ""),
    18: ("A code of another flow", ""),
    19: ("PKCE absent or weakened", ""),
    20: ("Mix-up: answer of another issuer (RFC 9207)", ""),
    21: ("A code delivered to another provider's callback", ""),
    22: ("State of one provider accepted at another", ""),
    23: ("Open redirect by return_url", ""),
    24: ("Callback after the time is up", ""),
    25: ("Callback after cancel or decline", ""),
    26: ("Twenty callbacks at once", ""),
    27: ("Cancel, callback and expiry at once", ""),
    28: ("Userinfo about somebody else", ""),
    29: ("Reconnecting swaps the account", ""),
    30: ("Other scopes granted than asked", ""),
    31: ("Token endpoint redirects", ""),
    32: ("Malformed token responses", ""),
    33: ("Errors from the provider", ""),
    34: ("Code or token leaking onward", ""),
    35: ("Audience of client assertions", ""),
    36: ("Metadata pointing inside", ""),
    37: ("Metadata of another issuer", ""),
    38: ("Unsigned ID token", ""),
    39: ("ID token signed with the public key as a secret", ""),
    40: ("ID token signed by another key", ""),
    41: ("Unknown keys to make us fetch keys all the time", ""),
    42: ("Rotating signing keys", ""),
    43: ("Keys smuggled in the token's header", ""),
    44: ("Claims that are wrong one by one", ""),
    45: ("Nonce missing or wrong", ""),
    46: ("Clocks that differ", ""),
    47: ("A token of another identity provider", ""),
    48: ("Identity provider down or slow", ""),
    49: ("Forged back-channel logout", "back-channel logout is not offered"),
    50: ("Forms sent from another site", ""),
    51: ("Our pages in a frame", ""),
    52: ("Script in what agents and providers write", ""),
    53: ("Look-alike and invisible characters", ""),
    54: ("Line breaks into headers", ""),
    55: ("Cookie attributes", ""),
    56: ("Caches and referrers", ""),
    57: ("Back, reload, two tabs", ""),
    58: ("The opener's window", ""),
    59: ("Forged Host header", ""),
    60: ("Forged X-Forwarded-For", ""),
    61: ("Signed out in another tab", ""),
    62: ("Reaching for another agent's things", ""),
    63: ("Another agent's events by feed or cursor", ""),
    64: ("API keys in database, address or log", ""),
    65: ("Guessing API keys", ""),
    66: ("Writing fields that are not writable", ""),
    67: ("Idempotency keys misused", ""),
    68: ("Hostile bodies", ""),
    69: ("Form schemas as bombs", ""),
    70: ("Secrets asked by form", ""),
    71: ("Using up connections", ""),
    72: ("Odd methods", ""),
    73: ("Refresh tokens shown to agents", ""),
    74: ("Tokens in caches between", ""),
    75: ("A stolen dump", ""),
    76: ("Sealed text moved to another row", ""),
    77: ("Nonces used twice", ""),
    78: ("Changing keys while running", ""),
    79: ("Starting with a wrong key", ""),
    80: ("Everybody refreshes at once", ""),
    81: ("Whoever refreshes is stopped meanwhile", ""),
    82: ("Killed between rotation and commit", ""),
    83: ("Refresh responses that omit or change things", ""),
    84: ("Provider down taken for a dead grant", ""),
    85: ("Revoked while refreshing", ""),
    86: ("Provider does not hear of a revocation", ""),
    87: ("Tokens in logs", ""),
    88: ("Malformed webhook addresses", ""),
    89: ("Addresses that lead inside", ""),
    90: ("Names that change their address", ""),
    91: ("Webhooks that redirect", ""),
    92: ("Webhooks that drip", ""),
    93: ("Replayed or altered deliveries", ""),
    94: ("Rotating webhook secrets", ""),
    95: ("Order and duplicates", ""),
    96: ("Endpoints that say stop or slow down", ""),
    97: ("One bad endpoint", ""),
    98: ("An outage longer than the schedule", ""),
    **{number: (title, "") for number, title in enumerate([
        "Forged provider events", "Stale or future events", "Event bodies rewritten on the way", "Doubled events",
        "Events out of order", "Amounts that do not match", "Paying twice", "Paid after the time is up",
        "Delayed methods", "Refunds and disputes", "Visiting the return address unpaid", "Answering before it is kept",
        "All provider events lost"], 99)},
    112: ("Secrets in the admin", ""),
    113: ("Operators' actions without trace; formulas in exports", ""),
    114: ("Debug pages and traces", ""),
    115: ("Metrics that tell too much", ""),
    116: ("Forged log lines", ""),
    117: ("Changing SECRET_KEY while people are under way", ""),
    118: ("Dependencies locked below a version whose hole is known to us", ""),
    119: ("Keeping things for ever", ""),
    120: ("A code for another device, typed by somebody else (RFC 8628)", ""),
    121: ("Other money than was asked for answers a payment question", ""),
    122: ("A yes to one server's tool runs another server's tool", ""),
    123: ("Request heads without an end", ""),
    124: ("One agent, or one slow provider, takes every thread", ""),
    125: ("Small requests that cost a lot: drafts, patterns, attempts, sign-ins begun", ""),
    126: ("Junk pushes rate limits out of memory", ""),
    127: ("A client's address behind proxies, forged or shared; IPv6 networks", ""),
    128: ("Locking a named operator out", ""),
    129: ("A receiver or provider that hangs stops everybody's background work", ""),
    130: ("Sessions taken from a database dump", ""),
    131: ("An operator redirects secrets", ""),
    132: ("An operator redirects identities", ""),
    133: ("Secrets in the image or in git", ""),
    134: ("Unsent answers read by the agent", ""),
    135: ("A confirm whose labels say the opposite", ""),
    136: ("A dead grant that is never said to be dead", ""),
    137: ("Another account put in place of the first without a word", ""),
    138: ("Hostile requests answered with 5xx, or written into the log without limit", ""),
    139: ("A stolen API key that signs DPoP proofs without the user", ""),
    140: ("Export or deletion with an old sign-in", ""),
    141: ("A mistyped filter that shows other people's rows", ""),
    142: ("Internal addresses shown to a model", ""),
    143: ("Dangerous settings that nobody is told of", ""),
    144: ("Look-alike letters that ask for a secret by form", ""),
    145: ("Direction marks that disguise text in the admin", ""),
    146: ("A code for another device that is guessed, leaked, used twice or old", ""),
    147: ("A secret among the metadata of a connection, which agents and lists show", ""),
    148: ("Metadata that leads a token to another host", ""),
    149: ("A person or an agent chooses the host that the client secret goes to", ""),
    150: ("Going on to a host that the page has not shown", ""),
    151: ("A remote MCP server whose metadata leads to another authorization server: mix-up", ""),
    152: ("Metadata of a remote MCP server for another resource", ""),
    153: ("A remote MCP server whose metadata points inside", ""),
    154: ("A token for one MCP server given to another", ""),
    155: ("Huge or slow metadata of a remote MCP server", ""),
    156: ("A remote MCP server that the operator has not allowed", ""),
    157: ("A state of an MCP call that was changed, is another call's, or is old", ""),
    158: ("A yes to some arguments of a tool that runs it with others", ""),
    159: ("Telling people at an address that an agent named or nobody verified", ""),
    160: ("A message that says what is asked or goes out unguarded; an agent that learns who can be reached", ""),
    161: ("Flooding people with messages, and a receiver that hangs", ""),
    162: ("Unsubscribing somebody else; an agent's name that adds headers or HTML", ""),
    163: ("A proxied path that leaves its API: another host, above its base, an endpoint for tokens", ""),
    164: ("A redirect that takes a proxied call elsewhere", ""),
    165: ("A credential that reaches an agent whose tokens never leave", ""),
    166: ("Requests and headers that smuggle something through the proxy", ""),
    167: ("A proxied call with what belongs to another agent, user or host", ""),
    168: ("An answer of OAuth 1.0a, which has no state, that belongs to another attempt", ""),
    169: ("The secrets that sign a call leaving the service with it, or coming back", ""),
    170: ("A value that leaves its place in a request that an entry describes", ""),
    171: ("An entry that describes a new call elsewhere, and would send the operator's secret there", ""),
    172: ("A typed key file that names another token endpoint or audience", ""),
    173: ("A typed private key that leaves the vault", ""),
    175: ("An imported line that takes a token to a host other than the provider's", ""),
    176: ("An import that shows a token of its file, or takes a masked or another client's token for a real one", ""),
    177: ("An answer from inside a tool that runs the rest twice, or for something else than was asked", ""),
    178: ("A yes to a prompt or resource that runs a tool, or the other way round", ""),
    179: ("What a person answered in the text of an error", ""),
    180: ("A server behind the gateway that takes a name, or a yes, of another", ""),
    181: ("A call that goes around the gateway's guards: another spelling of a tool, a guard of none", ""),
    182: ("A token that the gateway puts in, shown to a client; the gateway's key, given to a server", ""),
    183: ("Arguments of a model in place of what the gateway puts in, or as words of the question", ""),
    218: ("A browser's push address that leads anywhere else", ""),
    219: ("A push service, or who steals the database, learns who is told of what", ""),
    220: ("Messages in a browser that belong to somebody else, or go on after the person has ended them", ""),
    221: ("An agent's reason for a scope that passes for our words, or for another scope", ""),
    225: ("What an identity provider issued, in a log, in the database or at another server", ""),
    226: ("An assertion (ID-JAG) for another resource, client or person", ""),
    227: ("An organisation takes back what it allowed, and tokens go on", ""),
    228: ("An agent that has an organisation vouch for a person of its choice", ""),
    203: ("A run resumed with the answer to another question", ""),
    204: ("Two processes that resume one run", ""),
    207: ("A guarded tool, prompt or resource reached beside its guard, as a call that needs nothing", ""),
    208: ("A call passed on beside the library that cannot be given up, or gets another's answer or none", ""),
    209: ("On a gateway with several users: one's answer, token or connection for another's call", ""),
    190: ("A stolen API key with a mandate", ""),
    191: ("An agent that splits charges to stay under a limit, or refunds them to charge again", ""),
    192: ("A charge after the person ended or lowered the mandate, or agreed too late", ""),
    193: ("Charges at the same moment that together exceed a limit", ""),
    194: ("A charge whose answer is lost, or whose process dies, is made twice or forgotten", ""),
    195: ("A mandate of another agent or person", ""),
    196: ("A charge that is paid both by itself and on the page that its bank asked for", ""),
    197: ("A mandate's document that was changed, or that is taken for a receipt", ""),
    205: ("A paused run of a framework that goes on with a yes to something else, or with one that nobody gave", ""),
    206: ("Two runs of a framework that go on with one answer", ""),
    198: ("A webhook that PayPal did not send, or sent to somebody else", ""),
    199: ("A webhook whose certificate is anywhere but at PayPal's own address", ""),
    200: ("Another amount captured, or agreed to, than was asked for", ""),
    201: ("A return that names another person's order", ""),
    242: ("Line items and tax of an order that do not come to its amount", ""),
    243: ("Tax that a provider computes, and that makes it more than the person agreed to", ""),
    244: ("A payment of one business of a platform that counts for another's", ""),
    245: ("An order that is swapped for another after the yes", ""),
    246: ("Markup or invisible characters in the name of a line item", ""),
    202: ("A provider's answer that names code, which its library would run", ""),
    210: ("A token of an installation for what its person does not reach, or with more than they may do there", ""),
    211: ("A provider's token for an installation that may do more than was asked", ""),
    212: ("A kept token of an installation, given to another agent or person", ""),
    235: ("A price or period of a subscription that changes without its payer's yes", ""),
    236: ("A cancelled subscription that its agent or another person takes up again", ""),
    237: ("Answers of the provider that are replayed or reordered, and revive a subscription that has ended", ""),
    238: ("A subscription of another agent or person", ""),
    239: ("An entitlement that lives past the end of what was paid, and of the days of grace", ""),
    240: ("A renewal at another price than its payer agreed to", ""),
    241: ("A renewal that is recorded or told twice", ""),
    213: ("The token of one scope set, such as a user's, in place of another's, such as the app's", ""),
    250: ("A 402 that is sent again, or a header that pays fetched twice", ""),
    251: ("A payee of a 402 that was swapped, or that the operator does not allow", ""),
    252: ("A price of a 402, or a limit of the wallet, that changes between the challenge and the yes", ""),
    253: ("An amount of a 402 in the wrong decimals", ""),
    254: ("A token, network or scheme of a 402 that looks like a known one", ""),
    255: ("A signature that pays used twice, too late, by another agent or at another resource", ""),
    256: ("Payments by HTTP 402 that together exceed the wallet's limits", ""),
    257: ("A 402 that names another host than the one that was asked, or comes from where a redirect leads", ""),
    258: ("The gateway's own sign-in at a server: used for a user's call, shown to a client, sent elsewhere", ""),
    259: ("A payment method that is replaced by somebody else, or by one of another customer", ""),
}  # fmt: skip
FAULTS: dict[int, tuple[str, str]] = {
    1: ("Killed during a create", ""),
    2: ("Killed at a system call of the callback", ""),
    3: ("Killed during consent, decline, cancel, revoke", ""),
    4: ("Killed during a payment event", ""),
    5: ("Delivery worker killed while sending", ""),
    6: ("Worker stopped for longer than its lease", ""),
    7: ("Killed while refreshing", ""),
    8: ("The sweeper dies", ""),
    9: ("Broker down or emptied", ""),
    10: ("Redis killed or emptied", ""),
    11: ("Redis slow", ""),
    12: ("PostgreSQL killed", ""),
    13: ("Connection cut during the commit", ""),
    14: ("Database disk full", ""),
    15: ("Log disk full", ""),
    16: ("Provider in every kind of trouble", ""),
    17: ("Payment provider down at create", ""),
    18: ("Clocks that jump", ""),
    19: ("Everything delivered twice", ""),
    20: ("Agents that come and go", ""),
    21: ("Rolling deploy", ""),
    22: ("Out of memory", ""),
    23: ("Yesterday's backup", ""),
}


def found() -> dict[tuple[str, int], list[str]]:
    """The tests by letter and number, as ``file::name``."""
    tests_of_today = ("tests/**/test_*.py", "tests/test_*.py", ":!tests/house/findings/reviewed")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *tests_of_today],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    tests: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path in sorted(set(listed.stdout.split())):
        if (ROOT / path).exists():
            for name in _TEST.findall((ROOT / path).read_text(encoding="utf-8")):
                for letter, number in _rows(name):
                    tests[letter, number].append(f"{path}::{name}")
    return tests


def _rows(test: str) -> list[tuple[str, int]]:
    """The rows that a test names: t51 and t56 for ``test_t51_t56_no_page_…``."""
    named = re.match(r"test_((?:[tf]\d+_)+)", test)
    return [(letter, int(number)) for letter, number in _ROW.findall(named[1])] if named else []


def table(letter: str, rows: dict[int, tuple[str, str]], tests: dict[tuple[str, int], list[str]]) -> list[str]:
    lines = ["| | what | tests |", "| --- | --- | --- |"]
    for number, (title, reason) in rows.items():
        names = "<br>".join(f"`{name.removeprefix('tests/')}`" for name in tests.get((letter, number), []))
        lines.append(f"| {letter.upper()}{number} | {title} | {names or 'not covered: ' + reason} |")
    return lines


def page() -> str:
    tests = found()
    covered = [sum((letter, number) in tests for number in rows) for letter, rows in (("t", THREATS), ("f", FAULTS))]
    return "\n".join([
        "# Threats and faults, and the tests that hold",
        "",
        f"{covered[0]} of {len(THREATS)} threats and {covered[1]} of {len(FAULTS)} faults have tests named after them.",
        "Paths are below `tests/`; run one with `.venv/bin/python -m pytest -k t26`.",
        "This page is written by `python -m tests.house.threats --write`; `make check` holds it against the tests.",
        "",
        "## Threats",
        "",
        *table("t", THREATS, tests),
        "",
        "## Faults",
        "",
        *table("f", FAULTS, tests),
        "",
    ])  # fmt: skip


def faults() -> list[str]:
    """What is wrong: a row with neither test nor reason, a test for no row, a page that is out of date."""
    tests = found()
    rows = {("t", number): row for number, row in THREATS.items()} | {
        ("f", number): row for number, row in FAULTS.items()
    }
    wrong = [
        f"{key[0].upper()}{key[1]} has no test and no reason" for key in rows if not tests.get(key) and not rows[key][1]
    ]
    wrong += [f"{names[0]} is for a row that does not exist" for key, names in tests.items() if key not in rows]
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        wrong.append("docs/explanation/threats.md is out of date: python -m tests.house.threats --write")
    return wrong


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    wrong = faults()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
