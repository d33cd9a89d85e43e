"""Ask alice to connect Acme Drive, wait, and list her files: `python examples/quickstart.py` while `make run` runs.

`--user ISS SUB` asks another user. ELICIT_URL and ELICIT_API_KEY say where the service is; the default is the one of
`make run`, with the demo agent's key from var/demo.key.
"""

from __future__ import annotations

import argparse
import asyncio

import httpx2

from elicit_flows.sdk import Completed, Elicit

SANDBOX = "http://127.0.0.1:8001"
MESSAGE = "Connect Acme Drive so that I can list your files."


async def main(user: tuple[str, str], files_url: str) -> None:
    async with Elicit() as elicit:
        connection = await elicit.oauth(user, "acme", scopes=["files.read"], message=MESSAGE, on_url=print)
        if not isinstance(connection, Completed):
            raise SystemExit(f"No files: the question was {connection.elicitation.status}.")
        token = await elicit.token(connection)
    answer = httpx2.get(files_url, headers={"Authorization": token.authorization}).raise_for_status()
    for file in answer.json()["files"]:
        print(f"{file['size']:>10,}  {file['name']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user", nargs=2, metavar=("ISS", "SUB"), default=(SANDBOX, "alice"))
    parser.add_argument("--files-url", default=f"{SANDBOX}/acme/api/files", help="default: %(default)s")
    args = parser.parse_args()
    asyncio.run(main((args.user[0], args.user[1]), args.files_url))
